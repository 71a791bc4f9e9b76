"""Room on the disk: what would fill it is refused before anything is written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from distinguo.errors import DataError

# The engine writes through memory maps, and a full disk under one kills the process (SIGBUS) instead of
# failing: nothing is written unless this much is free, besides several times the size of what comes.
_ROOM: Final = 32 * 2**20
_GROWTH: Final = 8
_FILLED_BY_READING: Final = {"tmpfs", "ramfs", "overlay"}  # the last one may lie on one of the others


def reserve(folder: Path, size: int) -> None:
    """Raise `DataError` unless the disk has room for `size` bytes of vectors and text."""
    _demand(folder, _ROOM + _GROWTH * size)


def reserve_copy(folder: Path, source: Path) -> None:
    """Raise `DataError` unless the disk of `folder` has room for a copy of the folder `source`."""
    sizes = [path.stat() for path in source.rglob("*") if path.is_file()]
    # The engine makes files large and fills them later; in memory, even to read a hole through a map takes
    # room, or is SIGBUS.
    is_filled = _is_filled_by_reading(folder)
    _demand(folder, sum(size.st_size if is_filled else 512 * size.st_blocks for size in sizes))


def _demand(folder: Path, needed: int) -> None:
    """Raise `DataError` unless the disk has `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DataError(
            f"the disk of {str(folder)!r} is full: {free >> 20} MiB are free, {needed >> 20} MiB are needed. "
            "What was committed before is whole; free space and try again"
        )


def _is_filled_by_reading(folder: Path) -> bool:
    """Whether `folder` is in memory."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux: no such file systems
        return False
    here = (mount for mount in mounts if mount.split()[2] == number)
    return any(mount.partition(" - ")[2].split()[0] in _FILLED_BY_READING for mount in here)
