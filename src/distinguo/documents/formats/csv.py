"""Comma- and tab-separated values: a block of text per row, which names its columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import zip_longest
from typing import Final

from distinguo.documents.drafting import Draft, line
from distinguo.documents.encodings import decoded
from distinguo.errors import DataError
from distinguo.records import Document

_SAMPLE: Final = 4_000  # characters that the delimiter is told by
_NUMBER: Final = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*%?")


def read(content: bytes, name: str) -> Iterator[Document]:
    """Rows as "name: x; price: y" under a first row of names, else as their cells alone."""
    text = decoded(content)
    yield _document(text, name, _delimiter(text))


def read_tabs(content: bytes, name: str) -> Iterator[Document]:
    """The same, parted by tabs."""
    yield _document(decoded(content), name, "\t")


def _document(text: str, name: str, delimiter: str) -> Document:
    try:
        cells = (
            [line(cell) for cell in row]
            for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter)
        )
        rows = [row for row in cells if any(row)]
    except csv.Error as error:
        raise DataError(f"not a table: {error}; is a quotation mark not closed?") from error
    names = rows.pop(0) if len(rows) > 1 and _are_names(rows[0]) else []
    draft = Draft()
    for row in rows:
        draft.write(_sentence(names, row))
    return draft.document(name)


def _delimiter(text: str) -> str:
    try:
        return csv.Sniffer().sniff(text[:_SAMPLE], ",;\t|").delimiter
    except csv.Error:  # one column, say
        return ","


def _are_names(row: Sequence[str]) -> bool:
    return len(row) > 1 and all(row) and len({*row}) == len(row) and not any(map(_NUMBER.fullmatch, row))


def _sentence(names: Sequence[str], row: Sequence[str]) -> str:
    pairs = zip_longest(names, row, fillvalue="")
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
