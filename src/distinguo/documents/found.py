"""What comes of reading: documents, and what did not become one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, final

from distinguo.records import Document
from distinguo.text.sentences import is_blank

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


@final
@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that did not become a document. `source` is a path, with ``:line`` where a line is meant."""

    source: str
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Unchanged:
    """A file whose one document, `id`, is known to be what it was: it was not read again."""

    source: str
    id: str


Read = Document | Skipped | Unchanged


def once(found: Iterable[Read]) -> Iterator[Read]:
    """What is read, but of documents with one id only the first."""
    seen: dict[str, str] = {}
    for item in found:
        match item:
            case Document(id=id_, source=source) | Unchanged(id=id_, source=source) if id_ in seen:
                yield Skipped(source, f"the id {id_!r} was read before, from {seen[id_]}")
            case Document(id=id_, source=source) | Unchanged(id=id_, source=source):
                seen[id_] = source
                yield item
            case Skipped():
                yield item


def usable(item: Read) -> Read:
    """`item`, or why no index takes it: it shows nothing, or holds what is no text or no number."""
    match item:
        case Document(text=text, source=source) if "\0" in text:
            return Skipped(source, "holds NUL characters: not a text")
        case Document(id=id_, source=source) if _SURROGATE.search(id_):
            return Skipped(source, "its name or id is not Unicode text; rename it")
        case Document(source=source) if _SURROGATE.search(_written(item)):
            return Skipped(source, "holds half of a surrogate pair: not Unicode text")
        case Document(text=text, source=source) if is_blank(text):
            return Skipped(source, "empty")
        case Document(source=source, meta=meta):
            bad = [f"{field!r} is {value!r:.50}" for field, value in meta if not _is_storable(value)]
            expected = "expected texts, booleans and finite numbers"
            return Skipped(source, f"the metadata {bad[0]}; {expected}") if bad else item
        case _:
            return item


def _written(document: Document) -> str:
    headings = "".join(section.heading for section in document.sections)
    return f"{document.id}{document.title}{document.text}{headings}{dict(document.meta)!s}"


def _is_storable(value: object) -> bool:
    match value:
        case str():
            return True
        case int() | float():
            return abs(value) <= sys.float_info.max
        case _:
            return False
