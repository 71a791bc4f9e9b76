"""The tables in which SQLite keeps an index."""

from __future__ import annotations

from typing import Final

SCHEMA: Final = 4
"""Version of what is below, and of what an essence is. Any change of either changes this."""

TABLES: Final = """
CREATE TABLE manifest (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
-- An essence tells whether two texts are the same words (see `distinguo.text.sameness`).
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hash BLOB NOT NULL, stamp TEXT NOT NULL,
    essence BLOB NOT NULL, title TEXT NOT NULL, source TEXT NOT NULL, meta TEXT NOT NULL
);
-- Numbers are the engine's ids and never used twice: a hit out of date finds nothing, and no other text.
-- The text comes last: SQLite reads a row no further than it is asked.
CREATE TABLE passages (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, essence BLOB NOT NULL,
    document INTEGER NOT NULL REFERENCES documents, content TEXT NOT NULL REFERENCES vectors,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, heading TEXT NOT NULL, page INTEGER NOT NULL,
    text TEXT NOT NULL
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
    SELECT p.number, p.content, p.essence,
        p.id, p.text, d.title, d.id AS document, d.source, p.start, p."end", d.meta, p.heading, p.page
    FROM passages p JOIN documents d ON d.number = p.document;
-- A passage that is in the log and no longer in its table was deleted.
CREATE TABLE operations (sequence INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL);
"""
