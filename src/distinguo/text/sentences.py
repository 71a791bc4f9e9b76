"""Where the sentences of a text lie."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_CLOSERS: Final = r"[\"'»”’)\]]*"
_END: Final = re.compile(
    rf"(?P<stop>[.!?…]+{_CLOSERS})"  # Latin, Greek and Cyrillic; needs a space after it, see _ends_sentence
    r"|[。！？｡]+[」』”’）》】]*"  # Chinese and Japanese stops need none
    r"|[؟۔।॥።։]+"  # Arabic, Urdu, Indic, Ethiopic, Armenian
    r"|\n\s*\n"  # a blank line
    r"|\n(?=\s*(?:[-*•#|]|\d+[.)])\s)"  # the next line is a list item, a heading or a row
)
_LAST_WORD: Final = re.compile(r"\S*$")
_ABBREVIATION: Final = re.compile(
    r"(?:[A-Z]|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Ff]igs?|[Nn]os?|[Vv]s|[Vv]ol|[Cc]f|[Aa]l|[Ee]\.g|[Ii]\.e"
    r"|[Cc]a|[Aa]pprox|[Ii]ncl|[Ee]d|[Pp]p?)\.$"
)
_LONGEST_WORD: Final = 64  # looking further back for an abbreviation would make one long word quadratic


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of `text`, in order, trimmed of whitespace; together they cover all else.

    A stop after an abbreviation or an initial, or before a lower-case letter, ends nothing.
    """
    start = 0
    for end in _END.finditer(text):
        if end["stop"] is None or _ends_sentence(text, end):
            yield from trimmed(text, start, end.end())
            start = end.end()
    yield from trimmed(text, start, len(text))


def trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span from `start` to `end` without whitespace at its ends; nothing if nothing is left."""
    piece = text[start:end]
    inner = piece.strip()
    if inner:
        left = start + len(piece) - len(piece.lstrip())
        yield left, left + len(inner)


def is_blank(text: str) -> bool:
    """Whether `text` shows nothing: it is empty, or all spaces and characters without a shape or width."""
    return not any(character.isprintable() and character != " " for character in text)


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    # Asked here and not in the pattern, which would look through a long run of stops again from each of them.
    if not text[end.end() : end.end() + 1].isspace():
        return False
    following = text[end.end() : end.end() + _LONGEST_WORD].lstrip()[:1]
    if end["stop"].startswith((".", "…")) and following.islower():
        return False
    if end["stop"] != ".":
        return True
    before = text[max(0, end.start() - _LONGEST_WORD) : end.start() + 1]
    last = _LAST_WORD.search(before)
    return last is None or _ABBREVIATION.match(last[0].lstrip("(\"'“‘[")) is None
