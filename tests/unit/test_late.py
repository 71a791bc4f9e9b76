import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

from distinguo.backends.batching import BatchedTokenEmbedder
from distinguo.backends.index.index import Index
from distinguo.backends.index.late import Late, max_sim
from distinguo.backends.index.retrievers import Hybrid
from distinguo.errors import ConfigError
from distinguo.indexing.build import Recipe, build
from distinguo.records import Document, Hit, Probe, Query, Role, Similarity
from distinguo.testing import HashEncoder, WordTokeniser
from distinguo.trace import Trace, tracing

ENCODER = HashEncoder()
TEXTS = {
    "a": "red fox",
    "b": "red fox jumps over a lazy dog",
    "c": "red wine and a long list of other words that dilute it",
    "d": "blue whale",
    "e": "fox",
}


class Embedder:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Role]] = []

    async def embed(self, text: str, role: Role):
        return ENCODER.encode([text], role)[0]

    async def embed_tokens(self, text: str, role: Role):
        self.asked.append((text, role))
        return ENCODER.encode_tokens([text], role)[0]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    recipe = Recipe(ENCODER, WordTokeniser())
    with Index.make(tmp_path_factory.mktemp("late") / "index", recipe.fingerprint) as index:
        build(index, [Document(id_, text, "Titled" * (id_ == "e")) for id_, text in TEXTS.items()], recipe)
        yield index


def _late(index: Index, pool: int = 50) -> tuple[Late, Embedder]:
    embedder = Embedder()
    return Late(index, embedder, embedder, pool), embedder


def _scores(hits: tuple[Hit, ...]) -> dict[str, float]:
    return {hit.passage.document: pytest.approx(hit.score.value, abs=1e-6) for hit in hits}


def _rows(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, dtype=np.float32).reshape(len(rows), 2)


def test_max_sim_by_hand() -> None:
    query = _rows((1.0, 0.0), (0.0, 1.0))
    assert max_sim(query, _rows((1.0, 0.0))) == pytest.approx((1 + 0) / 2)
    assert max_sim(query, _rows((0.6, 0.8), (1.0, 0.0))) == pytest.approx((1 + 0.8) / 2)
    assert max_sim(query, _rows((-1.0, 0.0), (-0.6, -0.8))) == pytest.approx((-0.6 + 0) / 2)
    assert max_sim(_rows((1.0, 0.0)), _rows((-1.0, 0.0))) == -1.0


def test_max_sim_without_tokens_is_nothing() -> None:
    assert max_sim(_rows(), _rows((1.0, 0.0))) == max_sim(_rows((1.0, 0.0)), _rows()) == 0.0


def test_max_sim_stays_within_minus_one_and_one() -> None:
    rows = np.random.default_rng(0).standard_normal((50, 384)).astype("f4")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert max_sim(rows, rows) <= 1.0
    assert max_sim(rows, -rows[:1]) >= -1.0


async def test_every_token_of_the_query_counts_alike_and_length_does_not(index: Index) -> None:
    hits = await _late(index)[0].search(Query.of("red fox"), 5)
    assert _scores(hits) == {"a": 1.0, "b": 1.0, "c": 0.5, "e": 0.5, "d": 0.0}
    assert [hit.passage.document for hit in hits] == ["a", "b", "c", "e", "d"]  # ties by passage id
    assert {(type(hit.score), hit.score.name) for hit in hits} == {(Similarity, "late")}


async def test_probes_add_up_by_their_weights_and_negative_ones_push_away(index: Index) -> None:
    query = Query((Probe("red fox"), Probe("fox", 0.5), Probe("lazy dog", -0.8)))
    hits = await _late(index)[0].search(query, 5)
    assert _scores(hits) == {"a": 1.5, "b": 1.5 - 0.8, "c": 0.5, "e": 1.0, "d": 0.0}
    assert [hit.passage.document for hit in hits] == ["a", "e", "b", "c", "d"]


async def test_only_the_pool_is_weighed_and_it_holds_k_at_least(index: Index) -> None:
    query = Query.of("red fox")
    best = [hit.passage.document for hit in await Hybrid(index, Embedder()).search(query, 2)]
    late, embedder = _late(index, pool=2)
    assert {hit.passage.document for hit in await late.search(query, 1)} < set(best)
    assert [role for _, role in embedder.asked] == ["query", "passage", "passage"]
    assert len(await late.search(query, 4)) == 4


async def test_a_passage_is_read_with_its_title(index: Index) -> None:
    late, embedder = _late(index)
    await late.search(Query.of("titled"), 1)
    assert ("Titled\nfox", "passage") in embedder.asked


async def test_a_probe_without_tokens_counts_for_nothing_and_is_noted(index: Index) -> None:
    trace = Trace("t", "q")
    with tracing(trace):
        hits = await _late(index)[0].search(Query((Probe("fox"), Probe("…"))), 5)
    assert _scores(hits)["e"] == 1.0
    assert [event.fields for event in trace.events if "no tokens" in event.name] == [{"text": "…"}]


async def test_a_pool_of_none_is_refused(index: Index) -> None:
    with pytest.raises(ConfigError, match="'pool' is 0"):
        await _late(index, pool=0)[0].search(Query.of("fox"), 1)


async def test_calls_are_batched_by_role() -> None:
    asked: list[tuple[int, Role]] = []

    class Encoder:
        def encode_tokens(self, texts, role: Role):
            asked.append((len(texts), role))
            return ENCODER.encode_tokens(texts, role)

    batched = BatchedTokenEmbedder.of(Encoder(), size=2)
    rows = await asyncio.gather(*(batched.embed_tokens(text, "passage") for text in TEXTS.values()))
    assert [len(matrix) for matrix in rows] == [len(text.split()) for text in TEXTS.values()]
    assert asked == [(2, "passage"), (2, "passage"), (1, "passage")]
    await batched.aclose()
