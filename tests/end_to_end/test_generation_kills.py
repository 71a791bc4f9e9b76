"""Processes search while one changes and one builds, and any is killed: this file is those programs too."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from distinguo.backends.index import copies
from distinguo.backends.index.index import Index
from distinguo.backends.index.rows import Change, content_of
from distinguo.indexing.build import Recipe
from distinguo.records import Document, Passage
from distinguo.testing import HashEncoder, WordTokeniser

ENCODER = HashEncoder(64)
FINGERPRINT = Recipe(ENCODER, WordTokeniser()).fingerprint
GROUP = 9
"""Documents that are always changed together: a search that finds two versions of them saw half a commit."""
FILLING = 300
KILLS = 20
SEED = 3


def _change(id_: str, text: str) -> Change:
    return Change(Document(id_, text), (Passage(f"{id_}#1", text, "", id_, "", 0, len(text)),))


def _commit(index: Index, changes: list[Change]) -> None:
    texts = {content_of(p): p.text for change in changes for p in change.passages}
    index.keep_vectors(list(zip(texts, ENCODER.encode(list(texts.values()), "passage"), strict=True)))
    index.replace(changes)


def write(folder: Path, versions: int) -> None:
    """Commit version after version of the group, and let them settle now and then."""
    copies.LEAST, copies.SHARE = 5 * GROUP, 0.0
    with Index.make(folder, FINGERPRINT) as index:
        first = max((_version(passage) for passage, _ in _group(index)), default=0) + 1
        if first == 1:
            _commit(index, [_change(f"f{n:03}", f"filling word{n}") for n in range(FILLING)])
        print(first, flush=True)
        for version in range(first, first + versions):
            _commit(index, [_change(f"g{n}", f"group version{version} part{n}") for n in range(GROUP)])
            print(version, flush=True)
            if version % 5 == 0:
                index.settle()


def _version(passage: Passage) -> int:
    return int(passage.text.split()[1].removeprefix("version"))


def _group(index: Index):
    return index.lexical([("group", 1.0)], 2 * GROUP)


def look(index: Index, *, at_least: int = 0) -> int:
    """The version that searches find: by words the group whole, and by meaning its best, of no older one."""
    by_words = [passage for passage, _ in _group(index)]
    versions = {_version(passage) for passage in by_words}
    assert len(versions) <= 1, f"a search found half a commit: {versions}"
    if not versions:
        return 0
    assert sorted(passage.id for passage in by_words) == [f"g{n}#1" for n in range(GROUP)]
    (version,) = versions
    assert version >= at_least, f"version {version} was found after {at_least}"
    (best, _), *_ = index.dense(ENCODER.encode(["group part3"], "query")[0], 3)
    assert best.id == "g3#1"
    now = _version(best)
    assert now >= version
    return now


def read(folder: Path, until: int) -> None:
    """Search until a version is found; tell how often, and how long the longest search took."""
    times: list[float] = []
    with Index.open(folder, encoder=FINGERPRINT.encoder) as index:
        version = look(index)
        print("ready", flush=True)
        while version < until:
            began = time.perf_counter()
            version = look(index, at_least=version)
            times.append(time.perf_counter() - began)
        assert index.check() == ()
    print(json.dumps({"searches": len(times), "worst": max(times), "median": sorted(times)[len(times) // 2]}))


@contextmanager
def _running(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, __file__, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as child:
        try:
            yield child
        finally:
            child.kill()


def _written(folder: Path, versions: int) -> None:
    with _running("write", folder, versions) as child:
        child.communicate(timeout=60)
        assert child.returncode == 0


def _line(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def _is_whole(index: Index) -> None:
    """What is found is the truth: every passage by its vector, and the group by its words."""
    assert index.check() == ()
    texts = {passage.text for passage, _ in index.dense(np.ones(ENCODER.dimension, "f4"), 10_000)}
    assert {f"filling word{n}" for n in range(FILLING)} <= texts
    assert len(texts) == index.count() == FILLING + (GROUP if look(index) else 0)


def test_every_search_sees_one_commit_while_others_write_build_and_search(tmp_path: Path) -> None:
    folder, versions = tmp_path / "index", 30
    _written(folder, 1)
    with _running("read", folder, versions) as one, _running("read", folder, versions) as two:
        assert [_line(one), _line(two)] == ["ready", "ready"]
        with _running("write", folder, versions) as writer:
            writer.communicate(timeout=120)
            assert writer.returncode == 0
        told = [json.loads(reader.communicate(timeout=60)[0]) for reader in (one, two)]
    assert all(reader.returncode == 0 for reader in (one, two))
    assert all(reader["searches"] > versions for reader in told), told
    with Index.open(folder, encoder=FINGERPRINT.encoder) as index:
        _is_whole(index)


def test_twenty_kills_amid_commits_and_builds_leave_searches_right(tmp_path: Path) -> None:
    rng, folder = random.Random(SEED), tmp_path / "index"
    _written(folder, 1)
    acknowledged = kills = 0
    with Index.open(folder, encoder=FINGERPRINT.encoder) as reader:
        for _ in range(KILLS):
            with _running("write", folder, 10_000) as writer:
                acknowledged = max(acknowledged, int(_line(writer)) - 1)
                deadline = time.monotonic() + rng.uniform(0.0, 0.8)
                while time.monotonic() < deadline:
                    look(reader, at_least=acknowledged)
                writer.kill()
                said = writer.communicate()[0].split()
                kills += writer.returncode == -9
            acknowledged = max([acknowledged, *map(int, said)])
            assert look(reader) >= acknowledged
            with Index.open(folder, encoder=FINGERPRINT.encoder) as fresh:
                _is_whole(fresh)
                assert look(fresh) == look(reader)
    assert kills == KILLS
    generations = {path.name for path in (folder / "generations").iterdir()}
    assert len(generations) > 0, "no build was ever reached"


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9])
def test_a_builder_that_is_killed_leaves_the_generation_before_in_force(tmp_path: Path, share: float) -> None:
    folder = tmp_path / "index"
    _written(folder, 10)
    command = [sys.executable, "-m", "distinguo.backends.index.building", str(folder / "truth.sqlite")]
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - began
    (before,) = (folder / "generations").iterdir()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as builder:
        try:
            builder.wait(timeout=share * whole)
        except subprocess.TimeoutExpired:
            builder.kill()
    with Index.open(folder, encoder=FINGERPRINT.encoder) as index:
        _is_whole(index)
        assert index._truth.generation
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    (after,) = (folder / "generations").iterdir()
    assert after != before


if __name__ == "__main__":
    task, place, number = sys.argv[1:]
    {"write": write, "read": read}[task](Path(place), int(number))
