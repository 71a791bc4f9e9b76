"""Reads files of lines, and tells all that is wrong with one at once."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar, cast

from distinguo.errors import DataError

Fields = dict[str, object]
Item = TypeVar("Item")

_MOST_TOLD: Final = 50


def read_lines(path: Path, parse: Callable[[str], Item]) -> list[Item]:
    """What `parse` makes of every line of `path` that is not blank.

    Files are UTF-8, with or without a byte-order mark. Raises one `DataError` with the line numbers of all
    lines that are not, and of all lines for which `parse` raises one; and if the file cannot be read.
    """
    items: list[Item] = []
    faults: list[str] = []
    for number, line in enumerate(_bytes(path).removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        try:
            text = _text(line)
            if text.strip():
                items.append(parse(text))
        except DataError as error:
            faults.append(f"line {number}: {error}")
    if faults:
        raise DataError(_summary(path, faults))
    return items


def json_object(line: str) -> Fields:
    """The JSON object that `line` is. Raises `DataError`; a key that stands twice is an error too."""
    try:
        value: object = json.loads(line, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{line.strip()[:40]!r} is not a JSON object")
    return cast("Fields", value)


def identifier(fields: Fields) -> str:
    """The id that a row has under `id` or `_id`: a text, or a whole number as text. Raises `DataError`."""
    given = fields.get("id", fields.get("_id"))
    if isinstance(given, bool) or not isinstance(given, str | int) or not str(given).strip():
        raise DataError(f"'id' is {given!r}; expected a text")
    return unicode(str(given))


def unicode(text: str) -> str:
    """`text`, if it can be written as UTF-8. Raises `DataError`."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{text[:40]!r} is not Unicode: it holds half a character") from error
    return text


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror}") from error


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start} ({line[error.start]:#04x})") from error


def _summary(path: Path, faults: list[str]) -> str:
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    more = [f"and {len(faults) - _MOST_TOLD} more"] if len(faults) > _MOST_TOLD else []
    return f"{str(path)!r} has {count}: " + "; ".join(faults[:_MOST_TOLD] + more)


def _once(pairs: list[tuple[str, object]]) -> Fields:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError(f"a key stands twice among {[key for key, _ in pairs]!r}")
    return fields


def _refuse(constant: str) -> Iterator[None]:
    raise ValueError(f"{constant} is not JSON")
