"""What every retriever does, whatever it searches with."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from distinguo.backends.index.index import Index
from distinguo.backends.index.late import Late
from distinguo.backends.index.qdrant import QdrantServer
from distinguo.backends.index.retrievers import Dense, Hybrid, Lexical
from distinguo.errors import ConfigError
from distinguo.indexing.build import Recipe
from distinguo.protocols import Retriever
from distinguo.records import Condition, Document, Hit, Probe, Query, Role
from distinguo.testing import HashEncoder, ListRetriever, WordTokeniser
from distinguo.text.sameness import essence
from doubles.indexed import put

# The in-memory mode of Qdrant's client is always exact, and warns whoever asks it to be.
pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")

DOCUMENTS = [
    Document("a", "Fever and a rash on both arms.", meta=(("year", 2020),)),
    Document("b", "Fever and a cough at night.", meta=(("year", 2021),)),
    Document("c", "Twins have one and the same fever.", meta=(("year", 2022),)),
    Document("d", "twins HAVE one, and the same fever!", meta=(("year", 2022),)),
    Document("e", "A broken arm needs rest.", meta=(("year", 2023),)),
]
ORDERS = {"t3": "tie one two", "t1": "one two tie", "t2": "two tie one"}
TIED = [Document(id_, text, meta=(("kind", "tie"),)) for id_, text in ORDERS.items()]
COPIES = [
    *(Document(f"copy{n:02}", "One copy.", f"copy title {n}", meta=(("kind", "copy"),)) for n in range(30)),
    Document("other", "Another text about a copy.", meta=(("kind", "copy"),)),
]


class HashEmbedder:
    async def embed(self, text: str, role: Role):
        return HashEncoder().encode([text], role)[0]

    async def embed_tokens(self, text: str, role: Role):
        return HashEncoder().encode_tokens([text], role)[0]


def in_memory(identity: str, dimension: int) -> QdrantServer:
    return QdrantServer.open(QdrantClient(":memory:"), identity, owner=identity, dimension=dimension)


@pytest.fixture(scope="module", params=[None, in_memory], ids=["edge", "qdrant"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder: Path = tmp_path_factory.mktemp("retrievers") / "index"
    recipe = Recipe(HashEncoder(), WordTokeniser())
    with Index.make(folder, recipe.fingerprint, server=request.param) as index:
        put(index, DOCUMENTS + TIED + COPIES, recipe)
        yield index


OVER_INDEX: dict[str, Callable[[Index], Retriever]] = {
    "lexical": Lexical,
    "dense": lambda index: Dense(index, HashEmbedder()),
    "hybrid": lambda index: Hybrid(index, HashEmbedder()),
    "late": lambda index: Late(index, HashEmbedder(), HashEmbedder()),
}
ALL = {
    **OVER_INDEX,
    "list": lambda index: ListRetriever(index.passages([f"{d.id}#1" for d in DOCUMENTS])),
}


@pytest.fixture(params=ALL, ids=str)
def retriever(request: pytest.FixtureRequest, index: Index) -> Retriever:
    return ALL[request.param](index)


@pytest.fixture(params=OVER_INDEX, ids=str)
def searcher(request: pytest.FixtureRequest, index: Index) -> Retriever:
    return OVER_INDEX[request.param](index)


def _ids(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.passage.document for hit in hits]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 50])
async def test_at_most_k_best_first_ranked_from_one_and_none_twice(retriever: Retriever, k: int) -> None:
    hits = await retriever.search(Query.of("fever"), k)
    assert 0 < len(hits) <= k
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert len(set(_ids(hits))) == len(hits)
    assert all(one.score >= two.score for one, two in pairwise(hits))
    assert all(hit.score.name for hit in hits)


@pytest.mark.parametrize("k", [0, -1])
async def test_k_below_one_is_an_error_that_names_it(retriever: Retriever, k: int) -> None:
    with pytest.raises(ConfigError, match=rf"k.*{k}"):
        await retriever.search(Query.of("fever"), k)


async def test_the_same_query_finds_the_same(retriever: Retriever) -> None:
    assert await retriever.search(Query.of("fever"), 5) == await retriever.search(Query.of("fever"), 5)


async def test_ties_go_by_passage_id(searcher: Retriever) -> None:
    query = Query.of("tie", [Condition("kind", "==", "tie")])
    assert _ids(await searcher.search(query, 3)) == ["t1", "t2", "t3"]
    assert _ids(await searcher.search(query, 1)) == ["t1"]


async def test_of_the_same_words_only_the_best_comes_back_and_others_fill_the_places(
    searcher: Retriever,
) -> None:
    hits = await searcher.search(Query.of("twins have one and the same fever"), 3)
    assert _ids(hits)[0] == "c"
    assert len({essence(hit.passage.text) for hit in hits}) == 3
    copies = await searcher.search(Query.of("copy", [Condition("kind", "==", "copy")]), 2)
    assert {hit.passage.text for hit in copies} == {"One copy.", "Another text about a copy."}


async def test_a_passage_finds_itself(searcher: Retriever) -> None:
    for document in DOCUMENTS:
        (hit,) = await searcher.search(Query.of(document.text), 1)
        assert essence(hit.passage.text) == essence(document.text)


async def test_filters_hold_for_every_hit(searcher: Retriever) -> None:
    where = (Condition("year", ">=", 2021), Condition("year", "<", 2023))
    hits = await searcher.search(Query.of("fever", where), 5)
    assert sorted(_ids(hits)) == ["b", "c"]


async def test_filters_that_nothing_meets_find_nothing(searcher: Retriever) -> None:
    assert await searcher.search(Query.of("fever", [Condition("year", ">", 3000)]), 5) == ()


async def test_an_unknown_field_is_an_error_that_offers_the_nearest(searcher: Retriever) -> None:
    with pytest.raises(ConfigError, match="did you mean 'year'"):
        await searcher.search(Query.of("fever", [Condition("years", "==", 1)]), 5)


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
async def test_a_query_of_spaces_is_an_error(searcher: Retriever, text: str) -> None:
    with pytest.raises(ConfigError, match="text"):
        await searcher.search(Query.of(text), 5)
    with pytest.raises(ConfigError, match="no probes"):
        await searcher.search(Query(()), 5)


async def test_a_query_of_five_thousand_words(searcher: Retriever) -> None:
    assert "a" in _ids(await searcher.search(Query.of("fever rash arms " * 1700), 3))


async def test_a_negative_probe_pushes_away(searcher: Retriever) -> None:
    plain = _ids(await searcher.search(Query.of("fever rash"), 5))
    signed = _ids(await searcher.search(Query((Probe("fever rash"), Probe("rash arms", -0.9))), 5))
    assert plain[0] == "a"
    assert signed.index("a") > 0
