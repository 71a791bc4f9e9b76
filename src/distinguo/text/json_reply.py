"""Read the JSON object in a model's reply, however it is wrapped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, cast

from distinguo.errors import ParseError

STRING: Final = r'"(?:[^"\\]++|\\.)*+"?'
"""A JSON string, its end missing where the text ends; for patterns with `re.DOTALL`."""

STARTS: Final = 100
"""Places at which an object is looked for: each that fails costs time."""

_START: Final = re.compile(r'\{(?=\s*+["}])')
_STRING_OR_TRAILING_COMMA: Final = re.compile(rf"({STRING})|,(?=\s*+[}}\]])", re.DOTALL)
_WHOLE: Final = re.compile(r"\s*-?[0-9]{1,18}\s*", re.ASCII)


def parse_object(raw: str, *keys: str) -> dict[str, object]:
    """The first JSON object in `raw` that has all `keys`; failing that, the first.

    Text and code fences around it are passed over, and a comma before a closing bracket is forgiven: small
    models add these, and neither changes a value. Anything else raises `ParseError`, which keeps `raw`.
    Time is linear in the length of `raw`, whatever it holds.
    """
    objects: list[dict[str, object]] = []
    for found in chain(_objects(raw), _objects_despite_commas(raw)):
        if found.keys() >= set(keys):
            return found
        objects.append(found)
    if objects:
        return objects[0]
    raise ParseError(f"expected a JSON object, got {_excerpt(raw)!r}", raw=raw)


def boolean(fields: dict[str, object], key: str, *, raw: str) -> bool:
    """The truth value at `key`; anything else raises `ParseError`."""
    value = fields.get(key)
    if not isinstance(value, bool):
        raise ParseError(f"expected true or false as {key!r}, got {_excerpt(raw)!r}", raw=raw)
    return value


def text_or_none(fields: dict[str, object], key: str, *, raw: str) -> str | None:
    """The string at `key`, stripped, or None where the reply says null, be it as a word in quotes.

    Half a surrogate pair, which no file can hold, becomes U+FFFD. A missing key or anything else raises
    `ParseError`.
    """
    value = fields.get(key, ...)
    if value is None or value == "null":
        return None
    if not isinstance(value, str):
        raise ParseError(f"expected text or null as {key!r}, got {_excerpt(raw)!r}", raw=raw)
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()


def integers(fields: dict[str, object], key: str, *, raw: str) -> tuple[int, ...]:
    """The whole numbers listed at `key`.

    Small models also write ``1.0``, ``"1"`` and, for a list of one, the number alone; none of these changes a
    value. A missing key or anything else raises `ParseError`.
    """
    value = fields.get(key)
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    numbers = [_whole(item) for item in items]
    if None in numbers:
        raise ParseError(f"expected a list of whole numbers as {key!r}, got {_excerpt(raw)!r}", raw=raw)
    return tuple(cast("list[int]", numbers))


def texts(fields: dict[str, object], key: str, *, raw: str) -> tuple[str, ...]:
    """The strings listed at `key`, stripped. A missing key or anything else raises `ParseError`."""
    value = fields.get(key)
    if not isinstance(value, list):
        raise ParseError(f"expected a list of texts as {key!r}, got {_excerpt(raw)!r}", raw=raw)
    items = [text_or_none({key: item}, key, raw=raw) for item in cast("list[object]", value)]
    return tuple(item for item in items if item is not None)


def _whole(item: object) -> int | None:
    match item:
        case bool():
            return None
        case int():
            return item
        case float() if item.is_integer():
            return int(item)
        case str() if _WHOLE.fullmatch(item):
            return int(item)
        case _:
            return None


def _objects(text: str) -> Iterator[dict[str, object]]:
    """The outermost objects; what has failed as one is not searched for another, up to where it failed."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(STARTS):
        start = _START.search(text, at)
        if start is None:
            return
        try:
            found, at = decoder.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            at = max(error.pos, start.end())
        except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
            return
        else:
            yield cast("dict[str, object]", found)


def _objects_despite_commas(text: str) -> Iterator[dict[str, object]]:
    start = _START.search(text)
    if start is not None:
        yield from _objects(
            _STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", text[start.start() :])
        )


def _excerpt(raw: str, width: int = 120) -> str:
    return raw if len(raw) <= width else raw[:width] + "…"
