"""Keeps the search engine in step with the truth, whatever happened to it."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from distinguo.backends.index.edge import Edge
from distinguo.backends.index.engine import Point
from distinguo.backends.index.truth import Truth, searchable
from distinguo.errors import DataError
from distinguo.private import write_whole

_log: Final = logging.getLogger(__name__)

_BATCH: Final = 512  # passages on their way to the engine at once
# The engine writes through memory maps, and a full disk under one kills the process (SIGBUS) instead of
# failing: nothing is written unless this much is free, besides several times the size of what comes.
_ROOM: Final = 32 * 2**20
_GROWTH: Final = 8
_LOADING: Final = 2**20  # to load and search writes next to nothing
_FILLED_BY_READING: Final = {"tmpfs", "ramfs", "overlay"}  # the last one may lie on one of the others


def follower(folder: Path, truth: Truth) -> Edge:
    """The engine of `truth`, in step with it: caught up, or built anew if it is lost or damaged."""
    reached = applied(folder)
    if reached is not None and reached <= truth.sequence:  # one further on followed another truth
        _demand(folder, _LOADING + (_holes(_shard(folder)) if _is_filled_by_reading(folder) else 0))
        try:
            edge = Edge.load(_shard(folder))
        except DataError as error:
            _log.warning("the search engine in %s is damaged and is built anew: %s", folder, error)
        else:
            if reached < truth.sequence:
                reserve(folder, len(truth.changed_since(reached)) * truth.fingerprint.dimension * 4)
                follow(folder, truth, edge)
            if edge.count() == truth.count():
                return edge
            _log.warning("the search engine in %s lost passages and is built anew", folder)
            edge.close()
    return _build(folder, truth)


def follow(folder: Path, truth: Truth, edge: Edge) -> None:
    """Apply to the engine what it lacks, and record how far it came; `reserve` room for it before.

    To apply a change twice does no harm.
    """
    sequence = truth.sequence
    changed = truth.changed_since(applied(folder) or 0)
    for start in range(0, len(changed), _BATCH):
        _apply(changed[start : start + _BATCH], truth, edge)
    edge.flush()
    _record(folder, sequence)


def applied(folder: Path) -> int | None:
    """The last change that the engine holds; None if it was never whole."""
    try:
        return int((folder / "engine" / "applied").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def reserve(folder: Path, size: int) -> None:
    """Raise `DataError` unless the disk has room for `size` bytes of vectors and text."""
    _demand(folder, _ROOM + _GROWTH * size)


def _demand(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DataError(
            f"the disk of {str(folder)!r} is full: {free >> 20} MiB are free, {needed >> 20} MiB are needed. "
            "Nothing was changed; free space and try again"
        )


def _holes(folder: Path) -> int:
    """How many bytes files claim but do not have yet: the engine makes them large and fills them later."""
    sizes = (path.stat() for path in folder.rglob("*") if path.is_file())
    return sum(max(0, size.st_size - 512 * size.st_blocks) for size in sizes)


def _is_filled_by_reading(folder: Path) -> bool:
    """Whether `folder` is in memory, where even to read a hole through a map takes room, or is SIGBUS."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux: no such file systems
        return False
    here = (mount for mount in mounts if mount.split()[2] == number)
    return any(mount.partition(" - ")[2].split()[0] in _FILLED_BY_READING for mount in here)


def _build(folder: Path, truth: Truth) -> Edge:
    sequence, numbers = truth.sequence, truth.numbers()
    reserve(folder, len(numbers) * truth.fingerprint.dimension * 4)
    shutil.rmtree(folder / "engine", ignore_errors=True)
    (folder / "engine").mkdir(mode=0o700)
    edge = Edge.create(_shard(folder), truth.fingerprint.dimension)
    for start in range(0, len(numbers), _BATCH):
        _apply(numbers[start : start + _BATCH], truth, edge)
    edge.flush()
    _record(folder, sequence)
    return edge


def _apply(numbers: Sequence[int], truth: Truth, edge: Edge) -> None:
    """Bring these passages in the engine to what they are in the truth, deleted ones included."""
    rows = truth.rows(numbers)
    vectors = truth.vectors({row.content for row in rows})
    if lost := {row.content for row in rows} - vectors.keys():
        raise DataError(
            f"the index has lost the vectors of {len(lost)} texts: build it anew: distinguo index … --rebuild"
        )
    if rows:
        edge.upsert([Point(row.number, searchable(row.passage), vectors[row.content]) for row in rows])
    if gone := {*numbers} - {row.number for row in rows}:
        edge.delete(gone)


def _record(folder: Path, sequence: int) -> None:
    """Write the sequence whole or not at all; it lies beside the engine, and is lost with it."""
    path = folder / "engine" / "applied"
    try:
        write_whole(path, f"{sequence}\n".encode("ascii"))
    except OSError as error:
        raise DataError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _shard(folder: Path) -> Path:
    return folder / "engine" / "shard"
