"""The file of an index: how SQLite opens it, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from distinguo.backends.index.tables import TABLES
from distinguo.errors import DataError

Mode = Literal["read", "write"]

_PATIENCE: Final = 60.0  # seconds; a commit of another process takes milliseconds
_MAPPED: Final = 2**36
_SIDES: Final = ("-wal", "-shm", "-journal")
_DAMAGED: Final = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def translated(name: str) -> Generator[None]:
    """Errors of SQLite as `DataError`s that name the file."""
    try:
        yield
    except (UnicodeError, OverflowError) as error:
        raise DataError(f"the index file {name!r} cannot hold a text or number: {error}") from error
    except (sqlite3.Error, OSError) as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF in _DAMAGED:
            raise damaged(name, str(error)) from error
        raise DataError(
            f"the index file {name!r} failed: {error}. What was committed before is whole; "
            "free space or mend the disk, and try again"
        ) from error


def damaged(name: str, why: str) -> DataError:
    """The refusal of a file that is not what it should be."""
    return DataError(
        f"{name!r} is no index, or a damaged one: {why}. Build the index anew: distinguo index --rebuild"
    )


def create(path: Path, manifest: dict[str, object]) -> None:
    """Make the tables at `path`, whole or not at all; only their owner can read them."""
    new = path.with_suffix(".new")
    # SQLite would replay what an earlier index left beside a file of this name into the new one.
    for stale in (new, *sides(new), *sides(path)):
        stale.unlink(missing_ok=True)
    os.close(os.open(new, os.O_CREAT | os.O_EXCL, 0o600))
    connection = connect(new, "write")
    try:
        connection.executescript(f"BEGIN;{TABLES}")
        connection.executemany("INSERT INTO manifest VALUES (?, ?)", manifest.items())
        connection.commit()
    finally:
        connection.close()
    new.replace(path)


def connect(path: Path, mode: Mode) -> sqlite3.Connection:
    """A connection to what is at `path`. Raises `DataError` if nothing is."""
    if not path.exists():
        raise DataError(f"there is no index file {str(path)!r}")
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?{_access(path, mode)}",
        uri=True,
        timeout=_PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute(f"PRAGMA mmap_size = {_MAPPED}")  # rows are read in half the time
    if mode == "write":
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
    return connection


def _access(path: Path, mode: Mode) -> str:
    """Nothing can be made beside a file on a read-only disk, and nobody writes it: SQLite must be told."""
    if mode == "write":
        return "mode=rw"
    is_read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    is_whole = not any(side.exists() and side.stat().st_size for side in sides(path))
    return "immutable=1" if is_read_only and is_whole else "mode=ro"


def sides(path: Path) -> list[Path]:
    """The files that SQLite keeps beside `path`."""
    return [path.with_name(path.name + side) for side in _SIDES]
