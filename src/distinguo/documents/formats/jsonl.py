"""JSON Lines: a document a line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from io import BytesIO
from math import isfinite
from typing import BinaryIO, Final, cast

from distinguo.documents.encodings import clean, mark_of, strictly
from distinguo.documents.found import Skipped
from distinguo.errors import DataError
from distinguo.records import Document, Meta, Scalar

_TOO_LARGE: Final = 2**63  # for the index, and for every other reader of JSON


def read(content: bytes, name: str) -> Iterator[Document | Skipped]:
    """A document a line."""
    return rows(BytesIO(content), name)


def rows(file: BinaryIO, name: str) -> Iterator[Document | Skipped]:
    """One JSON object a line: `_id` or `id`, `title`, `text`, `metadata` or `meta`; a bad one spoils none."""
    for number, line in enumerate(_lines(file), 1):
        source = f"{name}:{number}"
        try:
            text = strictly(line, "utf-8")
            if text.strip():
                yield _record(text, source)
        except DataError as error:
            yield Skipped(source, str(error))


def _lines(file: BinaryIO) -> Iterable[bytes]:
    """Lines in UTF-8. That is read line by line, so that a bad one spoils no other; the rest as a whole."""
    encoding = mark_of(file.read(4)) or "utf-8"
    file.seek(0)
    if encoding == "utf-8-sig":
        file.seek(len(codecs.BOM_UTF8))
    elif encoding != "utf-8":
        return strictly(file.read(), encoding).encode().split(b"\n")
    return file


def _record(line: str, source: str) -> Document:
    try:
        row: object = json.loads(line, parse_constant=_refuse, parse_int=_whole, parse_float=_finite)
    except ValueError as error:
        raise DataError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise DataError("not readable: JSON nested too deeply") from error
    if not isinstance(row, dict):
        raise DataError("not a JSON object")
    fields = cast("dict[str, object]", row)
    id_ = fields.get("_id", fields.get("id"))
    if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
        raise DataError(f"'_id' or 'id' is {id_!r}; expected a text or a number")
    text, title = fields.get("text"), fields.get("title") or ""
    if not isinstance(text, str) or not isinstance(title, str):
        raise DataError("'text' and 'title' must be texts, and 'text' must be there")
    meta: object = fields.get("metadata", fields.get("meta")) or {}
    if not isinstance(meta, dict):
        raise DataError(f"'metadata' is {meta!r}; expected an object")
    return Document(str(id_), clean(text), clean(title), source, _meta(cast("dict[str, object]", meta)))


def _meta(fields: dict[str, object]) -> Meta:
    """Scalars as they are, lists and objects as JSON text, nulls left out."""
    return tuple(
        (field, value if isinstance(value, Scalar) else json.dumps(value, ensure_ascii=False))
        for field, value in sorted(fields.items())
        if value is not None
    )


def _whole(digits: str) -> int:
    number = int(digits)
    if abs(number) >= _TOO_LARGE:
        raise ValueError(f"the number {digits[:20]}… is too large")
    return number


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
