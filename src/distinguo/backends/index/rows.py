"""What the tables of an index hold, and documents going into them and out."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import astuple, dataclass
from hashlib import sha256
from math import isfinite
from typing import NamedTuple, cast, final

from distinguo.records import Document, Meta, Passage, Scalar
from distinguo.text.sameness import essence


class Key(NamedTuple):
    """What tells a passage, and its words, from all others."""

    number: int
    id: str
    essence: bytes


class Row(NamedTuple):
    """A passage under its number, the key of its vector, and what tells its words from all others."""

    number: int
    content: str
    essence: bytes
    passage: Passage

    @property
    def id(self) -> str:
        """The passage's."""
        return self.passage.id


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


def row(values: tuple[object, ...]) -> Row:
    """A row of the view ``rows``."""
    number, content, essence_, *rest = values
    id_, text, title, document, source, start, end, meta, heading, page = cast(
        "tuple[str, str, str, str, str, int, int, str, str, int]", tuple(rest)
    )
    passage = Passage(id_, text, title, document, source, start, end, _meta(meta), heading, page)
    return Row(cast("int", number), cast("str", content), cast("bytes", essence_), passage)


def _meta(text: str) -> Meta:
    return (
        ()
        if text == "[]"
        else tuple((field, value) for field, value in cast("list[tuple[str, Scalar]]", json.loads(text)))
    )


def stored(value: Scalar) -> Scalar:
    """A value of metadata as its table has it. Raises `OverflowError` for a number that is not finite."""
    if isinstance(value, str | bool):
        return value
    if not isfinite(value):
        raise OverflowError(f"{value!r} is not finite")
    return float(value)


def delete(connection: sqlite3.Connection, document: str) -> bool:
    """Delete a document and its passages, and log that; whether it was there."""
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


def insert(connection: sqlite3.Connection, change: Change) -> None:
    """Insert a document and its passages, and log that."""
    document = change.document
    number = connection.execute(
        "INSERT INTO documents (id, hash, stamp, essence, title, source, meta) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(document.id, hash_of(document), document.stamp, essence(document.text)),
            *(document.title, document.source, json.dumps(document.meta)),
        ),
    ).lastrowid
    connection.executemany(
        "INSERT OR IGNORE INTO fields VALUES (?, ?, ?)",
        ((field, stored(value), number) for field, value in document.meta),
    )
    for passage in change.passages:
        row = connection.execute(
            'INSERT INTO passages (id, essence, document, content, start, "end", heading, page, text)'
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(passage.id, essence(passage.text), number, content_of(passage)),
                *(passage.start, passage.end, passage.heading, passage.page, passage.text),
            ),
        )
        connection.execute("INSERT INTO operations (passage) VALUES (?)", (row.lastrowid,))
