import fcntl
import os
import sqlite3
import stat
import time
from pathlib import Path

import pytest

from distinguo.backends.index.fingerprint import Fingerprint
from distinguo.backends.index.lock import Lock
from distinguo.backends.index.rows import Change, content_of, hash_of, searchable
from distinguo.backends.index.truth import Truth
from distinguo.errors import DataError, MismatchError
from distinguo.records import Document, Passage, Section
from distinguo.text.sameness import essence

FINGERPRINT = Fingerprint("minilm", 2, "words", "200 tokens, overlap 40", "terms 1")


def _change(id_: str, *texts: str, meta=()) -> Change:
    document = Document(id_, " ".join(texts), "Title", f"{id_}.txt", meta)
    return Change(
        document,
        tuple(
            Passage(f"{id_}#{n}", text, "Title", id_, f"{id_}.txt", n, n + len(text), meta)
            for n, text in enumerate(texts, 1)
        ),
    )


def _document(id_: str, text: str, stamp: str = "") -> Change:
    return Change(Document(id_, text, stamp=stamp), (Passage(f"{id_}#1", text, document=id_, end=len(text)),))


def _put(truth: Truth, *changes: Change) -> None:
    truth.keep_vectors((content_of(p), b"\0" * 8) for change in changes for p in change.passages)
    truth.replace(changes)


@pytest.fixture
def truth(tmp_path: Path):
    truth = Truth.create(tmp_path / "truth.sqlite", FINGERPRINT)
    yield truth
    truth.close()


def test_what_is_committed_is_there_after_opening_again(tmp_path: Path) -> None:
    truth = Truth.create(tmp_path / "t.sqlite", FINGERPRINT)
    change = _change("a", "one", "two", meta=(("ok", True), ("year", 2020)))
    _put(truth, change)
    truth.close()
    truth = Truth.open(tmp_path / "t.sqlite")
    assert truth.fingerprint == FINGERPRINT
    assert tuple(row.passage for row in truth.rows(truth.numbers())) == change.passages
    assert truth.hashes() == {"a": hash_of(change.document)}
    assert not list(truth.faults())
    truth.close()


def test_passages_keep_their_headings_and_pages(truth: Truth) -> None:
    passage = Passage("a#1", "text", document="a", end=4, heading="Dosage", page=12)
    _put(truth, Change(Document("a", "text"), (passage,)))
    assert [row.passage for row in truth.rows_of(["a#1"])] == [passage]


def test_stamps_and_essences_of_documents(truth: Truth) -> None:
    _put(truth, _document("b", "One two.", "stamp b"), _document("a", "ONE TWO", "stamp a"))
    _put(truth, _document("c", "One three."))
    assert truth.stamps() == {"a": "stamp a", "b": "stamp b", "c": ""}
    assert truth.essences() == {essence("one two"): "b", essence("one three"): "c"}
    _put(truth, _document("b", "Now another.", "stamp b2"))
    assert truth.stamps()["b"] == "stamp b2"
    assert truth.essences()[essence("one two")] == "a"


def test_the_roots_that_were_kept_last_are_there_after_opening_again(tmp_path: Path) -> None:
    truth = Truth.create(tmp_path / "t.sqlite", FINGERPRINT)
    assert truth.roots() == ()
    truth.keep_roots(["old"])
    truth.keep_roots(["docs", "https://example.org/ä"])
    truth.close()
    truth = Truth.open(tmp_path / "t.sqlite")
    assert truth.roots() == ("docs", "https://example.org/ä")
    truth.close()


def test_a_document_takes_the_place_of_that_of_its_id(truth: Truth) -> None:
    _put(truth, _change("a", "one", "two"))
    before = truth.numbers()
    _put(truth, _change("a", "three"))
    assert [row.passage.text for row in truth.rows(truth.numbers())] == ["three"]
    assert not set(before) & set(truth.numbers())


def test_numbers_are_never_used_twice(truth: Truth) -> None:
    _put(truth, _change("a", "one"))
    before = truth.numbers()
    assert truth.delete(["a", "never there"]) == 1
    _put(truth, _change("b", "two"))
    assert before != truth.numbers()
    assert truth.rows(before) == []


def test_the_log_names_all_that_changed(truth: Truth) -> None:
    _put(truth, _change("a", "one"), _change("b", "two"))
    (a, b), sequence = truth.numbers(), truth.sequence
    assert truth.changed_since(0) == [a, b]
    assert truth.changed_since(sequence) == []
    truth.delete(["a"])
    assert truth.changed_since(sequence) == [a]
    assert truth.sequence > sequence


def test_a_failing_commit_changes_nothing(truth: Truth) -> None:
    _put(truth, _change("a", "one"))
    with pytest.raises(DataError, match="FOREIGN KEY"):
        truth.replace([_change("b", "two with a vector that nobody kept")])
    assert truth.hashes().keys() == {"a"}
    _put(truth, _change("c", "three"))
    assert truth.hashes().keys() == {"a", "c"}


def test_equal_passages_share_a_vector_and_sweeping_spares_it(truth: Truth) -> None:
    one, two = _change("a", "same"), _change("b", "same")
    _put(truth, one, two)
    content = content_of(one.passages[0])
    assert content == content_of(two.passages[0])
    truth.delete(["a"])
    truth.sweep()
    assert content in truth.vectors([content])
    truth.delete(["b"])
    truth.sweep()
    assert truth.vectors([content]) == {}


def test_the_title_is_searched_with_the_text() -> None:
    assert searchable(Passage("p", "text", "Title")) == "Title\ntext"
    assert searchable(Passage("p", "text")) == "text"


def test_a_document_differs_by_any_part() -> None:
    documents = [
        Document("a", "t"),
        Document("a", "t", "T"),
        Document("a", "t", "", "s"),
        Document("a", "t", sections=(Section(0, "H"),)),
        Document("a", "t", sections=(Section(0, "H", 1),)),
        Document("a", "t", stamp="1"),
        Document("a", "t", meta=(("x", 1),)),
        Document("a", "t", meta=(("x", True),)),
        Document("a", "t", meta=(("x", "1"),)),
    ]
    assert len({hash_of(document) for document in documents}) == len(documents)


def test_fields_and_their_texts(truth: Truth) -> None:
    _put(truth, _change("a", "one", meta=(("day", "2024-01-02"), ("n", 1))))
    _put(truth, _change("b", "two", meta=(("day", "2023-01-02"), ("big", 2**80))))
    assert truth.field_names() == ["big", "day", "n"]
    assert truth.has_field("n")
    assert not truth.has_field("m")


def test_files_are_private(tmp_path: Path, truth: Truth) -> None:
    _put(truth, _change("a", "one"))
    files = list(tmp_path.iterdir())
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_another_version_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    Truth.create(path, FINGERPRINT).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE manifest SET value = 99 WHERE name = 'schema'")
    connection.commit()
    connection.close()
    with pytest.raises(MismatchError, match=r"version 99.*--rebuild"):
        Truth.open(path)


@pytest.mark.parametrize("content", [b"", b"not a database" * 1000])
def test_a_file_that_is_no_index_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.sqlite"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"t\.sqlite.*--rebuild"):
        Truth.open(path)


def test_no_file_is_made_by_opening(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no index file"):
        Truth.open(tmp_path / "t.sqlite")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part", ["encoder", "dimension", "tokeniser", "chunking", "analyser"])
def test_a_mismatch_names_the_part_both_values_and_the_remedy(part: str) -> None:
    values = {name: getattr(FINGERPRINT, name) for name in Fingerprint.__slots__}
    other = Fingerprint(**(values | {part: 7 if part == "dimension" else "other"}))
    with pytest.raises(MismatchError) as error:
        FINGERPRINT.check(other, index="clinic")
    for word in ("clinic", part, repr(values[part]), repr(getattr(other, part)), "--rebuild"):
        assert word in str(error.value)
    FINGERPRINT.check(FINGERPRINT, index="clinic")


def test_the_second_to_lock_is_told_who_holds_it(tmp_path: Path) -> None:
    lock = Lock.take(tmp_path)
    with pytest.raises(DataError, match="this process already holds"):
        Lock.take(tmp_path)
    lock.close()
    lock.close()
    Lock.take(tmp_path).close()


def _held_by_another(folder: Path) -> int:
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(file, fcntl.LOCK_EX)
    os.write(file, b"999999\n")
    return file


def test_a_lock_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, pauses = _held_by_another(tmp_path), []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            os.close(held)

    monkeypatch.setattr(time, "sleep", sleep)
    Lock.take(tmp_path).close()
    assert pauses == sorted(pauses)
    assert len(pauses) == 3


def test_a_long_wait_for_a_lock_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held, pauses = _held_by_another(tmp_path), []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 20:
            os.close(held)

    monkeypatch.setattr(time, "sleep", sleep)
    Lock.take(tmp_path).close()
    assert [record.getMessage() for record in caplog.records] == [
        f"waiting for process 999999, which changes the index {str(tmp_path)!r}"
    ]


def test_a_lock_that_is_never_let_go_of_is_an_error_that_names_the_holder(tmp_path: Path) -> None:
    held = _held_by_another(tmp_path)
    with pytest.raises(DataError, match="being changed by process 999999"):
        Lock.take(tmp_path, wait=0.0)
    os.close(held)


def test_who_held_a_lock_before_does_not_hold_it_now(tmp_path: Path) -> None:
    Lock.take(tmp_path).close()
    assert (tmp_path / "lock").read_text(encoding="ascii") == ""


def test_what_an_older_index_left_beside_is_not_replayed_into_a_new_one(tmp_path: Path) -> None:
    path, wal = tmp_path / "truth.sqlite", tmp_path / "truth.sqlite-wal"
    old = Truth.create(path, FINGERPRINT)
    _put(old, _change("a", "one"))
    log = wal.read_bytes()
    assert log
    old.close()
    path.unlink()
    wal.write_bytes(log)
    new = Truth.create(path, FINGERPRINT)
    assert (new.hashes(), list(new.faults())) == ({}, [])
    new.close()


@pytest.mark.parametrize("part", ["encoder", "dimension"])
def test_a_manifest_with_a_gap_is_damage_with_a_remedy(tmp_path: Path, part: str) -> None:
    path = tmp_path / "t.sqlite"
    Truth.create(path, FINGERPRINT).close()
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM manifest WHERE name = ?", (part,))
    connection.commit()
    connection.close()
    with pytest.raises(DataError, match=rf"{part}.*--rebuild"):
        Truth.open(path)


@pytest.mark.parametrize("meta", [(("x", 10**400),), (("x", float("nan")),), (("x", "\ud800"),)])
def test_what_sqlite_cannot_hold_is_a_clear_error_and_changes_nothing(truth: Truth, meta) -> None:
    with pytest.raises(DataError, match="index file"):
        _put(truth, _change("a", "one", meta=meta))
    assert truth.hashes() == {}


def test_a_lock_file_left_by_a_dead_process_locks_nobody_out(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("999999\n", encoding="ascii")
    Lock.take(tmp_path).close()
