"""Reciprocal rank fusion of ranked lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Final

from distinguo.records import Hit, Passage, ReciprocalRank
from distinguo.text.sameness import essence

RRF_C: Final = 60.0  # Cormack, Clarke & Büttcher 2009


def fuse(lists: Iterable[Sequence[Hit]], k: int, *, c: float = RRF_C, name: str = "rrf") -> tuple[Hit, ...]:
    """The `k` best of several lists by the sum of 1 / (c + rank), the same words once; ties by passage id.

    Each list is best first. A text that a list holds twice counts at its better place, and those below it
    move up. Passages of equal text are one, under the first of their ids. The order of the lists does not
    matter.
    """
    shares: dict[str, list[float]] = {}
    passages: dict[str, Passage] = {}
    for hits in lists:
        for rank, text in enumerate(dict.fromkeys(hit.passage.text for hit in hits), 1):
            shares.setdefault(text, []).append(1.0 / (c + rank))
        for hit in hits:
            first = passages.setdefault(hit.passage.text, hit.passage)
            passages[first.text] = min(first, hit.passage, key=lambda passage: passage.id)
    scores = {text: fsum(terms) for text, terms in shares.items()}
    best = _different(sorted(scores, key=lambda text: (-scores[text], passages[text].id)), k)
    return tuple(
        Hit(passages[text], ReciprocalRank(scores[text], name), rank) for rank, text in enumerate(best, 1)
    )


def _different(texts: Iterable[str], k: int) -> Iterable[str]:
    """The first `k` of different words; to look at no further ones saves more time than all else takes."""
    found: dict[bytes, str] = {}
    for text in texts:
        found.setdefault(essence(text), text)
        if len(found) == k:
            break
    return found.values()
