"""Keep every reply on disk, so that no call is paid for twice."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar, final

from distinguo.errors import ConfigError, DataError, DistinguoError, MismatchError
from distinguo.private import make_folder
from distinguo.trace import Json, note

Request = TypeVar("Request")
Result = TypeVar("Result")

KEY_VERSION: Final = 1
"""Part of every key: raised when a request's meaning or a kept reply's form changes."""

FILE_NAME: Final = "calls.sqlite"
FORMAT: Final = 1
SCHEMA: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, text TEXT NOT NULL, made REAL NOT NULL);
PRAGMA user_version = {FORMAT};
COMMIT;
"""
LOCK_WAIT: Final = 30.0
"""Seconds to wait for another process that writes."""

_log = logging.getLogger(__name__)


@final
@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds: `entries` replies, `bytes` on disk."""

    path: Path
    entries: int
    bytes: int


@final
class CallCache:
    """Texts by key in one SQLite file, for many threads and many processes of one machine.

    What `put` has returned from outlives a killed process and a power cut. The first text of a key stays.
    Keep the folder on a local disk: SQLite's locks do not hold on network file systems.
    """

    def __init__(self, folder: Path, *, now: Callable[[], float] = time.time) -> None:
        """Open the cache in `folder`, made if need be; folder and file are private to the user.

        Raises:
            ConfigError: the folder cannot be written.
            DataError: the file is damaged or not a cache, or the disk is full.
        """
        self.path: Final = folder / FILE_NAME
        self._now = now
        self._lock = threading.Lock()
        with _translated(self.path):
            self._database = _open(self.path)

    def get(self, key: str) -> str | None:
        """The text under `key`. Raises `DataError`."""
        with self._using() as database:
            row = database.execute("SELECT text FROM calls WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, text: str) -> None:
        """Keep `text` under `key`; on return it is safe on the disk. Raises `DataError`."""
        with self._using() as database:
            database.execute("INSERT OR IGNORE INTO calls VALUES (?, ?, ?)", (key, text, self._now()))

    def replace(self, key: str, text: str) -> None:
        """Keep `text` under `key`, in place of what is there. Raises `DataError`."""
        with self._using() as database:
            database.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?)", (key, text, self._now()))

    def info(self) -> CacheInfo:
        """How much is kept."""
        with self._using() as database:
            entries = int(database.execute("SELECT count(*) FROM calls").fetchone()[0])
            size = sum(file.stat().st_size for file in self.path.parent.glob(f"{FILE_NAME}*"))
        return CacheInfo(self.path, entries, size)

    def clear(self, older_than: float | None = None) -> int:
        """Forget all replies, or those that are `older_than` seconds old; returns how many."""
        with self._using() as database:
            if older_than is None:
                forgotten = database.execute("DELETE FROM calls").rowcount
            else:
                until = self._now() - older_than
                forgotten = database.execute("DELETE FROM calls WHERE made <= ?", (until,)).rowcount
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return forgotten

    def close(self) -> None:
        """Let go of the file. Closing twice does nothing more."""
        with self._lock:
            self._database.close()

    @contextmanager
    def _using(self) -> Generator[sqlite3.Connection]:
        with self._lock, _translated(self.path):
            yield self._database


class Replies(Protocol):
    """Where texts are found by key, and kept."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    def get(self, key: str) -> str | None:
        """The text under `key`."""
        ...

    def put(self, key: str, text: str) -> None:
        """Keep `text` under `key`."""
        ...


@final
class Renewed:
    """A cache as if it were empty: what is asked through it takes the place of what was kept."""

    def __init__(self, cache: CallCache) -> None:
        self._cache, self._asked = cache, set[str]()

    @property
    def path(self) -> Path:
        """The file."""
        return self._cache.path

    def get(self, key: str) -> str | None:
        """The text under `key`, if it was put there through this. Raises `DataError`."""
        return self._cache.get(key) if key in self._asked else None

    def put(self, key: str, text: str) -> None:
        """Keep `text` under `key`, in place of what is there. Raises `DataError`."""
        self._cache.replace(key, text)
        self._asked.add(key)


@final
@dataclass(frozen=True, slots=True)
class Form(Generic[Request, Result]):
    """How the calls of a port are kept.

    Attributes:
        key: all of a request that bears on its result, the model's fingerprint included.
        write: a result as text.
        read: its inverse, but for marking the result as cached.
    """

    key: Callable[[Request], Json]
    write: Callable[[Result], str]
    read: Callable[[str], Result]


@final
@dataclass(slots=True)
class _Flight(Generic[Result]):
    """A call on its way, and how many wait for it."""

    task: asyncio.Task[Result]
    callers: int = 0


def cached(
    call: Callable[[Request], Awaitable[Result]], cache: Replies, form: Form[Request, Result]
) -> Callable[[Request], Awaitable[Result]]:
    """`call`, made once for equal requests: now, in other processes and on other days.

    Equal requests at the same time share one call, and its error, which is never kept. A reply that cannot be
    kept is returned all the same, and where the cache cannot be read the call is made; the log and the trace
    say so.
    """
    flights: dict[str, _Flight[Result]] = {}

    async def fetch(key: str, request: Request) -> Result:
        kept = await _find(cache, key)
        if kept is not None:
            return _read(kept, form, cache.path)
        result = await call(request)
        await _keep(cache, key, form.write(result))
        return result

    async def ask(request: Request) -> Result:
        key = key_of(form.key(request))
        flight = flights.get(key)
        is_first = flight is None
        if flight is None:
            flight = flights[key] = _Flight(asyncio.create_task(fetch(key, request)))
        flight.callers += 1
        try:
            result = await asyncio.shield(flight.task)
        finally:
            flight.callers -= 1
            if not flight.callers:
                del flights[key]
                await _end(flight.task)
        return result if is_first else form.read(form.write(result))

    return ask


def key_of(request: Json) -> str:
    """The sha256 of `request` as canonical JSON. Equal numbers are equal: 1 and 1.0 make one key."""
    text = json.dumps([KEY_VERSION, _canonical(request)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _canonical(value: Json) -> Json:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_canonical(item) for item in value]
        case dict():
            return {name: _canonical(item) for name, item in value.items()}
        case _:
            return value


def _read(text: str, form: Form[Request, Result], path: Path) -> Result:
    try:
        return form.read(text)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"the call cache {str(path)!r} holds a reply that cannot be read ({error!r}); "
            "empty it with `distinguo cache clear`"
        ) from error


async def _find(cache: Replies, key: str) -> str | None:
    try:
        return await asyncio.to_thread(cache.get, key)
    except DistinguoError as error:
        _log.warning("the call cache was passed over: %s", error)
        note("not looked up", error=str(error))
        return None


async def _keep(cache: Replies, key: str, text: str) -> None:
    try:
        await asyncio.to_thread(cache.put, key, text)
    except DistinguoError as error:
        _log.warning("a reply was used but not kept: %s", error)
        note("not kept", error=str(error))


async def _end(task: asyncio.Task[Result]) -> None:
    """Cancel `task` unless it is done, and see it end: nobody waits for it any more."""
    if not task.done():
        task.cancel()
        await asyncio.wait([task])


def _open(path: Path) -> sqlite3.Connection:
    make_folder(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite's side files take over this mode
    database = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None, check_same_thread=False)
    try:
        _prepare(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

    # When many processes open a new file at once, this statement fails without waiting its turn.
    Retrying(
        retry=retry_if_exception(_is_busy),
        stop=stop_after_delay(LOCK_WAIT),
        wait=wait_random(0, 0.02),
        reraise=True,
    )(database.execute, "PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    found = int(database.execute("PRAGMA user_version").fetchone()[0])
    if found not in (0, FORMAT):
        raise MismatchError(
            f"the call cache {str(path)!r} has format {found}, this version of Distinguo reads {FORMAT}; "
            "delete the file (replies will be asked for again), or set DISTINGUO_CACHE to another folder"
        )
    if not found:
        database.executescript(SCHEMA)


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and _code(error) == sqlite3.SQLITE_BUSY


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for errors of the module itself, such as use after closing."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def _translated(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise _of_system(error, path) from error
    except sqlite3.Error as error:
        raise _of_sqlite(error, path) from error


def _of_system(error: OSError, path: Path) -> DistinguoError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(path)
    return _unwritable(path, error.strerror or str(error))


def _of_sqlite(error: sqlite3.Error, path: Path) -> DistinguoError:
    match _code(error):
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_IOERR:  # also what a full disk is called, where it is met in a side file
            return _full(path, f"is full or fails ({error})")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return _unwritable(path, str(error))
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return DataError(
                f"the call cache {str(path)!r} is damaged ({error}); delete it and its -wal and -shm files: "
                "replies will be asked for again, nothing else is lost"
            )
        case _:
            return DataError(f"the call cache {str(path)!r} cannot be used: {error}")


def _full(path: Path, what: str = "is full") -> DataError:
    return DataError(
        f"the disk of the call cache {str(path)!r} {what}; free some space (that file may be deleted too), "
        "or set DISTINGUO_CACHE to a folder elsewhere"
    )


def _unwritable(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"the call cache folder {str(path.parent)!r} cannot be written ({why}); make it writable, or set "
        "DISTINGUO_CACHE to a folder that is"
    )
