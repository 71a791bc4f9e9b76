"""What every search engine over the truth does: the embedded one, and a server by its client's own double."""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient

from distinguo.backends.index.edge import K1, B, Edge
from distinguo.backends.index.engine import Engine, Point
from distinguo.backends.index.qdrant import QdrantServer

# The in-memory mode is always exact, and warns whoever asks it to be.
pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")

DIMENSION = 8


def _edge(folder: Path) -> Edge:
    return Edge.create(folder / "shard", DIMENSION)


def _qdrant(_: Path) -> QdrantServer:
    return QdrantServer.open(QdrantClient(":memory:"), "passages", dimension=DIMENSION, owner="the test")


ENGINES: dict[str, Callable[[Path], Engine]] = {"edge": _edge, "qdrant": _qdrant}


@pytest.fixture(params=ENGINES, ids=str)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    engine = ENGINES[request.param](tmp_path)
    yield engine
    engine.close()


def _vector(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(DIMENSION).astype("<f4")


def _point(number: int, text: str, vector: np.ndarray | None = None) -> Point:
    return Point(number, text, (_vector(number) if vector is None else vector).tobytes())


def _add(engine: Engine, *texts: str) -> None:
    engine.upsert([_point(number, text) for number, text in enumerate(texts, start=1)])
    engine.flush()


# ── changing ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_added_is_there_and_what_is_deleted_is_not(engine: Engine) -> None:
    assert (engine.count(), engine.numbers()) == (0, set())
    _add(engine, "ant", "bee", "cat")
    assert (engine.count(), engine.numbers()) == (3, {1, 2, 3})
    engine.delete([2, 99])
    engine.delete([])
    engine.upsert([])
    engine.flush()
    assert (engine.count(), engine.numbers()) == (2, {1, 3})
    assert engine.lexical("bee", 5) == {}
    assert set(engine.dense(_vector(2), 5)) == {1, 3}


def test_a_point_added_again_stands_in_place_of_the_old_one(engine: Engine) -> None:
    _add(engine, "ant", "bee")
    engine.upsert([_point(1, "cat", _vector(77))])
    assert engine.count() == 2
    assert engine.lexical("ant", 5) == {}
    assert set(engine.lexical("cat", 5)) == {1}
    assert engine.dense(_vector(77), 1)[1] == pytest.approx(float(_vector(77) @ _vector(77)), rel=1e-5)


def test_to_apply_a_change_twice_does_no_harm(engine: Engine) -> None:
    _add(engine, "ant nest", "bee nest")
    scores = engine.lexical("nest", 5)
    _add(engine, "ant nest", "bee nest")
    engine.delete([3])
    engine.delete([3])
    assert engine.lexical("nest", 5) == scores


def test_more_points_than_a_batch_and_a_page_hold(engine: Engine) -> None:
    numbers = range(2**40, 2**40 + 1100)
    engine.upsert([_point(number, "word") for number in numbers])
    assert engine.numbers() == set(numbers)
    assert len(engine.lexical("word", 2000)) == len(engine.dense(_vector(0), 2000)) == 1100


# ── by words ─────────────────────────────────────────────────────────────────────────────────────────────


def _okapi(corpus: dict[int, list[str]], query: list[str]) -> dict[int, float]:
    """BM25 as in Robertson & Zaragoza 2009, with the inverse document frequency that is never negative."""
    average = sum(map(len, corpus.values())) / len(corpus)
    scores: dict[int, float] = {}
    for number, words in corpus.items():
        counts = Counter(words)
        for word in set(query) & counts.keys():
            having = sum(word in other for other in corpus.values())
            rarity = math.log(1 + (len(corpus) - having + 0.5) / (having + 0.5))
            length = K1 * (1 - B + B * len(words) / average)
            scores[number] = scores.get(number, 0.0) + rarity * counts[word] * (K1 + 1) / (
                counts[word] + length
            )
    return scores


def _corpus(seed: int, size: int) -> dict[int, list[str]]:
    rng = random.Random(seed)
    return {
        n: [f"q{int(rng.random() ** 2 * 30)}" for _ in range(rng.randint(1, 40))] for n in range(1, size + 1)
    }


def _assert_okapi(engine: Engine, corpus: dict[int, list[str]]) -> None:
    for query in (["q0"], ["q1", "q7", "q29"], ["q3", "q3", "q12"], ["q5", "unknown"]):
        expected = _okapi(corpus, query)
        found = engine.lexical(" ".join(query), 1000)
        assert found == pytest.approx(expected, rel=1e-5)
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_scores_are_those_of_okapi_bm25_as_the_collection_grows_and_shrinks(engine: Engine) -> None:
    corpus = _corpus(5, 60)
    first = {n: words for n, words in corpus.items() if n <= 20}
    engine.upsert([_point(n, " ".join(words)) for n, words in first.items()])
    _assert_okapi(engine, first)
    engine.upsert([_point(n, " ".join(3 * words)) for n, words in corpus.items() if n > 20])
    _assert_okapi(engine, first | {n: 3 * words for n, words in corpus.items() if n > 20})
    engine.delete([n for n in corpus if n > 20])
    _assert_okapi(engine, first)


def test_scores_among_some_are_those_of_an_open_search(engine: Engine) -> None:
    corpus = _corpus(6, 60)
    engine.upsert([_point(n, " ".join(words)) for n, words in corpus.items()])
    among = set(range(1, 60, 4)) | {9999}
    everything = engine.lexical("q1 q2", 100)
    found = engine.lexical("q1 q2", 100, among=among)
    assert found == pytest.approx({n: score for n, score in everything.items() if n in among})
    assert found
    assert engine.lexical("q1 q2", 100, among=()) == {}


def test_a_term_counts_once_in_a_query_in_whatever_form(engine: Engine) -> None:
    _add(engine, "He runs to the café", "nothing here")
    once = engine.lexical("run", 5)
    assert set(once) == {1}
    assert engine.lexical("running run RUNS runs", 5) == pytest.approx(once)


SCRIPTS = (
    "国際標準化に関する動向",
    "天气很好，我们去公园",
    "السَّلامُ عليكم في المدرسة",
    "ประเทศไทยมีกรุงเทพเป็นเมืองหลวง",
    "한국어 문서입니다",
    "He runs to the café",
    "version 2.1 of snake_case",
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("国際標準化", 1),
        ("公园", 2),
        ("المدرسه", 3),
        ("กรุงเทพ", 4),
        ("문서", 5),
        ("running", 6),
        ("CAFE", 6),
        ("2.1", 7),
        ("case", 7),
    ],
)
def test_every_script_is_found(engine: Engine, query: str, expected: int) -> None:
    _add(engine, *SCRIPTS)
    assert next(iter(engine.lexical(query, 10))) == expected


@pytest.mark.parametrize("query", ["", "?!", "zzz", "1", "2"])
def test_without_a_common_term_nothing_is_found(engine: Engine, query: str) -> None:
    _add(engine, *SCRIPTS, "…", "")
    assert engine.lexical(query, 5) == {}


# Newer stemmers part these words otherwise than the embedded engine.
@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        ("adding", "ad", "add"),
        ("evenings", "even", "event"),
        ("geologists", "geologist", "geology"),
        ("emergency", "emerge", "emersion"),
        ("generously", "generous", "generate"),
        ("flies", "fly", "flier"),
    ],
)
def test_words_are_stemmed_alike(engine: Engine, text: str, same: str, other: str) -> None:
    _add(engine, text)
    assert set(engine.lexical(same, 5)) == {1}
    assert engine.lexical(other, 5) == {}


def test_one_long_word_and_a_query_of_five_thousand_words(engine: Engine) -> None:
    _add(engine, "x" * 60_000, "fever rash")
    assert set(engine.lexical("x" * 60_000, 5)) == {1}
    assert set(engine.lexical("fever rash arms " * 1700, 5)) == {2}


# ── by meaning ───────────────────────────────────────────────────────────────────────────────────────────


def _products(numbers: range, query: np.ndarray) -> dict[int, float]:
    return {n: float(_vector(n).astype("f8") @ query) for n in numbers}


def _best(scores: dict[int, float], k: int) -> list[int]:
    return sorted(scores, key=lambda n: -scores[n])[:k]


@pytest.mark.parametrize("length", [1.0, 250.0, 1e-3])
def test_dense_results_are_those_of_exact_inner_products(engine: Engine, length: float) -> None:
    numbers = range(1, 201)
    engine.upsert([_point(n, "…") for n in numbers])
    query = (2 * _vector(3) - 0.5 * _vector(1000)) * np.float32(length)
    expected = _products(numbers, query)
    found = engine.dense(query.astype("f4"), 20)
    assert list(found)[:20] == _best(expected, 20)
    assert found == pytest.approx({n: expected[n] for n in found}, rel=1e-4, abs=1e-6 * length)
    among = set(range(1, 200, 3))
    chosen = engine.dense(query.astype("f4"), 10, among=among)
    assert list(chosen)[:10] == _best({n: expected[n] for n in among}, 10)


# ── ties ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("k", [2, 3, 6, 20, 41])
def test_all_that_tie_with_the_last_are_found(engine: Engine, k: int) -> None:
    ties, one = range(1, 41), np.ones(DIMENSION, "f4")
    engine.upsert([_point(n, "same words", one) for n in ties])
    engine.upsert([_point(100, "words words words", 2 * one), _point(101, "words and others", 0.5 * one)])
    for scores in (engine.lexical("words", k), engine.dense(one, k)):
        assert next(iter(scores)) == 100
        assert set(scores) - {101} == {100, *ties}


def test_the_best_alone_is_found_without_those_that_tie_below_it(engine: Engine) -> None:
    _add(engine, "words words words", *["same words"] * 40)
    scores = engine.lexical("words", 1)
    assert next(iter(scores)) == 1
    assert len(scores) < 40


# ── alike ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_server_ranks_and_scores_as_the_embedded_engine(tmp_path: Path) -> None:
    texts = [" ".join(words) for words in _corpus(8, 150).values()]
    both = [_edge(tmp_path), _qdrant(tmp_path)]
    for engine in both:
        _add(engine, *texts)
    for number in range(25):
        query = f"q{number} q{number + 3} q{29 - number}"
        one, other = (engine.lexical(query, 10) for engine in both)
        assert one == pytest.approx(other, rel=1e-5)
        one, other = (engine.dense(_vector(1000 + number), 10) for engine in both)
        assert list(one) == list(other)
        assert one == pytest.approx(other, rel=1e-4)
    for engine in both:
        engine.close()
