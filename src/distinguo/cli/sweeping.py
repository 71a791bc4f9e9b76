"""``distinguo sweep``: a grid of one method, with one plot."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final, final

from distinguo.cli.gridding import Paper, run_grid
from distinguo.cli.running import Wishes
from distinguo.cli.setting_up import settings
from distinguo.config.grid import GridSettings
from distinguo.config.settings import toml
from distinguo.config.signatures import Table
from distinguo.errors import ConfigError

_MOST: Final = 2
_MOST_VALUES: Final = 1_000
_MOST_DIGITS: Final = 15


@final
@dataclass(frozen=True, slots=True)
class Swept:
    """What is swept, as the command line says it."""

    method: str
    questions: str
    over: tuple[str, ...]
    settings: tuple[str, ...] = ()
    corpus: str = ""
    answers: bool = True
    split: str = ""
    sample: int = 0
    seed: int = 0


def run_sweep(swept: Swept, measure: str, folder: Path, config: Path | None) -> bool:
    """Run all values, write table and plot into `folder`; whether all questions have ended."""
    grid = _grid(swept, measure, config)
    page = Paper(folder / "sweep.md", _command(swept, measure, folder, config))
    return run_grid(grid, folder, wishes=Wishes(64, None), page=page)


def _grid(swept: Swept, measure: str, config: Path | None) -> GridSettings:
    """The grid, around the configuration's models, indexes and limits, compared with its first cell."""
    if not 1 <= len(swept.over) <= _MOST:
        raise ConfigError(f"--over stands {len(swept.over)} times; expected once or twice")
    axes, own = list(map(_axis, swept.over)), list(map(_setting, swept.settings))
    settings_of = _once([*axes, *own, *([] if swept.answers else [("answers", False)])])
    name = f"{Path(swept.questions).name}-{swept.sample}" if swept.sample else Path(swept.questions).name
    over, *lines = [axis for axis, _ in axes]
    plot = {"set": name, "method": swept.method, "over": over, "lines": "".join(lines), "measure": measure}
    grid = GridSettings.of(
        {
            "name": "sweep",
            "sets": {
                name: {
                    "data": swept.questions,
                    "split": swept.split,
                    "sample": swept.sample,
                    "seed": swept.seed,
                    "corpus": [part for part in swept.corpus.split(",") if part],
                }
            },
            "runs": [{"sets": name, "method": swept.method, **settings_of}],
            "plots": [plot],
        },
        source="the sweep",
        settings=settings(config),
    )
    return replace(grid, against=grid.cells[0].name)


def _once(settings: Iterable[tuple[str, object]]) -> Table:
    """`settings` as a table; `ConfigError` for one that is named twice, or is none of a method."""
    found: Table = {}
    for name, value in settings:
        if name in found:
            raise ConfigError(f"the setting {name!r} is named twice; expected once")
        if name in ("sets", "method"):
            raise ConfigError(f"{name!r} is no setting of a method")
        found[name] = value
    return found


def _axis(text: str) -> tuple[str, list[object]]:
    """``penalty=0:1:0.1`` or ``k=1,5``: a setting and its values."""
    name, is_said, said = text.partition("=")
    try:
        values = _range(said) if ":" in said else [Decimal(part) for part in said.split(",")]
    except InvalidOperation:
        values = []
    if not (name and is_said and values and all(map(_is_usable, values))):
        raise ConfigError(f"--over {text!r}: expected a setting and its values, as penalty=0:1:0.1 or k=1,5")
    if len(values) > _MOST_VALUES:
        raise ConfigError(f"--over {text!r} has too many values; expected {_MOST_VALUES:,} at most")
    is_whole = all(value == value.to_integral_value() and "." not in str(value) for value in values)
    return name, [int(value) if is_whole else float(value) for value in values]


def _range(said: str) -> list[Decimal]:
    """First, last and step, the last one included: decimal, so that 0.1 is 0.1."""
    parts = [Decimal(part) for part in said.split(":")]
    if len(parts) != 3 or not all(map(_is_usable, parts)):
        raise InvalidOperation
    first, last, step = parts
    if step <= 0 or last < first:
        raise ConfigError(f"the range {said!r} goes nowhere; expected first:last:step with a step above 0")
    count = int((last - first) / step) + 1
    return [first + step * place for place in range(min(count, _MOST_VALUES + 1))]


def _is_usable(value: Decimal) -> bool:
    return value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS


def _setting(text: str) -> tuple[str, object]:
    """``k=10``: a setting and its value as TOML writes it; a word needs no quotes."""
    name, is_said, said = text.partition("=")
    if not (name and is_said):
        raise ConfigError(f"--with {text!r}: expected a setting and its value, as k=10")
    try:
        written = toml(f"value = {said}", source=f"--with {text!r}")
    except ConfigError:
        return name, said
    value = written["value"]
    if isinstance(value, list) or len(written) > 1:
        raise ConfigError(f"--with {text!r}: expected one value; what is swept stands in --over")
    return name, value


def _command(swept: Swept, measure: str, folder: Path, config: Path | None) -> str:
    words = ["distinguo", "sweep", swept.method, "--set", swept.questions]
    words += [word for over in swept.over for word in ("--over", over)]
    words += [word for one in swept.settings for word in ("--with", one)]
    options = {
        "--corpus": swept.corpus,
        "--split": swept.split,
        "--sample": swept.sample,
        "--seed": swept.seed,
        "--config": config,
    }
    for option, value in options.items():
        words += [option, str(value)] if value else []
    words += [] if swept.answers else ["--no-answers"]
    return shlex.join([*words, "--measure", measure, "--out", str(folder)])
