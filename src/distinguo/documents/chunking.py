"""Cuts documents into passages of whole sentences.

A document is a row of *units*: its sentences, where a sentence that is too long is cut between tokens. A
passage is a window over that row, as many units as the limit allows; the next window begins a few units
earlier, so that what one passage cuts apart another holds together. Where a tokeniser sees nothing, or one
endless token, every stretch of `STRETCH` characters counts as a token. Offsets are exact:
``passage.text == document.text[passage.start : passage.end]``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, final

from distinguo.errors import ConfigError
from distinguo.protocols import Tokeniser
from distinguo.records import Document, Passage, Section
from distinguo.text.sentences import is_blank, sentences, trimmed

STRETCH: Final = 20
"""Most characters that one token stands for, so that tokens bound a passage's characters too."""


@final
@dataclass(frozen=True, slots=True)
class Chunking:
    """How long passages are.

    Attributes:
        tokens: most tokens in a passage, at least 1. Leave the encoder room for the title.
        overlap: most tokens that a passage repeats of the one before it, from 0 to `tokens` - 1.
    """

    tokens: int = 200
    overlap: int = 40

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ConfigError(f"chunking: 'tokens' is {self.tokens!r}; expected 1 or more")
        if not 0 <= self.overlap < self.tokens:
            raise ConfigError(
                f"chunking: 'overlap' is {self.overlap!r}; expected 0 to {self.tokens - 1} "
                f"(less than 'tokens', {self.tokens})"
            )


def chunk(document: Document, chunking: Chunking, tokeniser: Tokeniser) -> tuple[Passage, ...]:
    """The passages of `document`, in order, named ``<document>#1``, ``#2``, …; none if it shows nothing.

    Every character but whitespace lies in some passage, whose heading and page are those of the section that
    holds most of it. A token belongs to where it begins; a single character of more tokens than the limit is
    the one thing that can exceed it.
    """
    text = document.text
    if is_blank(text):
        return ()
    tokens = _filled([start for start, _ in tokeniser.spans(text)], len(text))
    cuts = [*_cuts(text, tokens, chunking), len(text)]
    lengths = [_count(tokens, start, end) for start, end in pairwise(cuts)]
    cut = windows(lengths, limit=chunking.tokens, overlap=chunking.overlap)
    spans = _apart(span for first, last in cut for span in trimmed(text, cuts[first], cuts[last]))
    return tuple(
        Passage(
            id=f"{document.id}#{number}",
            text=text[start:end],
            title=document.title,
            document=document.id,
            source=document.source,
            start=start,
            end=end,
            meta=document.meta,
            heading=section.heading,
            page=section.page,
        )
        for number, ((start, end), section) in enumerate(
            zip(spans, _sections(document, spans), strict=True), 1
        )
    )


def windows(lengths: Sequence[int], *, limit: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Half-open windows over units of `lengths` that cover them all, each of at most `limit` in sum.

    A window begins inside the one before it by as many units as fit into `overlap` and leave the next unit
    room; it always ends further on. A unit longer than `limit` stands alone.
    """
    first = last = size = 0
    while last < len(lengths):
        while last < len(lengths) and (first == last or size + lengths[last] <= limit):
            size += lengths[last]
            last += 1
        yield first, last
        if last < len(lengths):
            room = min(overlap, limit - lengths[last])
            floor, first, size = first + 1, last, 0
            while first > floor and size + lengths[first - 1] <= room:
                first -= 1
                size += lengths[first]


def _apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """`spans` but for those within a neighbour, as windows over much white space can be."""
    kept: list[tuple[int, int]] = []
    for start, end in spans:
        if kept and kept[-1][0] == start:
            kept.pop()
        if not kept or kept[-1][1] < end:
            kept.append((start, end))
    return kept


def _sections(document: Document, spans: Iterable[tuple[int, int]]) -> Iterator[Section]:
    """For each span the section that holds most of its characters; of equals, the first."""
    sections = (Section(0), *document.sections)
    starts = [section.start for section in sections]
    for start, end in spans:
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end)
        borders = [start, *starts[first + 1 : last], end]
        sizes = [two - one for one, two in pairwise(borders)]
        yield sections[first + sizes.index(max(sizes))]


def _filled(starts: Sequence[int], length: int) -> list[int]:
    """`starts` with more of them wherever they lie further apart than a stretch."""
    gaps = pairwise((0, *starts, length))
    added = (place for one, two in gaps for place in range(one + STRETCH, two, STRETCH))
    return sorted((*starts, *added))


def _cuts(text: str, tokens: Sequence[int], chunking: Chunking) -> Iterator[int]:
    """Where units begin. Long sentences fall into pieces as long as the overlap, so that windows overlap."""
    piece = chunking.overlap or chunking.tokens
    for start, end in sentences(text):
        yield start
        first, last = bisect_left(tokens, start), bisect_left(tokens, end)
        if last - first > chunking.tokens:
            while last - first > piece:
                first = _cut(text, tokens, first, first + piece)
                if first < last:
                    yield tokens[first]


def _cut(text: str, tokens: Sequence[int], first: int, last: int) -> int:
    """The token, after `first` and at most `last`, before which to cut: after a space if one is near."""
    near = range(last, (first + last) // 2, -1)
    spaced = (token for token in near if text[tokens[token] - 1 : tokens[token]].isspace())
    token = bisect_left(tokens, tokens[next(spaced, last)])
    # Tokens that begin together are pieces of one character: nothing can be cut between them.
    return token if token > first else bisect_right(tokens, tokens[first])


def _count(tokens: Sequence[int], start: int, end: int) -> int:
    return bisect_left(tokens, end) - bisect_left(tokens, start)
