"""Read the JSON object in a model's reply, however it is wrapped."""

from __future__ import annotations

import json
import re
from typing import cast

from distinguo.errors import ParseError

_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')


def parse_object(raw: str) -> dict[str, object]:
    """The first JSON object in `raw`.

    Text and code fences around it are passed over, and a comma before a closing bracket is forgiven: small
    models add these, and neither changes a value. Anything else raises `ParseError`, which keeps `raw`.
    """
    for text in (raw, _STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", raw)):
        found = _first_object(text)
        if found is not None:
            return found
    raise ParseError(f"expected a JSON object, got {_excerpt(raw)!r}", raw=raw)


def boolean(fields: dict[str, object], key: str, *, raw: str) -> bool:
    """The truth value at `key`; anything else raises `ParseError`."""
    value = fields.get(key)
    if not isinstance(value, bool):
        raise ParseError(f"expected true or false as {key!r}, got {_excerpt(raw)!r}", raw=raw)
    return value


def text_or_none(fields: dict[str, object], key: str, *, raw: str) -> str | None:
    """The string at `key`, stripped, or None where the reply says null, be it as a word in quotes.

    A missing key or anything else raises `ParseError`.
    """
    value = fields.get(key, ...)
    if value is None or value == "null":
        return None
    if not isinstance(value, str):
        raise ParseError(f"expected text or null as {key!r}, got {_excerpt(raw)!r}", raw=raw)
    return value.strip()


def integers(fields: dict[str, object], key: str, *, raw: str) -> tuple[int, ...]:
    """The whole numbers listed at `key`; a missing key or anything else in the list raises `ParseError`."""
    value = fields.get(key)
    if not isinstance(value, list):
        raise ParseError(f"expected a list as {key!r}, got {_excerpt(raw)!r}", raw=raw)
    items = cast("list[object]", value)
    if any(not isinstance(item, int) or isinstance(item, bool) for item in items):
        raise ParseError(f"expected whole numbers in {key!r}, got {_excerpt(raw)!r}", raw=raw)
    return tuple(cast("list[int]", items))


def _first_object(text: str) -> dict[str, object] | None:
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            value = decoder.raw_decode(text, start)[0]
        except (json.JSONDecodeError, RecursionError):
            start = text.find("{", start + 1)
        else:
            return cast("dict[str, object]", value)
    return None


def _excerpt(raw: str, width: int = 120) -> str:
    return raw if len(raw) <= width else raw[:width] + "…"
