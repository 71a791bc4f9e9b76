"""The truth of an index in SQLite: documents, passages, vectors, and the log of what changed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final, Self, cast, final
from uuid import uuid4

from distinguo.backends.index import rows
from distinguo.backends.index.fingerprint import Fingerprint
from distinguo.backends.index.rows import Change, Key, Row
from distinguo.backends.index.sqlite import Mode, connect, create, damaged, translated
from distinguo.backends.index.tables import SCHEMA
from distinguo.errors import DataError, MismatchError
from distinguo.records import Condition

FILE: Final = "truth.sqlite"
"""Its name in the folder of an index."""

_EMPTY: Final = {"roots": "[]", "generation": ""}
_COMPARE: Final = "SELECT document FROM fields WHERE field = ? AND typeof(value) = typeof(?) AND value "
_COMPARISONS: Final = {sign: f"{_COMPARE}{sign} ?" for sign in ("==", "<", "<=", ">", ">=")}


@final
class Truth:
    """What is committed here is whole and stays. Every method raises `DataError` when SQLite fails.

    Not for several threads at once: the index that owns it lets one in at a time.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, stat: os.stat_result, fingerprint: Fingerprint
    ) -> None:
        self._connection, self._path, self._stat = connection, path, stat
        self._name = str(path)
        self.fingerprint = fingerprint

    @classmethod
    def create(cls, path: Path, fingerprint: Fingerprint) -> Self:
        """A new, empty truth at `path`, which only its owner can read. Nothing is left there on failure."""
        with translated(str(path)):
            create(path, {"schema": SCHEMA, **_EMPTY, "identity": uuid4().hex, **asdict(fingerprint)})
        return cls.open(path, "write")

    @classmethod
    def open(cls, path: Path, mode: Mode = "read") -> Self:
        """The truth at `path`. Raises `MismatchError` if another version of Distinguo wrote it."""
        with translated(str(path)):
            before = path.stat() if path.exists() else None
            connection = connect(path, mode)
            try:
                manifest = _manifest(connection, str(path))
                if before is None or not os.path.samestat(before, path.stat()):
                    # SQLite finds its log by name: that of another file would spoil what it reads.
                    raise DataError(f"{str(path)!r} was made anew while it was opened; try again")
            except BaseException:
                connection.close()
                raise
        return cls(connection, path, before, manifest)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Inside it, all reading shows one moment, whatever others commit."""
        with translated(self._name):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def is_replaced(self) -> bool:
        """Whether another file lies where this one was opened."""
        try:
            return not os.path.samestat(self._stat, self._path.stat())
        except OSError:  # it was removed, and the other is still to come
            return False

    @property
    def identity(self) -> str:
        """What tells this truth from all others, and from one that is built anew in its place."""
        return cast("str", self._told("identity"))

    @property
    def generation(self) -> str:
        """What `keep_generation` kept; empty if there is no generation yet."""
        return cast("str", self._told("generation"))

    @property
    def is_settled(self) -> bool:
        """Whether a series of changes was ever complete."""
        return bool(self._told("settled"))

    @property
    def applied(self) -> int | None:
        """What `keep_applied` kept."""
        return cast("int | None", None if (told := self._told("applied")) == "" else told)

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

    def keys(self, numbers: Iterable[int]) -> list[Key]:
        """The keys of those of the passages that exist, in no order."""
        sql = "SELECT number, id, essence FROM passages WHERE number IN (SELECT value FROM json_each(?))"
        return [Key._make(values) for values in self._ask(sql, json.dumps(list(numbers)))]

    def rows(self, numbers: Iterable[int]) -> list[Row]:
        """Those of the passages that exist, in the order of their numbers."""
        sql = "SELECT * FROM rows WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number"
        return [rows.row(values) for values in self._ask(sql, json.dumps(list(numbers)))]

    def rows_of(self, ids: Iterable[str]) -> list[Row]:
        """Those of the passages with `ids` that exist, in no order."""
        sql = "SELECT * FROM rows WHERE id IN (SELECT value FROM json_each(?))"
        return [rows.row(values) for values in self._ask(sql, json.dumps(list(ids)))]

    def vectors(self, contents: Iterable[str]) -> dict[str, bytes]:
        """Vectors as little-endian float32, by content; what has none is left out."""
        sql = "SELECT content, vector FROM vectors WHERE content IN (SELECT value FROM json_each(?))"
        return dict(cast("list[tuple[str, bytes]]", self._ask(sql, json.dumps(list(contents)))))

    def hashes(self) -> dict[str, bytes]:
        """The hash of every document, by id."""
        return dict(cast("list[tuple[str, bytes]]", self._ask("SELECT id, hash FROM documents")))

    def contents(self) -> list[tuple[str, str]]:
        """The id of every passage, in order, and the hash of what is searched of it."""
        sql = "SELECT id, content FROM passages ORDER BY id"
        return cast("list[tuple[str, str]]", self._ask(sql))

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

    def stamps(self) -> dict[str, str]:
        """The stamp of every document, by id."""
        return dict(cast("list[tuple[str, str]]", self._ask("SELECT id, stamp FROM documents")))

    def essences(self) -> dict[bytes, str]:
        """Documents' ids by the essence of their texts; of those that are the same words, the first."""
        sql = "SELECT essence, id FROM documents ORDER BY number DESC"
        return dict(cast("list[tuple[bytes, str]]", self._ask(sql)))

    def roots(self) -> tuple[str, ...]:
        """What `keep_roots` kept."""
        return tuple(json.loads(cast("str", self._told("roots"))))

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
                rows.delete(connection, change.document.id)
                rows.insert(connection, change)

    def delete(self, documents: Iterable[str]) -> int:
        """Commit that documents are no more; how many there were of them."""
        with self._transaction() as connection:
            return sum(rows.delete(connection, document) for document in documents)

    def keep_roots(self, roots: Sequence[str]) -> None:
        """Commit the places that the index is made from, in place of those before."""
        self._tell("roots", json.dumps(roots))

    def keep_settled(self) -> None:
        """Commit that a series of changes is complete."""
        self._tell("settled", 1)

    def keep_generation(self, generation: str) -> None:
        """Commit which generation of the engine is in force."""
        self._tell("generation", generation)

    def keep_applied(self, sequence: int) -> None:
        """Commit how far an engine that all processes share has come."""
        self._tell("applied", sequence)

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
        found = (self._ask(sql, field, *[rows.stored(each)] * 2) for each in values)
        return {cast("int", number) for rows in found for (number,) in rows}

    def _documents(self) -> set[int]:
        return {cast("int", number) for (number,) in self._ask("SELECT number FROM documents")}

    def _told(self, name: str) -> object:
        rows = self._ask("SELECT value FROM manifest WHERE name = ?", name)
        return rows[0][0] if rows else ""

    def _tell(self, name: str, value: object) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO manifest VALUES (?, ?)", (name, value))

    def _ask(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        with translated(self._name):
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with translated(self._name):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _manifest(connection: sqlite3.Connection, name: str) -> Fingerprint:
    manifest = dict(cast("list[tuple[str, object]]", connection.execute("SELECT * FROM manifest").fetchall()))
    if manifest.get("schema") != SCHEMA:
        raise MismatchError(
            f"the index file {name!r} is of version {manifest.get('schema')!r}, "
            f"this Distinguo reads {SCHEMA!r}: build the index anew: distinguo index --rebuild"
        )
    try:
        values = {part.name: manifest[part.name] for part in fields(Fingerprint)}
    except KeyError as error:
        raise damaged(name, f"it does not say what {error} it was made with") from error
    return Fingerprint(**values)  # pyright: ignore[reportArgumentType]
