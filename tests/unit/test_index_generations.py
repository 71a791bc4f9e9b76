import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from distinguo.backends.index import building, copies, edge
from distinguo.backends.index.edge import ANALYSER
from distinguo.backends.index.fingerprint import Fingerprint
from distinguo.backends.index.folders import Held
from distinguo.backends.index.generations import Generation
from distinguo.backends.index.index import Index, erase, sources_of
from distinguo.backends.index.sqlite import connect
from distinguo.backends.index.truth import FILE
from distinguo.errors import DataError, MismatchError
from distinguo.indexing.build import Recipe
from distinguo.records import Document
from distinguo.testing import HashEncoder, WordTokeniser
from doubles.indexed import put

ENCODER = HashEncoder(32)
RECIPE = Recipe(ENCODER, WordTokeniser())
WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay"]


def _put(index: Index, *numbers: int, version: str = "old") -> None:
    put(
        index,
        [Document(f"d{n:03}", f"{WORDS[n % 10]} {WORDS[n // 10]} {version} all n{n}") for n in numbers],
        RECIPE,
    )


def _vector(text: str) -> np.ndarray:
    return ENCODER.encode([text], "query")[0]


TEXTS = ("ant bee", "cat new", "all", "fox old n57")


def _found(index: Index) -> list[object]:
    """What searches find, but for the ranks by words: they are blurred by what was deleted since."""
    return [
        search
        for text in TEXTS
        for search in (
            {passage for passage, _ in index.lexical([(text, 1.0)], 999)},
            index.dense(_vector(text), 7),
            index.dense(_vector(text) - _vector("all"), 7),
        )
    ]


def _ranked(index: Index) -> list[object]:
    """What searches find, ranks and scores by words too."""
    return [
        *_found(index),
        *(index.lexical([(text, 1.0)], 7) for text in TEXTS),
        *(index.hybrid([(text, 1.0)], _vector(text), 7, depth=20) for text in TEXTS),
    ]


def _build(folder: Path) -> None:
    building.build(folder / FILE, lambda done, total: None)


def _generations(folder: Path) -> list[Path]:
    return sorted((folder / "generations").iterdir())


def _copies(folder: Path) -> list[Path]:
    return sorted((folder / "readers").iterdir())


def _opened(folder: Path) -> Index:
    return Index.open(folder, encoder=ENCODER.fingerprint)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An index with a generation, and some changes after it."""
    folder = tmp_path / "index"
    with Index.make(folder, RECIPE.fingerprint) as index:
        _put(index, *range(90))
        _build(folder)
        _put(index, *range(5, 100, 3), version="new")
        index.delete([f"d{n:03}" for n in range(0, 100, 7)])
    return folder


@pytest.fixture
def expected(folder: Path) -> list[object]:
    """What is found without any generation."""
    bare = folder.with_name("bare")
    shutil.copytree(folder, bare)
    with Index.make(bare, RECIPE.fingerprint) as index:
        index._truth.keep_generation("")
        return _ranked(index)


@pytest.fixture
def reader(folder: Path) -> Iterator[Index]:
    with _opened(folder) as reader:
        yield reader


def _kinds(expected: list[object]) -> list[object]:
    return expected[: 3 * len(TEXTS)]


def test_a_copy_of_a_generation_finds_what_all_changes_replayed_find(expected, reader: Index) -> None:
    assert _found(reader) == _kinds(expected)
    assert reader.check() == ()


def test_what_was_deleted_blurs_ranks_by_words_alike_for_all_until_the_next_generation(
    folder: Path, expected, reader: Index
) -> None:
    with Index.make(folder, RECIPE.fingerprint) as index:
        blurred = _ranked(reader)
        put(index, [Document("short", "all too short lived")], RECIPE)
        assert _ranked(reader) != blurred
        index.delete(["short"])
        assert _ranked(reader) == _ranked(index) == blurred != expected
        _build(folder)
        assert _ranked(reader) == _ranked(index) == expected


def test_what_a_copy_shares_with_its_generation_is_never_written(folder: Path, reader: Index) -> None:
    _found(reader)
    (generation,) = _generations(folder)
    shared = [path for path in generation.rglob("*") if path.is_file() and path.stat().st_nlink == 2]
    assert {path.name for path in shared} == {"matrix.dat", "links_compressed.bin"}
    with Index.make(folder, RECIPE.fingerprint) as index:
        _put(index, *range(0, 100, 2), version="newer")
        index.delete([f"d{n:03}" for n in range(50)])
    _found(reader)
    assert reader.check() == ()


def test_many_changes_build_a_generation_when_they_settle_and_few_do_not(
    folder: Path, expected, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, told = _generations(folder), []
    with Index.make(folder, RECIPE.fingerprint) as index:
        index.settle()
        assert _generations(folder) == before
        monkeypatch.setattr(copies, "LEAST", 10)
        index.settle(lambda done, total: told.append((done, total)))
        (after,) = _generations(folder)
        assert [after] != before
        assert told[0][0] == 0
        assert _ranked(index) == expected
        index.settle()
        assert _generations(folder) == [after]


def _lose(generation: Path) -> None:
    shutil.rmtree(generation)


def _empty_files(generation: Path) -> None:
    for path in generation.rglob("*"):
        if path.is_file():
            path.write_bytes(b"")


def _lose_segments(generation: Path) -> None:
    shutil.rmtree(generation / "engine" / "segments")


def _garble_settings(generation: Path) -> None:
    path = generation / "engine" / "edge_config.json"
    path.write_bytes(b"{" * path.stat().st_size)


@pytest.mark.parametrize(
    "damage", [_lose, _empty_files, _lose_segments, _garble_settings], ids=lambda function: function.__name__
)
def test_a_damaged_generation_costs_time_and_nothing_else(
    folder: Path, expected, damage, caplog: pytest.LogCaptureFixture
) -> None:
    damage(_generations(folder)[0])
    with _opened(folder) as reader:
        assert _ranked(reader) == expected
        assert _ranked(reader) == expected
        (fault,) = reader.check()
        assert "damaged" in fault
        with Index.make(folder, RECIPE.fingerprint) as index:
            index.settle()
        assert (_ranked(reader), reader.check()) == (expected, ())
    assert [record.getMessage()[:23] for record in caplog.records] == ["cannot use a generation"]


def test_check_finds_one_wrong_bit(folder: Path, reader: Index) -> None:
    (matrix,) = _generations(folder)[0].rglob("matrix.dat")
    content = bytearray(matrix.read_bytes())
    content[-5] ^= 1
    matrix.write_bytes(content)
    assert "damaged" in reader.check()[0]


def test_a_generation_that_lost_passages_is_not_used(folder: Path, expected) -> None:
    with Index.make(folder, RECIPE.fingerprint) as index:
        told = index._truth.generation.replace('"count": 90', '"count": 91')
        assert "91" in told
        index._truth.keep_generation(told)
        assert _ranked(index) == expected


def test_a_reader_goes_over_to_a_new_generation(folder: Path, expected, reader: Index) -> None:
    _found(reader)
    (before,) = _copies(folder)
    _build(folder)
    assert _ranked(reader) == expected
    (after,) = _copies(folder)
    assert after != before


def test_copies_of_the_dead_are_cleared_away_and_those_of_the_living_are_not(
    folder: Path, reader: Index
) -> None:
    _found(reader)
    living = _copies(folder)
    Held.new(folder / "readers").close()
    with _opened(folder) as other:
        _found(other)
        assert len(_copies(folder)) == 2
    assert _copies(folder) == living
    reader.close()
    assert _copies(folder) == []


def test_old_generations_are_cleared_away_when_nobody_copies_them(folder: Path) -> None:
    (old,) = _generations(folder)
    held = Held.shared(old)
    Held.new(folder / "generations").close()  # of a builder that was killed
    _build(folder)
    assert len(_generations(folder)) == 2
    assert old in _generations(folder)
    held.close()
    _build(folder)
    assert len(_generations(folder)) == 1


def test_a_build_that_fails_leaves_the_generation_before_in_force(
    folder: Path, expected, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = _generations(folder)
    monkeypatch.setattr(copies, "LEAST", 10)
    with Index.make(folder, RECIPE.fingerprint) as index:
        monkeypatch.setattr(building, "reserve", _refuse)
        with pytest.raises(DataError, match="is full"):
            _build(folder)
        monkeypatch.setattr(sys, "executable", "/bin/false")
        index.settle()
        assert "cannot build a generation" in caplog.text
        assert _generations(folder) == before
        assert _found(index) == _kinds(expected)


def _refuse(*_: object) -> None:
    raise DataError("the disk is full")


def test_a_child_that_fails_says_why(folder: Path) -> None:
    with pytest.raises(DataError, match=r"status 1.*no index file"):
        building.build_apart(folder / "other.sqlite", lambda done, total: None)


def test_a_build_that_is_given_up_ends_its_child(folder: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        building.build_apart(folder / FILE, stop)
    with _opened(folder) as reader:
        assert reader.check() == ()


def test_with_many_passages_a_graph_finds_what_exact_search_finds(
    folder: Path, expected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "GRAPH_FROM", 50)
    _build(folder)
    with _opened(folder) as reader:
        assert _ranked(reader) == expected
        config = next(_generations(folder)[0].rglob("hnsw_config.json")).read_text(encoding="utf-8")
        assert '"m":16' in config.replace(" ", "")


def test_an_index_without_passages_settles(tmp_path: Path) -> None:
    with Index.make(tmp_path / "index", RECIPE.fingerprint) as index:
        _build(tmp_path / "index")
        assert index.lexical([("ant", 1.0)], 3) == ()
        assert index.check() == ()


# ── built anew, read-only, of another version ────────────────────────────────────────────────────────────


def test_readers_keep_what_they_have_until_the_index_that_is_built_anew_is_complete(
    folder: Path, expected, reader: Index
) -> None:
    assert _found(reader) == _kinds(expected)
    erase(folder)
    assert _found(reader) == _kinds(expected)
    with Index.make(folder, RECIPE.fingerprint) as index:
        _put(index, 1, version="rebuilt")
        assert _found(reader) == _kinds(expected)
        index.settle()
        assert [p.document for p, _ in reader.lexical([("rebuilt", 1.0)], 5)] == ["d001"]
        assert reader.count() == 1
        assert (_ranked(reader), reader.check()) == (_ranked(index), ())


def test_a_reader_of_an_index_that_is_built_anew_with_another_encoder_is_told(
    folder: Path, reader: Index
) -> None:
    erase(folder)
    Index.make(folder, Fingerprint("other", 32, "words", "c", ANALYSER)).close()
    with pytest.raises(MismatchError, match="encoder"):
        _found(reader)


def test_where_nothing_can_be_written_the_copy_lies_elsewhere(
    folder: Path, expected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    (folder / "readers").write_text("in the way", encoding="utf-8")
    with _opened(folder) as reader:
        assert _found(reader) == _kinds(expected)
        assert len(list(elsewhere.rglob("segments"))) == 1
    assert not list(elsewhere.rglob("segments"))
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    (elsewhere / "distinguo-12345").mkdir()
    with _opened(folder) as reader, pytest.raises(DataError, match="belongs to somebody else"):
        _found(reader)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "readers"))
    with _opened(folder) as reader, pytest.raises(DataError, match="TMPDIR"):
        _found(reader)


def test_an_index_of_version_two_is_refused_tells_its_sources_and_can_be_built_anew(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.executescript("""
        PRAGMA journal_mode = WAL;
        CREATE TABLE manifest (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
        INSERT INTO manifest VALUES ('schema', 2);
        CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT, source TEXT);
        INSERT INTO documents (id, source)
            VALUES ('b', '/x/b.md'), ('a', '/x/a.md'), ('c', ''), ('d', '/x/a.md');
    """)
    connection.close()
    with pytest.raises(MismatchError, match=r"version 2.*distinguo index --rebuild"):
        _opened(tmp_path)
    assert sources_of(tmp_path) == ("/x/a.md", "/x/b.md")
    erase(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    with pytest.raises(DataError, match="no index file"):
        sources_of(tmp_path)


def test_sources_are_the_roots_where_they_are_known(folder: Path) -> None:
    with Index.make(folder, RECIPE.fingerprint) as index:
        index.keep_roots(["/docs"])
    assert sources_of(folder) == ("/docs",)


def test_what_was_opened_while_it_was_made_anew_is_refused(folder: Path, monkeypatch) -> None:
    def slow(path: Path, mode):
        monkeypatch.undo()
        connection = connect(path, mode)
        erase(folder)
        Index.make(folder, RECIPE.fingerprint).close()
        return connection

    monkeypatch.setattr("distinguo.backends.index.truth.connect", slow)
    with pytest.raises(DataError, match="made anew while it was opened"):
        _opened(folder)


def test_a_generation_is_private_and_whole(folder: Path, reader: Index) -> None:
    (path,) = _generations(folder)
    modes = {file.stat().st_mode & 0o777 for file in path.rglob("*") if file.is_file()}
    assert modes == {0o600}
    assert Generation.parse(reader._truth.generation).is_sound(path)


def test_the_builder_is_a_program(folder: Path) -> None:
    before = _generations(folder)
    done = subprocess.run(
        [sys.executable, "-m", building.__name__, str(folder / FILE)],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.startswith("0 ")
    assert _generations(folder) != before


def test_a_generation_that_is_cleared_away_just_now_gives_way_to_the_next(
    folder: Path, expected, reader: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(generation: Generation, source: Path, target: Path) -> None:
        monkeypatch.undo()
        _build(folder)
        generation.copy(source, target)

    monkeypatch.setattr(Generation, "copy", late)
    assert _ranked(reader) == expected
    assert [path.stat().st_nlink for path in _copies(folder)[0].rglob("matrix.dat")] == [2]
