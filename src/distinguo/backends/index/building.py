"""Builds a generation: in a process of its own, for the engine stops all threads of its process meanwhile."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from distinguo.backends.index.edge import Edge
from distinguo.backends.index.folders import Held, clear
from distinguo.backends.index.following import replay
from distinguo.backends.index.generations import FOLDER, Generation
from distinguo.backends.index.room import reserve
from distinguo.backends.index.truth import Truth
from distinguo.errors import DataError, DistinguoError
from distinguo.private import make_folder

_log: Final = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Is told how many passages are done, and of how many."""


def build_apart(truth: Path, progress: Progress) -> None:
    """Build a generation in a child process, and wait for it.

    Raises `DataError` if it fails; the generation before stays in force then, and nothing is lost but time.
    """
    command = [sys.executable, "-m", __name__, str(truth)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as child:
        try:
            for line in child.stdout or ():
                done, _, total = line.partition(" ")
                progress(int(done), int(total))
            said = child.stderr.read() if child.stderr else ""
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0:
        last = said.strip().rpartition("\n")[2]
        raise DataError(
            f"cannot build a generation of the index {str(truth.parent)!r} "
            f"(status {child.returncode}): {last or 'it was killed'}"
        )


def build(path: Path, progress: Progress) -> None:
    """Build a generation of what the truth at `path` now shows, and put it in force."""
    generations = path.parent / FOLDER
    make_folder(generations)
    with closing(Truth.open(path, "write")) as truth:
        clear(generations, lambda name: name in truth.generation)
        held = Held.new(generations)
        try:
            generation = _made(truth, held.path, progress)
            truth.keep_generation(generation.as_text())
        except BaseException:
            held.remove()
            raise
        held.close()
        clear(generations, lambda name: name == generation.name)


def _made(truth: Truth, folder: Path, progress: Progress) -> Generation:
    with truth.snapshot():
        sequence, count = truth.sequence, truth.count()
        reserve(folder, count * truth.fingerprint.dimension * 4)
        edge = Edge.create(folder / "engine", truth.fingerprint.dimension)
        replay(truth, edge, 0, progress)
    edge.close()
    Edge.optimise(folder / "engine", truth.fingerprint.dimension, count)
    for place in (folder, *folder.rglob("*")):
        _sync(place)
    _sync(folder.parent)
    return Generation.measured(folder, sequence=sequence, count=count)


def _sync(path: Path) -> None:
    path.chmod(0o700 if path.is_dir() else 0o600)
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _tell(done: int, total: int) -> None:
    sys.stdout.write(f"{done} {total}\n")
    sys.stdout.flush()


def _main(path: str) -> int:
    try:
        build(Path(path), _tell)
    except DistinguoError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))
