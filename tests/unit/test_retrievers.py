import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from distinguo.backends.index.index import POOL, Index
from distinguo.backends.index.retrievers import Dense, Hybrid, Lexical
from distinguo.errors import ConfigError
from distinguo.indexing.build import Recipe
from distinguo.records import Bm25, Document, Probe, Query, ReciprocalRank, Role, Similarity
from distinguo.testing import HashEncoder, WordTokeniser
from distinguo.trace import Trace, tracing
from doubles.indexed import put

ENCODER = HashEncoder()
TEXTS = {f"d{n:03}": f"common word{n} word{n % 7}" for n in range(POOL + 40)}


class Embedder:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Role]] = []

    async def embed(self, text: str, role: Role):
        self.asked.append((text, role))
        return ENCODER.encode([text], role)[0]


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


@pytest.mark.parametrize("retriever", [Dense, Hybrid])
async def test_probes_that_cancel_each_other_out_are_an_error(index: Index, retriever) -> None:
    with pytest.raises(ConfigError, match="cancel"):
        await retriever(index, Embedder()).search(Query((Probe("word1"), Probe("word1", -1.0))), 5)


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


async def test_lexical_without_a_positive_probe_finds_nothing_and_says_so(index: Index) -> None:
    trace = Trace("t", "q")
    with tracing(trace):
        assert await Lexical(index).search(Query((Probe("word1", -1.0),)), 5) == ()
        assert await Lexical(index).search(Query.of("zzz"), 5) == ()
    assert [event.name for event in trace.events] == ["no passage shares a term with the query"] * 2


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
