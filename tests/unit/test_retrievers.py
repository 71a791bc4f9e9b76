import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from distinguo.backends.index.index import POOL, Index
from distinguo.backends.index.retrievers import Dense, Hybrid, Lexical
from distinguo.errors import ConfigError
from distinguo.indexing.build import Recipe
from distinguo.protocols import Retriever
from distinguo.records import Bm25, Document, Hit, Probe, Query, ReciprocalRank, Role, Similarity
from distinguo.testing import HashEncoder, WordTokeniser
from distinguo.trace import Trace, tracing
from doubles.indexed import put

if TYPE_CHECKING:
    from distinguo.protocols import Vector

ENCODER = HashEncoder()
TEXTS = {f"d{n:03}": f"common word{n} word{n % 7}" for n in range(POOL + 40)}


class Embedder:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Role]] = []

    async def embed(self, text: str, role: Role):
        self.asked.append((text, role))
        return ENCODER.encode([text], role)[0]


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.id for hit in hits]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder: Path = tmp_path_factory.mktemp("retrievers") / "index"
    recipe = Recipe(ENCODER, WordTokeniser(), batch=256)
    with Index.make(folder, recipe.fingerprint) as index:
        put(index, (Document(id_, text) for id_, text in TEXTS.items()), recipe)
        yield index


async def test_dense_searches_once_with_the_weighted_sum(index: Index) -> None:
    probes = (Probe("common word3"), Probe("word5", 0.5), Probe("word3", -0.8))
    vector = sum(probe.weight * ENCODER.encode([probe.text], "query")[0] for probe in probes)
    expected = {id_: float(ENCODER.encode([text], "passage")[0] @ vector) for id_, text in TEXTS.items()}
    embedder = Embedder()
    hits = await Dense(index, embedder).search(Query(probes), 10)
    assert [hit.score.value for hit in hits] == pytest.approx(
        sorted(expected.values(), reverse=True)[:10], abs=1e-5
    )
    assert all(hit.score.value == pytest.approx(expected[hit.passage.document], abs=1e-5) for hit in hits)
    assert embedder.asked == [(probe.text, "query") for probe in probes]


async def test_one_probe_of_weight_one_scores_by_cosine(index: Index) -> None:
    (hit,) = await Dense(index, Embedder()).search(Query.of(TEXTS["d009"]), 1)
    assert hit.score.value == pytest.approx(1.0, abs=1e-5)
    assert (type(hit.score), hit.score.name) == (Similarity, "dense")


@pytest.mark.parametrize(
    "make",
    [Lexical, lambda index: Dense(index, Embedder()), lambda index: Hybrid(index, Embedder())],
)
async def test_probes_that_cancel_each_other_out_are_searched_without_the_negative_ones(
    index: Index, make: Callable[[Index], Retriever]
) -> None:
    trace, alone = Trace("t", "q"), Query.of("word1 common")
    with tracing(trace):
        found = await make(index).search(Query((Probe("word1 common"), Probe("Word1, common!", -1.0))), 5)
    assert ids(found) == ids(await make(index).search(alone, 5))
    (told,) = [event for event in trace.events if event.name == "probes cancel out"]
    assert told.fields["left_out"] == ["Word1, common!"]


@pytest.mark.parametrize("make", [Lexical, lambda index: Hybrid(index, Embedder())])
async def test_terms_that_cancel_are_told_though_their_order_differs(
    index: Index, make: Callable[[Index], Retriever]
) -> None:
    trace, alone = Trace("t", "q"), Query.of("word1 common")
    with tracing(trace):
        found = await make(index).search(Query((Probe("word1 common"), Probe("common word1", -1.0))), 5)
    assert ids(found) == ids(await make(index).search(alone, 5))
    assert [event.name for event in trace.events] == ["probes cancel out"]


async def test_a_mimic_of_the_same_words_changes_nothing_up_to_a_weight_of_one(index: Index) -> None:
    target = Query.of("word1 common")
    expected = ids(await Dense(index, Embedder()).search(target, 5))
    for weight in (-0.1, -0.5, -0.9, -1.0):
        query = Query((Probe("word1 common"), Probe("word1 common", weight)))
        assert ids(await Dense(index, Embedder()).search(query, 5)) == expected


async def test_vectors_that_cancel_are_told_though_the_words_differ(index: Index) -> None:
    class Same:
        async def embed(self, text: str, role: Role) -> "Vector":
            return await Embedder().embed("word1", role)

    trace = Trace("t", "q")
    with tracing(trace):
        found = await Dense(index, Same()).search(Query((Probe("one"), Probe("other", -1.0))), 3)
    assert ids(found) == ids(await Dense(index, Embedder()).search(Query.of("word1"), 3))
    assert [event.name for event in trace.events] == ["probes cancel out"]


async def test_probes_count_by_their_direction_and_weight_alone(index: Index) -> None:
    class Long:
        async def embed(self, text: str, role: Role) -> "Vector":
            return await Embedder().embed(text, role) * (7.0 if text == "word1" else 1.0)

    query = Query((Probe("word1"), Probe("word2", -0.5)))
    plain = await Dense(index, Embedder()).search(query, 5)
    assert ids(await Dense(index, Long()).search(query, 5)) == ids(plain)


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
async def test_a_weight_that_is_no_number_is_refused(index: Index, weight: float) -> None:
    with pytest.raises(ConfigError, match="expected at most 1,000,000"):
        await Dense(index, Embedder()).search(Query((Probe("a", weight), Probe("b"))), 1)


@pytest.mark.parametrize("weights", [(-1.0,), (0.0,), (-1.0, -0.5)])
async def test_a_query_with_nothing_to_search_for_is_refused(
    index: Index, weights: tuple[float, ...]
) -> None:
    query = Query(tuple(Probe(f"word{place}", weight) for place, weight in enumerate(weights)))
    for retriever in (Lexical(index), Dense(index, Embedder()), Hybrid(index, Embedder())):
        with pytest.raises(ConfigError, match="no probe of positive weight"):
            await retriever.search(query, 5)


async def test_parts_are_the_scores_of_each_probe_alone_and_add_up(index: Index) -> None:
    embedder, query = Embedder(), Query((Probe("word3 common"), Probe("word5", -0.4), Probe("word7", 0.5)))
    alone = [
        {
            hit.passage.id: hit.score.value
            for hit in await Dense(index, embedder).search(Query.of(one.text), 999)
        }
        for one in query.probes
    ]
    hits = await Dense(index, embedder).search(query, 20)
    for hit in hits:
        assert [part.value for part in hit.parts] == pytest.approx(
            [scores[hit.passage.id] for scores in alone], abs=1e-5
        )
        assert {type(part) for part in hit.parts} == {Similarity}
        total = sum(one.weight * part.value for one, part in zip(query.probes, hit.parts, strict=True))
        assert hit.score.value == pytest.approx(total, abs=1e-5)
    (plain,) = await Dense(index, embedder).search(Query.of("word3"), 1)
    assert plain.parts == ()


async def test_merged_lists_take_turns(index: Index) -> None:
    query, embedder = Query.of("common word3"), Embedder()
    lists = [ids(await part.search(query, 9)) for part in (Lexical(index), Dense(index, embedder))]
    turns = list(dict.fromkeys(id_ for pair in zip(*lists, strict=True) for id_ in pair))
    hits = await Hybrid(index, embedder, depth=9, fusion="merge").search(query, 6)
    assert ids(hits) == turns[:6]
    assert [hit.score.value for hit in hits] == [1 / place for place in range(1, 7)]


async def test_lexical_scores_are_weighted_sums_over_the_pool(index: Index) -> None:
    one, two = "word3", "word5 word3"
    scores = [{p.id: s for p, s in index.lexical([(text, 1.0)], 999)} for text in (one, two)]
    query = Query((Probe(one, 2.0), Probe(two, -0.5)))
    hits = await Lexical(index).search(query, 5)
    for hit in hits:
        expected = 2.0 * scores[0].get(hit.passage.id, 0.0) - 0.5 * scores[1].get(hit.passage.id, 0.0)
        assert hit.score.value == pytest.approx(expected, rel=1e-5)
        assert (type(hit.score), hit.score.name) == (Bm25, "bm25")
    assert {hit.passage.id for hit in hits} <= scores[0].keys()


async def test_the_pool_is_the_union_of_the_positive_probes(index: Index) -> None:
    hits = await Lexical(index).search(Query((Probe("word30"), Probe("word31"), Probe("word32", -1.0))), 5)
    assert {"d030", "d031"} == {hit.passage.document for hit in hits}


async def test_lexical_without_a_known_term_finds_nothing_and_says_so(index: Index) -> None:
    trace = Trace("t", "q")
    with tracing(trace):
        assert await Lexical(index).search(Query.of("zzz"), 5) == ()
    assert [event.name for event in trace.events] == ["no passage shares a term with the query"]


async def test_hybrid_adds_reciprocal_ranks_of_both(index: Index) -> None:
    query, embedder = Query.of("common word3"), Embedder()
    lists = [await part.search(query, 100) for part in (Lexical(index), Dense(index, embedder))]
    ranks = [{hit.passage.id: hit.rank for hit in hits} for hits in lists]
    for hit in await Hybrid(index, embedder).search(query, 10):
        expected = sum(1 / (60 + places[hit.passage.id]) for places in ranks if hit.passage.id in places)
        assert hit.score.value == pytest.approx(expected)
        assert (type(hit.score), hit.score.name) == (ReciprocalRank, "hybrid")


async def test_hybrid_looks_as_deep_as_it_must(index: Index) -> None:
    assert len(await Hybrid(index, Embedder(), depth=1).search(Query.of("common"), 120)) == 120
    with pytest.raises(ConfigError, match="depth"):
        await Hybrid(index, Embedder(), depth=0).search(Query.of("common"), 5)


async def test_the_event_loop_runs_on_while_the_index_searches(index: Index, monkeypatch) -> None:
    began, asked = asyncio.Event(), index.lexical
    loop = asyncio.get_running_loop()

    def slow(*arguments, **named):
        asyncio.run_coroutine_threadsafe(_set(began), loop).result(timeout=10)  # only a running loop replies
        return asked(*arguments, **named)

    monkeypatch.setattr(Index, "lexical", lambda _, *arguments, **named: slow(*arguments, **named))
    assert await Lexical(index).search(Query.of("word3"), 1)
    assert began.is_set()


async def _set(event: asyncio.Event) -> None:
    event.set()


async def test_sixty_four_searches_at_once_find_what_one_finds(index: Index) -> None:
    queries = [Query.of(f"common word{n}") for n in range(64)]
    hybrid = Hybrid(index, Embedder())
    together = await asyncio.gather(*(hybrid.search(query, 5) for query in queries))
    assert together == [await hybrid.search(query, 5) for query in queries]


def test_vectors_of_the_index_are_those_of_the_encoder(index: Index) -> None:
    (vector,) = index.vectors(["d007#1"])
    assert np.allclose(vector, ENCODER.encode([TEXTS["d007"]], "passage")[0])
