"""An index survives kills and a full disk: this file is also the program that is killed."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from distinguo.backends.index.index import Index
from distinguo.backends.index.rows import content_of
from distinguo.backends.index.truth import Truth
from distinguo.documents.chunking import Chunking, chunk
from distinguo.errors import DataError
from distinguo.indexing.build import Recipe, build
from distinguo.records import Document, Passage, Role
from distinguo.testing import HashEncoder, WordTokeniser

KILLS = 20
SEED = 7


class Logged:
    """An encoder that writes down, durably and before it answers, which texts it was asked for."""

    fingerprint, dimension = HashEncoder().fingerprint, HashEncoder().dimension

    def __init__(self, log: Path) -> None:
        self._log = log

    def encode(self, texts: Sequence[str], role: Role):
        with self._log.open("a", encoding="utf-8") as file:
            file.writelines(f"{content_of(Passage('', text))}\n" for text in texts)
            file.flush()
            os.fsync(file.fileno())
        return HashEncoder().encode(texts, role)


def _recipe(log: Path) -> Recipe:
    return Recipe(Logged(log), WordTokeniser(), Chunking(12, 3), batch=16)


def _documents(version: int) -> list[Document]:
    """Some documents stay as they were, some change, some come and some go from one version to the next."""
    rng = random.Random(SEED)
    documents: list[Document] = []
    for n in range(400):
        words = [f"word{int(rng.random() ** 2 * 900)}" for _ in range(rng.randint(3, 60))]
        if n % 4 == 1:
            words.insert(len(words) // 2, f"version{version}")
        if n % 4 != 2 + version:
            documents.append(Document(f"d{n:03}", ". ".join(words) + ".", meta=(("n", n),)))
    return documents


def _build(folder: Path, log: Path, version: int) -> None:
    recipe = _recipe(log)
    with Index.make(folder, recipe.fingerprint) as index:
        print("ready", flush=True)
        build(index, _documents(version), recipe, missing="delete")


def _contents(index: Index) -> dict[str, bytes]:
    """Every passage with its vector."""
    ids = [passage.id for passage, _ in index.dense(np.ones(Logged.dimension, "f4"), 10**6)]
    return {id_: vector.tobytes() for id_, vector in zip(ids, index.vectors(ids), strict=True)}


def _found(index: Index) -> list[object]:
    encoder = HashEncoder()
    texts = [f"word{n} version1" for n in range(0, 60, 3)]
    return [
        *(index.lexical([(text, 1.0)], 10) for text in texts),
        *(index.dense(encoder.encode([text], "query")[0], 10) for text in texts),
    ]


def _kill_after(folder: Path, log: Path, seconds: float) -> bool:
    """Build version 1 in a child, and kill it so long after it began; whether it was still at work."""
    command = [sys.executable, __file__, str(folder), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        try:
            child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
        return child.wait() == -9


def test_twenty_kills_lose_nothing_committed_and_repeat_no_embedding(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    folder, log, unused = tmp_path / "killed", tmp_path / "log", tmp_path / "unused"
    _build(folder, tmp_path / "first", version=0)
    shutil.copytree(folder, tmp_path / "unbroken")

    recipe = _recipe(unused)
    passages = [p for d in _documents(1) for p in chunk(d, recipe.chunking, recipe.tokeniser)]
    wanted = {content_of(passage) for passage in passages}
    kept: set[str] = set()
    kills = 0
    for _ in range(KILLS):
        log.write_bytes(b"")
        kills += _kill_after(folder, log, rng.uniform(0.0, 0.2))
        asked = log.read_text(encoding="utf-8").split()
        assert not kept & set(asked)
        assert len(set(asked)) == len(asked)
        with Index.open(folder, encoder=Logged.fingerprint) as index:
            assert index.check() == ()
            kept = wanted - index.unknown(wanted)
            whole = index.hashes().keys()
            for document in _documents(1)[:40]:
                if document.id in whole:
                    index.passages([f"{document.id}#1"])
    assert kills >= KILLS // 2, "the build is too short to be killed"

    log.write_bytes(b"")
    _build(folder, log, version=1)
    assert not kept & set(log.read_text(encoding="utf-8").split())
    _build(tmp_path / "unbroken", unused, version=1)
    with (
        Index.open(folder, encoder=Logged.fingerprint) as killed,
        Index.open(tmp_path / "unbroken", encoder=Logged.fingerprint) as unbroken,
    ):
        assert killed.check() == unbroken.check() == ()
        assert killed.hashes() == unbroken.hashes()
        assert _contents(killed) == _contents(unbroken)
        assert _found(killed) == _found(unbroken)
        assert killed.count() == len(passages)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of 160 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160m,mode=700", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs (needs root): {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(disk: Path, *, leave: int = 0) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while (free := shutil.disk_usage(disk).free - leave) > 0:
                file.write(b"x" * min(free, 2**20))
        except OSError:
            pass
    return ballast


@pytest.mark.parametrize("leave", [0, 4096, 2**20, 24 * 2**20])
def test_a_full_disk_is_a_clear_error_and_loses_nothing(small_disk: Path, tmp_path: Path, leave: int) -> None:
    folder, recipe, documents = small_disk / "index", _recipe(tmp_path / "log"), _documents(0)
    with Index.make(folder, recipe.fingerprint) as index:
        build(index, documents[:50], recipe)
        before = _contents(index)
        ballast = _fill(small_disk, leave=leave)
        with pytest.raises(DataError, match="is full"):
            build(index, documents, recipe)
        assert _contents(index) == before
        assert index.lexical([(documents[0].text, 1.0)], 1)[0][0].document == documents[0].id
        assert index.check() == ()
    with Index.open(folder, encoder=Logged.fingerprint) as index:
        assert _contents(index) == before
    ballast.unlink()
    with Index.make(folder, recipe.fingerprint) as index:
        assert _contents(index) == before
        assert build(index, documents, recipe).unchanged == 50
        assert index.check() == ()


def _remount(disk: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(disk)], check=True)


def test_an_index_on_a_read_only_disk_can_be_searched(small_disk: Path, tmp_path: Path) -> None:
    folder, recipe, documents = small_disk / "index", _recipe(tmp_path / "log"), _documents(0)
    with Index.make(folder, recipe.fingerprint) as index:
        build(index, documents[:50], recipe)
        before, found = _contents(index), _found(index)
        shutil.copytree(folder, small_disk / "killed")  # its log is not yet in its file
        (small_disk / "killed" / "truth.sqlite-shm").unlink()
    _remount(small_disk, "ro")
    try:
        with Index.open(folder, encoder=Logged.fingerprint) as index:
            assert (_contents(index), _found(index), index.check()) == (before, found, ())
        for change in (
            lambda: Index.make(folder, recipe.fingerprint),
            lambda: Index.open(small_disk / "killed", encoder=Logged.fingerprint),
        ):
            with pytest.raises(DataError, match=str(small_disk)):
                change()
    finally:
        _remount(small_disk, "rw")
    with Index.open(small_disk / "killed", encoder=Logged.fingerprint) as index:
        assert _contents(index) == before


def test_a_commit_that_finds_the_disk_full_half_way_is_taken_back(small_disk: Path) -> None:
    truth = Truth.create(small_disk / "truth.sqlite", _recipe(small_disk / "log").fingerprint)
    truth.keep_vectors([("before", b"x" * 1024)])
    ballast = _fill(small_disk, leave=2**20)
    with pytest.raises(DataError, match="full"):
        truth.keep_vectors((f"during {n}", b"x" * 1024) for n in range(4096))
    assert truth.vectors(["before", "during 0"]) == {"before": b"x" * 1024}
    assert not list(truth.faults())
    ballast.unlink()
    truth.keep_vectors([("after", b"x")])
    assert truth.vectors(["after"]) == {"after": b"x"}
    truth.close()


if __name__ == "__main__":
    _build(Path(sys.argv[1]), Path(sys.argv[2]), version=1)
