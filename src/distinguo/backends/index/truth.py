"""The truth of an index in SQLite: documents, passages, vectors, and the log of what changed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Final, Self, cast, final

from distinguo.backends.index.fingerprint import Fingerprint
from distinguo.errors import DataError, MismatchError
from distinguo.records import Condition, Document, Meta, Passage, Scalar

SCHEMA: Final = 2
_SIDES: Final = ("-wal", "-shm", "-journal")
_DAMAGED: Final = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TABLES: Final = """
CREATE TABLE manifest (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hash BLOB NOT NULL,
    title TEXT NOT NULL, source TEXT NOT NULL, meta TEXT NOT NULL
);
-- Numbers are the engine's ids and never used twice: a hit out of date finds nothing, and no other text.
CREATE TABLE passages (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL REFERENCES documents, content TEXT NOT NULL REFERENCES vectors,
    text TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL
);
CREATE INDEX passages_by_document ON passages (document);
CREATE INDEX passages_by_content ON passages (content);
-- Vectors go by the hash of what was embedded: the same text is never embedded twice, wherever it moves.
CREATE TABLE vectors (content TEXT PRIMARY KEY, vector BLOB NOT NULL);
-- Metadata for filters. A text is TEXT, a number REAL and a boolean INTEGER, so that "1", 1 and true differ.
CREATE TABLE fields (
    field TEXT NOT NULL, value NOT NULL, document INTEGER NOT NULL REFERENCES documents,
    PRIMARY KEY (field, value, document)
) WITHOUT ROWID;
CREATE INDEX fields_by_document ON fields (document);
CREATE VIEW rows AS
    SELECT p.number, p.id, p.text, d.title, d.id AS document, d.source, p.start, p."end", d.meta, p.content
    FROM passages p JOIN documents d ON d.number = p.document;
-- A passage that is in the log and no longer in its table was deleted.
CREATE TABLE operations (sequence INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL);
"""


_COMPARE: Final = "SELECT document FROM fields WHERE field = ? AND typeof(value) = typeof(?) AND value "
_COMPARISONS: Final = {sign: f"{_COMPARE}{sign} ?" for sign in ("==", "<", "<=", ">", ">=")}


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A passage under its number, and the key of its vector."""

    number: int
    passage: Passage
    content: str


@final
@dataclass(frozen=True, slots=True)
class Change:
    """A document with all its passages, as it is to be from now on."""

    document: Document
    passages: tuple[Passage, ...]


def searchable(passage: Passage) -> str:
    """What is embedded and analysed of a passage: its title and its text."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def content_of(passage: Passage) -> str:
    """The key under which a passage's vector is kept."""
    return sha256(searchable(passage).encode()).hexdigest()


def hash_of(document: Document) -> bytes:
    """Equal for documents in which nothing differs."""
    return sha256(json.dumps(astuple(document)).encode()).digest()


@final
class Truth:
    """What is committed here is whole and stays. Every method raises `DataError` when SQLite fails.

    Not for several threads at once: the index that owns it lets one in at a time.
    """

    def __init__(self, connection: sqlite3.Connection, name: str, fingerprint: Fingerprint) -> None:
        self._connection = connection
        self._name = name
        self.fingerprint = fingerprint

    @classmethod
    def create(cls, path: Path, fingerprint: Fingerprint) -> Self:
        """A new, empty truth at `path`, which only its owner can read. Nothing is left there on failure."""
        new = path.with_suffix(".new")
        with _translated(str(path)):
            # SQLite would replay what an earlier index left beside a file of this name into the new one.
            for stale in (new, *_sides(new), *_sides(path)):
                stale.unlink(missing_ok=True)
            os.close(os.open(new, os.O_CREAT | os.O_EXCL, 0o600))
            connection = _connect(new)
            try:
                connection.executescript(f"BEGIN;{_TABLES}")
                rows = {"schema": SCHEMA, **asdict(fingerprint)}
                connection.executemany("INSERT INTO manifest VALUES (?, ?)", rows.items())
                connection.commit()
            finally:
                connection.close()
            new.replace(path)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The truth at `path`. Raises `MismatchError` if another version of Distinguo wrote it."""
        with _translated(str(path)):
            connection = _connect(path)
            try:
                manifest = _manifest(connection, str(path))
            except BaseException:
                connection.close()
                raise
        return cls(connection, str(path), manifest)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    @property
    def sequence(self) -> int:
        """The number of the last change."""
        return cast("int", self._ask("SELECT coalesce(max(sequence), 0) FROM operations")[0][0])

    def changed_since(self, sequence: int) -> list[int]:
        """Numbers of the passages that were added or deleted after `sequence`."""
        return [
            cast("int", number)
            for (number,) in self._ask(
                "SELECT DISTINCT passage FROM operations WHERE sequence > ? ORDER BY passage", sequence
            )
        ]

    def numbers(self) -> list[int]:
        """The numbers of all passages, in order."""
        return [cast("int", number) for (number,) in self._ask("SELECT number FROM passages ORDER BY number")]

    def rows(self, numbers: Iterable[int]) -> list[Row]:
        """Those of the passages that exist, in the order of their numbers."""
        sql = "SELECT * FROM rows WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number"
        return [_row(values) for values in self._ask(sql, json.dumps(list(numbers)))]

    def rows_of(self, ids: Iterable[str]) -> list[Row]:
        """Those of the passages with `ids` that exist, in no order."""
        sql = "SELECT * FROM rows WHERE id IN (SELECT value FROM json_each(?))"
        return [_row(values) for values in self._ask(sql, json.dumps(list(ids)))]

    def vectors(self, contents: Iterable[str]) -> dict[str, bytes]:
        """Vectors as little-endian float32, by content; what has none is left out."""
        sql = "SELECT content, vector FROM vectors WHERE content IN (SELECT value FROM json_each(?))"
        return dict(cast("list[tuple[str, bytes]]", self._ask(sql, json.dumps(list(contents)))))

    def hashes(self) -> dict[str, bytes]:
        """The hash of every document, by id."""
        return dict(cast("list[tuple[str, bytes]]", self._ask("SELECT id, hash FROM documents")))

    def field_names(self) -> list[str]:
        """The metadata fields of all documents, in order."""
        return [
            cast("str", name) for (name,) in self._ask("SELECT DISTINCT field FROM fields ORDER BY field")
        ]

    def has_field(self, field: str) -> bool:
        """Whether some document has the metadata field `field`."""
        return bool(self._ask("SELECT 1 FROM fields WHERE field = ? LIMIT 1", field))

    def meeting(self, where: Sequence[Condition]) -> set[int]:
        """Numbers of the passages whose documents meet all of `where`, which must not be empty."""
        first, *others = map(self._meeting, where)
        met = first.intersection(*others)
        sql = "SELECT number FROM passages WHERE document IN (SELECT value FROM json_each(?))"
        return {cast("int", number) for (number,) in self._ask(sql, json.dumps(list(met)))}

    def sources(self) -> dict[str, str]:
        """Where every document came from, by id."""
        return dict(cast("list[tuple[str, str]]", self._ask("SELECT id, source FROM documents")))

    def count(self) -> int:
        """The number of passages."""
        return cast("int", self._ask("SELECT count(*) FROM passages")[0][0])

    def faults(self) -> Iterator[str]:
        """What is broken, in plain words."""
        for (finding,) in self._ask("PRAGMA integrity_check"):
            if finding != "ok":
                yield f"SQLite: {finding}"
        for table, row, parent, _ in self._ask("PRAGMA foreign_key_check"):
            yield f"row {row} of {table} points to nothing in {parent}"

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def keep_vectors(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Commit vectors by content."""
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors)

    def replace(self, changes: Sequence[Change]) -> None:
        """Commit documents in place of those of the same ids. Their vectors must be there."""
        with self._transaction() as connection:
            for change in changes:
                _delete(connection, change.document.id)
                _insert(connection, change)

    def delete(self, documents: Iterable[str]) -> int:
        """Commit that documents are no more; how many there were of them."""
        with self._transaction() as connection:
            return sum(_delete(connection, document) for document in documents)

    def sweep(self) -> None:
        """Forget vectors that no passage has."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM vectors WHERE content NOT IN (SELECT content FROM passages)")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _meeting(self, condition: Condition) -> set[int]:
        """Numbers of the documents that meet `condition`. Values of two types are never equal nor ordered."""
        field, comparison, value = condition.field, condition.comparison, condition.value
        if comparison == "!=":
            return self._documents() - self._meeting(Condition(field, "==", value))
        values = value if isinstance(value, tuple) else (value,)
        sql = _COMPARISONS["==" if comparison == "in" else comparison]
        found = (self._ask(sql, field, *[_stored(each)] * 2) for each in values)
        return {cast("int", number) for rows in found for (number,) in rows}

    def _documents(self) -> set[int]:
        return {cast("int", number) for (number,) in self._ask("SELECT number FROM documents")}

    def _ask(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        with _translated(self._name):
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with _translated(self._name):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


@contextmanager
def _translated(name: str) -> Generator[None]:
    try:
        yield
    except (UnicodeError, OverflowError) as error:
        raise DataError(f"the index file {name!r} cannot hold a text or number: {error}") from error
    except (sqlite3.Error, OSError) as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF in _DAMAGED:
            raise _damaged(name, str(error)) from error
        raise DataError(
            f"the index file {name!r} failed: {error}. What was committed before is whole; "
            "free space or mend the disk, and try again"
        ) from error


def _damaged(name: str, why: str) -> DataError:
    return DataError(
        f"{name!r} is no index, or a damaged one: {why}. Build the index anew: distinguo index … --rebuild"
    )


def _sides(path: Path) -> list[Path]:
    """The files that SQLite keeps beside `path`."""
    return [path.with_name(path.name + side) for side in _SIDES]


def _connect(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise DataError(f"there is no index file {str(path)!r}")
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    # One process holds the index, so SQLite can keep its shared memory to itself: no third file, no polling.
    for pragma in (
        "locking_mode = EXCLUSIVE",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _manifest(connection: sqlite3.Connection, name: str) -> Fingerprint:
    manifest = dict(cast("list[tuple[str, object]]", connection.execute("SELECT * FROM manifest").fetchall()))
    if manifest.get("schema") != SCHEMA:
        raise MismatchError(
            f"the index file {name!r} is of version {manifest.get('schema')!r}, "
            f"this Distinguo reads {SCHEMA!r}: build the index anew: distinguo index … --rebuild"
        )
    try:
        values = {part.name: manifest[part.name] for part in fields(Fingerprint)}
    except KeyError as error:
        raise _damaged(name, f"it does not say what {error} it was made with") from error
    return Fingerprint(**values)  # pyright: ignore[reportArgumentType]


def _row(values: tuple[object, ...]) -> Row:
    number, id_, text, title, document, source, start, end, meta, content = cast(
        "tuple[int, str, str, str, str, str, int, int, str, str]", values
    )
    return Row(number, Passage(id_, text, title, document, source, start, end, _meta(meta)), content)


def _meta(text: str) -> Meta:
    return tuple((field, value) for field, value in cast("list[tuple[str, Scalar]]", json.loads(text)))


def _stored(value: Scalar) -> Scalar:
    if isinstance(value, str | bool):
        return value
    if not isfinite(value):
        raise OverflowError(f"{value!r} is not finite")
    return float(value)


def _delete(connection: sqlite3.Connection, document: str) -> bool:
    found = connection.execute("SELECT number FROM documents WHERE id = ?", (document,)).fetchone()
    if found is None:
        return False
    connection.execute(
        "INSERT INTO operations (passage) SELECT number FROM passages WHERE document = ?", found
    )
    connection.execute("DELETE FROM passages WHERE document = ?", found)
    connection.execute("DELETE FROM fields WHERE document = ?", found)
    connection.execute("DELETE FROM documents WHERE number = ?", found)
    return True


def _insert(connection: sqlite3.Connection, change: Change) -> None:
    document = change.document
    number = connection.execute(
        "INSERT INTO documents (id, hash, title, source, meta) VALUES (?, ?, ?, ?, ?)",
        (document.id, hash_of(document), document.title, document.source, json.dumps(document.meta)),
    ).lastrowid
    connection.executemany(
        "INSERT OR IGNORE INTO fields VALUES (?, ?, ?)",
        ((field, _stored(value), number) for field, value in document.meta),
    )
    for passage in change.passages:
        row = connection.execute(
            'INSERT INTO passages (id, document, content, text, start, "end") VALUES (?, ?, ?, ?, ?, ?)',
            (passage.id, number, content_of(passage), passage.text, passage.start, passage.end),
        )
        connection.execute("INSERT INTO operations (passage) VALUES (?)", (row.lastrowid,))
