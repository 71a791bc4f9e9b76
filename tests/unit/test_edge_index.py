import math
import random
import shutil
import sqlite3
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from distinguo.backends.index import copies, room
from distinguo.backends.index.edge import ANALYSER, K1, B
from distinguo.backends.index.fingerprint import Fingerprint
from distinguo.backends.index.index import Index, erase
from distinguo.backends.index.rows import Change, content_of
from distinguo.errors import BackendError, ConfigError, DataError, MismatchError
from distinguo.records import Condition, Document, Meta, Passage

DIMENSION = 8
FINGERPRINT = Fingerprint("encoder 1", DIMENSION, "words", "200 tokens, overlap 40", ANALYSER)


def _vector(text: str) -> np.ndarray:
    return (
        np.random.default_rng(len(text) * 1000 + sum(map(ord, text))).standard_normal(DIMENSION).astype("f4")
    )


def _change(id_: str, text: str, meta: Meta = ()) -> Change:
    passage = Passage(f"{id_}#1", text, "", id_, f"{id_}.txt", 0, len(text), meta)
    return Change(Document(id_, text, "", f"{id_}.txt", meta), (passage,))


def _add(index: Index, *changes: Change, vector: np.ndarray | None = None) -> None:
    index.keep_vectors(
        [
            (content_of(passage), _vector(passage.text) if vector is None else vector)
            for change in changes
            for passage in change.passages
        ]
    )
    index.replace(changes)


def _add_texts(index: Index, **texts: str) -> None:
    _add(index, *(_change(id_, text) for id_, text in texts.items()))


def _ids(scored) -> list[str]:
    return [passage.document for passage, _ in scored]


def _words(index: Index, text: str, k: int = 10, where=()) -> list[str]:
    return _ids(index.lexical([(text, 1.0)], k, where=where))


METAS: dict[str, Meta] = {
    "old": (("day", "2001-05-01"), ("year", 2001)),
    "new": (("day", "2024-05-01"), ("draft", False), ("year", 2024)),
    "half": (("draft", True), ("year", 2001.5)),
    "text": (("draft", "true"), ("year", "2024")),
    "none": (),
    "odd": (('a.b["c"]', "x"),),
}


SCRIPTS = {
    "ja": "国際標準化に関する動向",
    "zh": "天气很好，我们去公园",
    "ar": "السَّلامُ عليكم في المدرسة",
    "th": "ประเทศไทยมีกรุงเทพเป็นเมืองหลวง",
    "ko": "한국어 문서입니다",
    "en": "He runs to the café",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index that no test may change."""
    with Index.make(tmp_path_factory.mktemp("shared") / "index", FINGERPRINT) as index:
        marked = (_change(id_, f"marked {id_}", (*meta, ("kind", "marked"))) for id_, meta in METAS.items())
        _add(index, *marked)
        _add_texts(index, **SCRIPTS)
        yield index


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.make(tmp_path / "index", FINGERPRINT) as index:
        yield index


# ── by words ─────────────────────────────────────────────────────────────────────────────────────────────


def _okapi(corpus: dict[str, list[str]], query: list[str]) -> dict[str, float]:
    """BM25 as in Robertson & Zaragoza 2009, with the inverse document frequency that is never negative."""
    texts = {id_: words for id_, words in corpus.items() if words}
    average = sum(map(len, texts.values())) / len(texts)
    scores: dict[str, float] = {}
    for id_, words in texts.items():
        counts = Counter(words)
        for word in set(query) & counts.keys():
            having = sum(word in other for other in texts.values())
            rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            length = K1 * (1 - B + B * len(words) / average)
            scores[id_] = scores.get(id_, 0.0) + rarity * counts[word] * (K1 + 1) / (counts[word] + length)
    return scores


def test_scores_are_those_of_okapi_bm25_whatever_was_deleted(index: Index) -> None:
    rng = random.Random(5)
    corpus = {
        f"d{n:02}": [f"q{int(rng.random() ** 2 * 30)}" for _ in range(rng.randint(1, 40))] for n in range(60)
    }
    _add_texts(index, **{id_: " ".join(words) for id_, words in corpus.items()})
    gone = sorted(corpus)[::3]
    index.delete(gone)
    corpus = {id_: words for id_, words in corpus.items() if id_ not in gone}
    for query in (["q0"], ["q1", "q7", "q29"], ["q3", "q3", "q12"], ["q5", "unknown"]):
        expected = _okapi(corpus, query)
        found = index.lexical([(" ".join(query), 1.0)], 100)
        assert {passage.document for passage, _ in found} == expected.keys()
        for passage, score in found:
            assert score == pytest.approx(expected[passage.document], rel=1e-5)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("国際標準化", "ja"),
        ("標準", "ja"),
        ("公园", "zh"),
        ("المدرسه", "ar"),
        ("سلام", "ar"),
        ("กรุงเทพ", "th"),
        ("문서", "ko"),
        ("running", "en"),
        ("CAFE", "en"),
    ],
)
def test_every_script_is_found(shared: Index, query: str, expected: str) -> None:
    assert _words(shared, query)[0] == expected


def test_unknown_words_and_no_words_find_nothing(index: Index) -> None:
    assert _words(index, "anything") == []
    _add_texts(index, a="cat sat")
    assert _words(index, "zzz") == _words(index, "?!") == _words(index, "") == []


def test_texts_without_words_are_no_trouble(index: Index) -> None:
    _add_texts(index, a="…", b="—")
    assert _words(index, "word") == []
    assert sorted(_ids(index.dense(_vector("…"), 5))) == ["a", "b"]


def test_more_is_asked_for_than_there_is(index: Index) -> None:
    _add_texts(index, a="cat sat", b="cat ran")
    assert sorted(_words(index, "cat", k=10)) == ["a", "b"]


def test_one_long_word_is_kept(index: Index) -> None:
    _add_texts(index, a="x" * 60_000)
    assert _words(index, "x" * 60_000) == ["a"]


def test_ties_go_by_passage_id_wherever_the_list_is_cut(index: Index) -> None:
    _add(index, *(_change(id_, f"same words {id_}") for id_ in "dbeac"), vector=np.ones(DIMENSION, "f4"))
    for k in range(1, 6):
        assert _words(index, "words", k) == list("abcde")[:k]
        assert _ids(index.dense(np.ones(DIMENSION, "f4"), k)) == list("abcde")[:k]


def test_a_negative_probe_scores_the_pool_of_the_positive_ones(index: Index) -> None:
    _add_texts(index, a="fever rash", b="fever cough", c="rash alone")
    assert _ids(index.lexical([("fever", 1.0), ("rash", -1.0)], 5)) == ["b", "a"]
    assert _ids(index.lexical([("fever", -1.0)], 5)) == []


# ── by meaning ───────────────────────────────────────────────────────────────────────────────────────────


def test_dense_results_are_those_of_exact_inner_products(index: Index) -> None:
    texts = {f"d{n:03}": f"text {n} {'x' * n}" for n in range(120)}
    _add_texts(index, **texts)
    matrix = np.stack([_vector(text) for text in texts.values()])
    query = 2 * _vector("one") - 0.5 * _vector("other")
    products = matrix @ query
    expected = [list(texts)[n] for n in np.argsort(-products)[:20]]
    found = index.dense(query, 20)
    assert _ids(found) == expected
    assert [score for _, score in found] == pytest.approx(sorted(products, reverse=True)[:20], rel=1e-5)


def test_vectors_can_be_read_back_in_the_order_asked(index: Index) -> None:
    _add_texts(index, a="one", b="two")
    b, a = index.vectors(["b#1", "a#1"])
    assert a.dtype == np.float32
    assert (a == _vector("one")).all()
    assert (b == _vector("two")).all()
    assert [passage.text for passage in index.passages(["b#1", "a#1"])] == ["two", "one"]
    with pytest.raises(DataError, match="'c#1'"):
        index.vectors(["a#1", "c#1"])


@pytest.mark.parametrize(
    "bad", [np.full(DIMENSION, np.nan, "f4"), np.full(DIMENSION, 1e300), np.ones(DIMENSION + 1, "f4")]
)
def test_vectors_that_are_none_are_refused(index: Index, bad: np.ndarray) -> None:
    with pytest.raises(BackendError, match="finite"):
        _add(index, _change("a", "one"), vector=bad)
    with pytest.raises(ConfigError, match="shape"):
        index.dense(np.ones(DIMENSION + 1, "f4"), 1)


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition("year", "==", 2001), {"old"}),
        (Condition("year", "==", 2001.0), {"old"}),
        (Condition("year", "==", "2024"), {"text"}),
        (Condition("year", "!=", 2024), METAS.keys() - {"new"}),
        (Condition("year", "<", 2001.5), {"old"}),
        (Condition("year", "<=", 2001.5), {"old", "half"}),
        (Condition("year", ">", 2001.5), {"new"}),
        (Condition("year", ">=", 2001.5), {"half", "new"}),
        (Condition("year", "in", (2001, "2024")), {"old", "text"}),
        (Condition("year", "in", ()), set()),
        (Condition("draft", "==", True), {"half"}),
        (Condition("draft", "!=", True), METAS.keys() - {"half"}),
        (Condition("year", ">", "2001"), {"text"}),
        (Condition("draft", "==", 1), set()),
        (Condition("draft", "in", (True, "true")), {"half", "text"}),
        (Condition("day", ">=", "2010"), {"new"}),
        (Condition("day", "<", "2001-05-01"), set()),
        (Condition('a.b["c"]', "==", "x"), {"odd"}),
    ],
    ids=str,
)
def test_conditions(shared: Index, condition: Condition, expected: set[str]) -> None:
    assert set(_words(shared, "marked", where=[condition])) == expected
    where = [condition, Condition("kind", "==", "marked")]
    assert set(_ids(shared.dense(np.ones(DIMENSION, "f4"), 99, where=where))) == expected


def test_filters_come_before_ranking_and_all_must_hold(index: Index) -> None:
    _add(
        index,
        *(_change(f"d{n:02}", "word " * (30 - n), (("n", n), ("odd", n % 2 == 1))) for n in range(30)),
    )
    where = [Condition("n", ">=", 27), Condition("odd", "==", True)]
    assert _words(index, "word", 2, where) == ["d27", "d29"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Condition("yaer", "==", 1), "did you mean 'year'"),
        (Condition("zzz", "==", 1), "there are .*day, draft, kind, year"),
        (Condition("year", "in", 1), "several values"),
        (Condition("year", "==", (1, 2)), "one value"),
        (Condition("year", "<", True), "expected a number"),
    ],
    ids=str,
)
def test_hopeless_conditions_are_explained(shared: Index, condition: Condition, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _words(shared, "word", where=[condition])


# ── changes, files, repair ───────────────────────────────────────────────────────────────────────────────


def test_after_a_deletion_the_others_are_still_themselves(index: Index) -> None:
    _add_texts(index, a="ant", b="bee", c="cat")
    assert index.delete(["a"]) == 1
    assert _words(index, "cat") == ["c"]
    assert _words(index, "ant") == []
    assert _ids(index.dense(_vector("cat"), 1)) == ["c"]
    assert (index.count(), index.check()) == (2, ())


def test_a_changed_document_is_found_by_its_new_words_alone(index: Index) -> None:
    _add(index, _change("a", "before", (("year", 1),)))
    _add(index, _change("a", "after", (("year", 2),)))
    assert _words(index, "before") == []
    assert _words(index, "after", where=[Condition("year", "==", 2)]) == ["a"]
    assert index.check() == ()


def test_files_and_folders_are_private(tmp_path: Path, index: Index) -> None:
    _add_texts(index, a="text")
    index.close()
    for path in (tmp_path / "index").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_check_names_what_the_engine_lacks(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    _add_texts(index, a="ant")
    assert _words(index, "ant") == ["a"]
    monkeypatch.setattr(copies, "replay", lambda *_: None)
    _add_texts(index, b="bee")
    index.delete(["a"])
    faults = " / ".join(index.check())
    assert "lacks 1" in faults
    assert "1 passages that were deleted" in faults


def test_no_index_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="distinguo index"):
        Index.open(tmp_path / "none", encoder="e")
    assert not (tmp_path / "none").exists()


def test_another_encoder_of_the_same_dimension_is_refused(index: Index, tmp_path: Path) -> None:
    index.close()
    with pytest.raises(MismatchError, match=r"encoder 'encoder 1'.*'encoder 2'.*--rebuild"):
        Index.open(tmp_path / "index", encoder="encoder 2")
    Index.open(tmp_path / "index", encoder="encoder 1").close()


def test_a_second_writer_is_told_who_holds_the_index(index: Index, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="this process already holds the index"):
        Index.make(tmp_path / "index", FINGERPRINT)
    with pytest.raises(DataError, match="this process already holds the index"):
        erase(tmp_path / "index")


def test_what_is_open_to_search_cannot_change_it(index: Index, tmp_path: Path) -> None:
    with Index.open(tmp_path / "index", encoder="encoder 1") as reader:
        for change in (
            lambda: reader.keep_vectors([]),
            lambda: reader.replace([]),
            lambda: reader.delete(["a"]),
            lambda: reader.keep_roots([]),
            reader.sweep,
            reader.settle,
        ):
            with pytest.raises(DataError, match="to search it"):
                change()


def test_searches_see_every_commit_of_another_opener_at_once(index: Index, tmp_path: Path) -> None:
    with Index.open(tmp_path / "index", encoder="encoder 1") as reader:
        assert _words(reader, "ant") == []
        _add_texts(index, a="ant", b="bee")
        assert _words(reader, "ant") == ["a"]
        index.delete(["a"])
        _add_texts(index, b="now an ant")
        assert (_words(reader, "ant"), _words(reader, "bee"), reader.check()) == (["b"], [], ())


def test_an_erased_index_can_be_made_anew_with_other_settings(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with Index.make(folder, FINGERPRINT) as index:
        _add_texts(index, a="ant")
    erase(folder)
    other = Fingerprint("encoder 2", 3, "words", "chunks", ANALYSER)
    with Index.make(folder, other) as index:
        assert (index.count(), index.fingerprint) == (0, other)
    erase(tmp_path / "never there")


def test_too_little_room_is_refused_before_anything_changes(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add_texts(index, a="ant")
    monkeypatch.setattr(room, "_ROOM", 2**60)
    with pytest.raises(DataError, match="is full"):
        _add_texts(index, b="bee")
    with pytest.raises(DataError, match="is full"):
        index.delete(["a"])
    monkeypatch.undo()
    assert (_words(index, "ant"), index.check()) == (["a"], ())


def test_where_the_index_has_no_room_to_search_there_is_another_place(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add_texts(index, a="ant")
    usage, other = shutil.disk_usage(tmp_path), tmp_path / "other"
    other.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(other))
    full = usage._replace(free=2**21)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage if other in path.parents else full)
    assert _words(index, "ant") == ["a"]
    assert list(other.rglob("segments"))
    index.close()
    assert not list(other.rglob("segments"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with (
        Index.open(tmp_path / "index", encoder="encoder 1") as reader,
        pytest.raises(DataError, match="is full"),
    ):
        _words(reader, "ant")


def test_an_index_whose_rebuild_was_killed_is_made_anew(tmp_path: Path, monkeypatch) -> None:
    folder, log = tmp_path / "index", tmp_path / "index" / "truth.sqlite-wal"
    with Index.make(folder, FINGERPRINT) as index:
        _add_texts(index, old="ant")
        content = log.read_bytes()
    log.write_bytes(content)
    unlinked: list[Path] = []

    def die(path: Path, **_: bool) -> None:
        if unlinked:
            raise KeyboardInterrupt
        unlinked.append(path)
        path.replace(tmp_path / "gone")

    monkeypatch.setattr(Path, "unlink", die)
    with pytest.raises(KeyboardInterrupt):
        erase(folder)
    monkeypatch.undo()
    with Index.make(folder, FINGERPRINT) as index:
        assert index.hashes() == {}
        _add_texts(index, new="bee")
        assert (_words(index, "ant"), _words(index, "bee"), index.check()) == ([], ["new"], ())


def test_an_engine_that_is_ahead_of_its_truth_followed_another_one(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with Index.make(folder, FINGERPRINT) as index:
        _add_texts(index, a="ant")
        index.delete(["a"])
    (folder / "truth.sqlite").unlink()
    with Index.make(folder, FINGERPRINT) as index:
        _add_texts(index, b="bee")
        assert (_words(index, "bee"), index.check()) == (["b"], ())


def test_a_lost_vector_is_damage_with_a_remedy(tmp_path: Path, index: Index) -> None:
    _add_texts(index, a="ant")
    connection = sqlite3.connect(tmp_path / "index" / "truth.sqlite")
    connection.execute("DELETE FROM vectors")
    connection.commit()
    connection.close()
    with pytest.raises(DataError, match="--rebuild"):
        _words(index, "ant")


def test_a_place_that_cannot_be_looked_at_is_a_clear_error(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 300)
    with pytest.raises(DataError, match="cannot look at"):
        Index.open(folder, encoder="encoder 1")
    with pytest.raises(DataError, match="cannot look at"):
        erase(folder)


def test_an_unwritable_place_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="cannot make the folder"):
        Index.make(tmp_path / "file" / "index", FINGERPRINT)
