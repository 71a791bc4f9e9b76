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

    @property
    def number(self) -> str:
        """`x` with all its digits."""
        return f"{self.x:.15g}"


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """Points by a number.

    Attributes:
        title: what was swept, on what.
        over: the name of the number.
        measure: the metric, by its name.
        points: in any order.
        notes: what a reader of the points must know.
    """

    title: str
    over: str
    measure: str
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> Mapping[str, Sequence[Point]]:
        """The points of each line by their numbers."""
        names = dict.fromkeys(point.line for point in self.points)
        ordered = sorted(self.points, key=lambda point: point.x)
        return {name: [point for point in ordered if point.line == name] for name in names}

    @property
    def tsv(self) -> str:
        """A line for each point, its values separated by tabs, under a line of names."""
        rows = [
            (point.line, point.number, str(point.n), repr(point.mean), *_ends(point.interval))
            for points in self.lines.values()
            for point in points
        ]
        head = ("line", self.over, "n", self.measure, "low", "high")
        return "".join("\t".join(row) + "\n" for row in (head, *rows))


def _ends(interval: Interval | None) -> tuple[str, str]:
    return (repr(interval.low), repr(interval.high)) if interval else ("", "")
