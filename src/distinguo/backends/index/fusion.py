"""Make one ranking of several: by reciprocal rank, or by turns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import zip_longest
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


def interleave(rankings: Iterable[Iterable[Item]]) -> dict[Item, float]:
    """1 / place of every item when the rankings take turns, and an item that was there is passed over.

    Merge and de-duplicate (RaCoT, App. B). The first ranking begins each round.
    """
    rounds = zip_longest(*([(item,) for item in ranking] for ranking in rankings), fillvalue=())
    turns = dict.fromkeys(item for turn in rounds for one in turn for item in one)
    return {item: 1.0 / place for place, item in enumerate(turns, 1)}
