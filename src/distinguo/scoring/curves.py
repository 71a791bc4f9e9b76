"""A metric over a number that was swept: points with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from distinguo.scoring.significance import Interval


@final
@dataclass(frozen=True, slots=True)
class Point:
    """The mean of a metric over `n` questions where the number is `x`; `line` tells apart lines of a plot."""

    x: float
    line: str
    n: int
    mean: float
    interval: Interval | None


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """Points by a number.

    Attributes:
        title: what was swept, on what.
        over: the name of the number.
        measure: the metric, by its name.
        points: in any order.
    """

    title: str
    over: str
    measure: str
    points: tuple[Point, ...]

    @property
    def lines(self) -> Mapping[str, Sequence[Point]]:
        """The points of each line by their numbers."""
        names = dict.fromkeys(point.line for point in self.points)
        ordered = sorted(self.points, key=lambda point: point.x)
        return {name: [point for point in ordered if point.line == name] for name in names}
