"""The curves of a grid, beside its page."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from distinguo.cli.console import complain
from distinguo.cli.scoring import Wishes, gold_of, judged
from distinguo.config.grid import PlotSettings
from distinguo.errors import ConfigError
from distinguo.records import Example
from distinguo.running.grid import Cell
from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.curves import Curve, Point
from distinguo.scoring.outcomes import answer_value
from distinguo.scoring.plot import can_draw, draw
from distinguo.scoring.significance import Interval
from distinguo.scoring.value import Undefined


def check(plot: PlotSettings, cells: Collection[Cell], examples: Sequence[Example], file: Path) -> None:
    """Raise `ConfigError` where there will be nothing to draw, or to draw with: before hours are spent.

    `examples` are the questions of the set, from `file`.
    """
    can_draw()
    if plot.measure in ANSWER_METRICS:
        reads = any(cell.settings.get("answers", True) for cell in plot.cells(cells).values())
        values = [answer_value(plot.measure, example, None) for example in examples]
        is_measured = reads and not all(isinstance(value, Undefined) for value in values)
    else:
        grades = gold_of(examples, file).grades
        is_measured = any(grades.get(example.question.id) for example in examples)
    if not is_measured:
        raise ConfigError(
            f"{plot.title}: there is nothing that {plot.measure!r} could measure; expected "
            + ("answers, and gold ones" if plot.measure in ANSWER_METRICS else "gold documents")
        )


def curve(plot: PlotSettings, cells: Collection[Cell], files: Sequence[Path], data: str) -> Curve:
    """What there is of `plot`: a point for each of its `cells` that is among `files`, held against `data`.

    One that is partial has no point: what is missing would count as wrong. The notes tell it.
    """
    places = {cell.name: place for place, cell in plot.cells(cells).items()}
    there = [file for file in files if file.stem in places]
    verdicts = judged(there, data, Wishes(metrics=(plot.measure,))).verdicts if there else ()
    points = [
        Point(
            *places[verdict.run.name],
            figure.mean.n,
            figure.mean.value,
            figure.interval if isinstance(figure.interval, Interval) else None,
        )
        for verdict in verdicts
        if not verdict.is_partial
        for figure in verdict.figures
        if not isinstance(figure.mean.value, Undefined)
    ]
    notes = [f"left out: {verdict.run.name} is partial" for verdict in verdicts if verdict.is_partial]
    notes += dict.fromkeys(note for verdict in verdicts for note in verdict.notes)
    if not points:
        complain("; ".join([f"nothing to draw yet: {plot.title}", *notes]))
    return Curve(plot.title, plot.over, plot.measure, tuple(points), tuple(notes))


def drawn_beside(curve: Curve, page: Path) -> Path:
    """The SVG of `curve`, beside `page`."""
    name = re.sub(r"[^\w=-]+", "-", f"{page.stem} {curve.title}")
    return draw(curve, page.with_name(f"{name}.svg"))
