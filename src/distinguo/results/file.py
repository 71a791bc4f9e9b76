"""Append-only result files: what a run was made with, and a line for every question that has ended.

::

    {"distinguo": {"format": 1, …}}            the fingerprint: what makes the results what they are
    {"segment": {"started": "…", …}}           one for every time that a run began or went on; never compared
    {"id": "q1", "state": "answered", …}       rows; of two rows of one question the later one counts
    {"ended": {"seconds": 12.5, …}}            the segment came to its end; one that was broken off has none
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, Self, cast, final

from distinguo.errors import DataError, MismatchError
from distinguo.results.rows import Row
from distinguo.trace import Json

Fields = dict[str, Json]

FORMAT: Final = 1
SAFE_EVERY: Final = 16
"""Rows after which the disk is made to write: what a power cut can lose. A killed process loses no row."""


@final
@dataclass(frozen=True, slots=True)
class Results:
    """What a result file holds.

    Attributes:
        header: the run's fingerprint.
        segments: when and where it was run, piece by piece, and what is known since a piece came to its end.
        rows: the last row of every question, in the order in which questions first ended.
    """

    header: Fields
    segments: tuple[Fields, ...]
    rows: tuple[Row, ...]


@final
class ResultFile:
    """A result file to append to; one at a time holds it. `rows` are those that are there, by question."""

    def __init__(self, path: Path, file: int, rows: dict[str, Row], size: int) -> None:
        """Use `open` instead."""
        self.path, self.rows = path, rows
        self._file, self._size, self._unsafe = file, size, 0

    @staticmethod
    def read(path: Path) -> Results:
        """What is in the file at `path`; a last line that was cut off does not count. Raises `DataError`."""
        try:
            return _parsed(path.read_bytes(), path)
        except OSError as error:
            raise DataError(f"cannot read the results {str(path)!r}: {error.strerror}") from error

    @classmethod
    def open(cls, path: Path, header: Mapping[str, Json]) -> Self:
        """The file at `path`, to append to; a new one where there is none. `header` is the run's fingerprint.

        Raises:
            MismatchError: the file is of another run; the first part that differs is named.
            DataError: it is no result file, is damaged, is in use, or cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):  # a device or a pipe may have no end to read to
                raise DataError(f"cannot append results to {str(path)!r}: it is no regular file")
            _lock(file, path)
            return cls._continued(path, file, {"format": FORMAT, **header})
        except BaseException:
            os.close(file)
            raise

    @classmethod
    def _continued(cls, path: Path, file: int, header: Fields) -> Self:
        """The file that `file` has open, checked, without a last line that was cut off."""
        first = _line({"distinguo": header})
        content = path.read_bytes()
        size = content.rfind(b"\n") + 1
        if not size and first.startswith(content):  # new, or killed while its first line was written
            held = cls(path, file, {}, 0)
            held._cut()
            held._write({"distinguo": header})
            return held
        found = _parsed(content, path)
        if (difference := first_difference(found.header, header)) is not None:
            name, there, here = difference
            raise MismatchError(
                f"the results {str(path)!r} were made with {name} {there!r}, and now it is {here!r}; "
                "give another --out, or run with what it was made with"
            )
        held = cls(path, file, {row.id: row for row in found.rows}, size)
        held._cut()
        return held

    def begin(self, segment: Mapping[str, Json]) -> None:
        """Note when and where a piece of the run begins. Raises `DataError`."""
        self._write({"segment": dict(segment)})

    def end(self, known: Mapping[str, Json]) -> None:
        """Note what is known of the piece that has come to its end. Raises `DataError`."""
        self._write({"ended": dict(known)})

    def append(self, row: Row) -> None:
        """Add `row`; on return it outlives the process. Raises `DataError`, and then nothing was added."""
        self._write(row.as_json())
        self.rows[row.id] = row
        self._unsafe += 1
        if self._unsafe >= SAFE_EVERY:
            self._sync()

    def close(self) -> None:
        """Make all rows safe and let the file go. A second call does nothing. Raises `DataError`."""
        if self._file < 0:
            return
        try:
            self._sync()
        finally:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, value: Fields) -> None:
        line = _line(value)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            self._cut()
            raise _unwritable(self.path, error) from error
        self._size += len(line)

    def _cut(self) -> None:
        """Take away what stands behind the last whole line."""
        with suppress(OSError):  # then the next reader does
            os.ftruncate(self._file, self._size)

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._unsafe = 0


def first_difference(there: Json, here: Json, name: str = "") -> tuple[str, Json, Json] | None:
    """Where two JSON values first differ: the dotted name, and both values (None: it is not there)."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in (*here, *(there.keys() - here.keys())):
            inner = f"{name}.{key}" if name else key
            if (found := first_difference(there.get(key), here.get(key), inner)) is not None:
                return found
        return None
    return None if there == here else (name, there, here)


def _parsed(content: bytes, path: Path) -> Results:
    lines = _lines(content, path)
    header = next((fields.get("distinguo") for _, fields in lines), None)
    if not isinstance(header, dict):
        raise DataError(f"{str(path)!r} is no result file: its first line is no fingerprint of a run")
    if header.get("format") != FORMAT:
        raise MismatchError(
            f"the results {str(path)!r} have format {header.get('format')!r}; "
            f"this version of Distinguo reads {FORMAT}"
        )
    segments: list[Fields] = []
    rows: dict[str, Row] = {}
    for number, fields in lines:
        if "distinguo" in fields:
            raise DataError(
                f"the results {str(path)!r} have a second fingerprint at line {number}: files of runs are "
                "not put together; give each of them to `distinguo score`"
            )
        if isinstance(segment := fields.get("segment"), dict):
            segments.append(segment)
            continue
        if isinstance(ended := fields.get("ended"), dict) and segments:
            segments[-1] = {**segments[-1], **ended}
            continue
        try:
            row = Row.of_json(fields)
        except DataError as error:
            raise DataError(f"the results {str(path)!r} are damaged at line {number}: {error}") from error
        rows[row.id] = row
    return Results(header, tuple(segments), tuple(rows.values()))


def _lines(content: bytes, path: Path) -> Iterator[tuple[int, Fields]]:
    """The whole lines, with their numbers."""
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            value: object = json.loads(line, parse_constant=_refuse)
        except ValueError as error:
            raise DataError(f"the results {str(path)!r} are damaged at line {number}: {error}") from error
        if not isinstance(value, dict):
            raise DataError(f"the results {str(path)!r} are damaged at line {number}: no JSON object")
        yield number, cast("Fields", value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _line(value: Fields) -> bytes:
    """`value` as a line. A lone surrogate in a model's reply becomes its JSON escape."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _lock(file: int, path: Path) -> None:
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise DataError(
            f"another run is writing to {str(path)!r}; wait until it ends, or give another --out"
        ) from error


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"cannot write the results {str(path)!r}: {error.strerror}; "
        "make room or give another --out, then run again: what is done is kept"
    )
