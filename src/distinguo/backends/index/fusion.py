"""Reciprocal rank fusion of ranked lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Final

from distinguo.records import Hit, Passage, ReciprocalRank

RRF_C: Final = 60.0  # Cormack, Clarke & Büttcher 2009


def fuse(lists: Iterable[Sequence[Hit]], k: int, *, c: float = RRF_C, name: str = "rrf") -> tuple[Hit, ...]:
    """The `k` best of several lists by the sum of 1 / (c + rank), each passage once; ties by passage id.

    Each list is best first. A passage that a list holds twice counts at its better place, and those below it
    move up. The order of the lists does not matter.
    """
    shares: dict[str, list[float]] = {}
    passages: dict[str, Passage] = {}
    for hits in lists:
        once = {hit.passage.id: hit.passage for hit in reversed(hits)}
        for rank, passage in enumerate(reversed(once.values()), 1):
            shares.setdefault(passage.id, []).append(1.0 / (c + rank))
            passages.setdefault(passage.id, passage)
    scores = {id_: fsum(terms) for id_, terms in shares.items()}
    best = sorted(scores, key=lambda id_: (-scores[id_], id_))[:k]
    return tuple(
        Hit(passages[id_], ReciprocalRank(scores[id_], name), rank) for rank, id_ in enumerate(best, 1)
    )
