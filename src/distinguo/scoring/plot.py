"""Draw curves as PNG and SVG."""

# pyright: reportUnknownMemberType=false
# The library leaves the types of its keyword arguments open.

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from distinguo.errors import ConfigError, DataError
from distinguo.scoring.curves import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def can_draw() -> None:
    """Raise `ConfigError` without matplotlib: asked before what is to be drawn is computed."""
    if find_spec("matplotlib") is None:
        raise ConfigError("plots need matplotlib: pip install 'distinguo[plot]'")


def draw(curve: Curve, path: Path) -> Path:
    """Draw `curve` as the SVG `path`, each line with its intervals; beside it a PNG, and the points as TSV.

    The files are the same whenever they are drawn. Raises `ConfigError` without matplotlib, and `DataError`
    where they cannot be written.
    """
    can_draw()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "distinguo", "svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        FigureCanvasAgg(figure)
        _fill(figure, curve)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".tsv").write_text(curve.tsv, encoding="utf-8", newline="\n")
            figure.savefig(path.with_suffix(".png"), dpi=150, metadata={"Software": None})
            figure.savefig(path, metadata={"Date": None, "Creator": None})
        except OSError as error:
            raise DataError(f"cannot write the plot {str(path)!r}: {error.strerror}") from error
    return path


def _fill(figure: Figure, curve: Curve) -> None:
    axes = figure.subplots()
    for name, points in curve.lines.items():
        x, y = [point.x for point in points], [point.mean for point in points]
        (line,) = axes.plot(x, y, marker="o", markersize=4, label=name or None)
        known = [point for point in points if point.interval]
        axes.fill_between(
            [point.x for point in known],
            [point.interval.low for point in known if point.interval],
            [point.interval.high for point in known if point.interval],
            alpha=0.15,
            color=line.get_color(),
            linewidth=0,
        )
    axes.set(title=curve.title, xlabel=curve.over, ylabel=f"{curve.measure} (95 % intervals)")
    axes.grid(alpha=0.3)
    if any(curve.lines):
        axes.legend()
