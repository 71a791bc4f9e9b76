"""Generations: optimised engines on disk that never change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self, cast, final
from zlib import crc32

from distinguo.backends.index.folders import Held
from distinguo.errors import DataError

FOLDER: Final = "generations"

# The engine maps these files for reading alone and never writes them, so that copies can share them.
_SHARED: Final = ("matrix.dat", "links_compressed.bin")
_CHUNK: Final = 2**24


@final
@dataclass(frozen=True, slots=True)
class Generation:
    """What the truth's manifest says of the generation in force.

    Attributes:
        name: of its folder.
        sequence: the last change that it holds.
        count: its passages.
        size: bytes of its files.
        checksum: of their names and contents.
    """

    name: str
    sequence: int
    count: int
    size: int
    checksum: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The generation that `as_text` wrote."""
        return cls(**cast("dict[str, int]", json.loads(text)))  # pyright: ignore[reportArgumentType]

    @classmethod
    def measured(cls, folder: Path, *, sequence: int, count: int) -> Self:
        """The generation that was made in `folder`."""
        return cls(folder.name, sequence, count, _size(folder), _checksum(folder))

    def as_text(self) -> str:
        """For the manifest."""
        return json.dumps(asdict(self))

    def is_sound(self, folder: Path) -> bool:
        """Whether every byte in `folder` is as it was made."""
        try:
            held = Held.shared(folder)
        except OSError:
            return False
        try:
            return _size(folder) == self.size and _checksum(folder) == self.checksum
        except OSError:
            return False
        finally:
            held.close()

    def copy(self, folder: Path, target: Path) -> None:
        """Copy it from `folder` to `target`, which must not be there yet; it shares what never changes.

        Raises:
            DataError: files are missing or of other sizes.
            OSError: it is gone, or cannot be read or written.
        """
        held = Held.shared(folder)
        try:
            if _size(folder) != self.size:
                raise DataError(f"the generation {str(folder)!r} is damaged: files are lost or cut")
            for path in (folder, *_paths(folder)):
                place = target / path.relative_to(folder)
                if path.is_dir():
                    place.mkdir(mode=0o700)
                else:
                    _copy(path, place)
        finally:
            held.close()


def _paths(folder: Path) -> Iterator[Path]:
    """All folders and files below `folder`, in one order, and each folder before what is in it."""
    return iter(sorted(folder.rglob("*")))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in _paths(folder) if path.is_file())


def _checksum(folder: Path) -> int:
    checksum = 0
    for path in _paths(folder):
        checksum = crc32(str(path.relative_to(folder)).encode(), checksum)
        if path.is_file():
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    checksum = crc32(chunk, checksum)
    return checksum


def _copy(source: Path, target: Path) -> None:
    if source.name in _SHARED:
        try:
            return target.hardlink_to(source)
        except OSError:  # another disk, or one without links
            pass
    with source.open("rb") as old, target.open("xb") as new:
        size = os.fstat(old.fileno()).st_size
        os.truncate(new.fileno(), size)
        for start, end in _filled(old.fileno(), size):
            _copy_range(old.fileno(), new.fileno(), start, end)
    return None


def _filled(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file is no hole: the engine makes large files and fills them later."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError:  # no data after `end`
            return
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end


def _copy_range(old: int, new: int, start: int, end: int) -> None:
    while start < end:
        start += os.copy_file_range(old, new, end - start, start, start)
