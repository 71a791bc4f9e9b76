"""A metric's value is a number, or undefined for a reason; never NaN."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum
from typing import Final, final

_REASONS_TOLD: Final = 3


@final
@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no number, and `reason` says why."""

    reason: str


Value = float | Undefined


@final
@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of the values that are numbers, and what became of the others.

    Attributes:
        value: undefined where no value is a number.
        n: how many numbers are in it.
        undefined: how many values are left out because they are undefined.
        reasons: the first three different reasons for that.
    """

    value: Value
    n: int
    undefined: int = 0
    reasons: tuple[str, ...] = ()


def mean(values: Iterable[Value]) -> Mean:
    """The mean of `values`, whatever their order (sums are exact before they are rounded)."""
    numbers: list[float] = []
    reasons: list[str] = []
    for value in values:
        match value:
            case Undefined(reason):
                reasons.append(reason)
            case _:
                numbers.append(value)
    told = tuple(dict.fromkeys(reasons))[:_REASONS_TOLD]
    if not numbers:
        return Mean(Undefined(told[0] if told else "there are no questions"), 0, len(reasons), told)
    return Mean(fsum(numbers) / len(numbers), len(numbers), len(reasons), told)
