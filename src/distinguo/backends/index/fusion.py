"""Reciprocal rank fusion of ranked lists."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import fsum
from typing import Final, TypeVar

Item = TypeVar("Item", bound=Hashable)

RRF_C: Final = 60.0  # Cormack, Clarke & Büttcher 2009


def fuse(rankings: Iterable[Iterable[Item]], *, c: float = RRF_C) -> dict[Item, float]:
    """The sum of 1 / (c + rank) of every item over the rankings that hold it; ranks count from 1.

    Each ranking is best first. An item that a ranking holds twice counts at its better place, and those below
    it move up. The order of the rankings does not matter.
    """
    shares: dict[Item, list[float]] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), 1):
            shares.setdefault(item, []).append(1.0 / (c + rank))
    return {item: fsum(terms) for item, terms in shares.items()}
