"""Read the TOML of a grid: sets, a corpus, models and indexes, and the runs to sweep."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Self, cast, final

from distinguo.config.build import find
from distinguo.config.settings import INDEX_NAME, Settings, read_toml, toml
from distinguo.config.signatures import Table, Within, call, known, nearest, table
from distinguo.errors import ConfigError
from distinguo.running.grid import Cell, cells

_OWN: Final = ("name", "corpus", "against", "sets", "runs")
_USUAL: Final = ("models", "indexes", "limits")


@final
@dataclass(frozen=True, slots=True)
class SetSettings:
    """Which questions.

    Attributes:
        data: a folder with ``questions.jsonl``: a path, or a name under DISTINGUO_DATA.
        split: only those of this split; empty: all.
        sample: only so many of them, drawn by `seed`; 0: all.
    """

    data: str
    split: str = ""
    sample: Annotated[int, Within(0)] = 0
    seed: int = 0


@final
@dataclass(frozen=True, slots=True)
class GridSettings:
    """A whole grid.

    Attributes:
        name: names the folder of the grid's own indexes.
        corpus: the sets whose documents are indexed for it; none: the user's own indexes are used.
        sets: questions, by the names that the runs use.
        cells: what is to be run.
        settings: models, indexes and limits; its method is not used.
        against: the name of the cell that the page of results compares the others with; empty: none.
    """

    name: str
    corpus: tuple[str, ...]
    sets: Mapping[str, SetSettings]
    cells: tuple[Cell, ...]
    settings: Settings
    against: str = ""

    @property
    def indexes(self) -> tuple[str, ...]:
        """The indexes that its cells search."""
        found = (_index_of(cell) for cell in self.cells if "retriever" in _settings_of(cell.method))
        return tuple(dict.fromkeys(found))

    @classmethod
    def load(cls, path: Path) -> Self:
        """The grid in the file at `path`. Raises `ConfigError`."""
        text = read_toml(path, hint="with a 'name', [sets] and [[runs]]")
        return cls.of(toml(text, source=str(path)), source=str(path))

    @classmethod
    def of(cls, written: Table, *, source: str) -> Self:
        """The grid that `written` holds. Raises `ConfigError`."""
        known(written, (*_OWN, *_USUAL), path="")
        usual = {name: written[name] for name in _USUAL if name in written}
        sets = {
            name: cast("SetSettings", call(SetSettings, table(value, path=path), path=path))
            for name, value in table(written.get("sets"), path="sets").items()
            for path in [f"sets.{name}"]
        }
        found = cells(_runs(written.get("runs")), _settings_of)
        for cell in found:
            if cell.set not in sets:
                raise ConfigError(f"runs: there is no set {cell.set!r}; {nearest(cell.set, sets)}")
        return cls(
            _name(written.get("name")),
            _corpus(written.get("corpus", [])),
            sets,
            found,
            Settings.of(usual, source=source),
            _against(written.get("against", ""), [cell.name for cell in found]),
        )


def _settings_of(method: str) -> Collection[str]:
    return inspect.signature(find("method", method, path="runs.method")).parameters


def _index_of(cell: Cell) -> str:
    retriever = cell.settings.get("retriever")
    return str(cast("Table", retriever).get("index", "default")) if isinstance(retriever, dict) else "default"


def _name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(INDEX_NAME, value):
        raise ConfigError(
            f"name: {value!r} is not the name of a grid; expected a letter or digit, "
            "then letters, digits, '.', '_' or '-', 100 at most"
        )
    return value


def _corpus(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in cast("list[object]", value)):
        raise ConfigError(f"corpus: {value!r} is not a list of sets")
    return tuple(cast("list[str]", value))


def _against(value: object, names: Collection[str]) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"against: {value!r} is not the name of a cell")
    if value and value not in names:
        raise ConfigError(f"against: the grid has no cell {value!r}; {nearest(value, names)}")
    return value


def _runs(value: object) -> list[Table]:
    if not isinstance(value, list) or not value:
        raise ConfigError(f"runs: {value!r}; expected [[runs]], each with 'method' and 'sets'")
    return [table(run, path=f"runs[{place}]") for place, run in enumerate(cast("list[object]", value), 1)]
