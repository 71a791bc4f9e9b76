"""Read the TOML of a grid: sets, a corpus, models and indexes, and the runs to sweep."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Final, Self, cast, final

from distinguo.config.build import find
from distinguo.config.settings import INDEX_NAME, Settings, read_toml, toml
from distinguo.config.signatures import Table, Within, call, default_component, known, nearest, table
from distinguo.errors import ConfigError
from distinguo.running.grid import Cell, cells
from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.retrieval import cutoff

_OWN: Final = ("name", "corpus", "against", "sets", "runs", "plots")
_USUAL: Final = ("models", "indexes", "limits")


@final
@dataclass(frozen=True, slots=True)
class SetSettings:
    """Which questions.

    Attributes:
        data: a folder with ``questions.jsonl``: a path, or a name under DISTINGUO_DATA.
        split: only those of this split; empty: all.
        sample: only so many of them, drawn by `seed`; 0: all.
        tags: only those that have all of these, such as ``type=yesno``.
        skip: as many as another set of this seed draws, to draw none of its questions.
        corpus: the sets whose documents are searched for it; none: those of the grid.
        against: the cell that the others of this set are compared with; empty: that of the grid.
    """

    data: str
    split: str = ""
    sample: Annotated[int, Within(0)] = 0
    seed: int = 0
    tags: list[str] = field(default_factory=list[str])
    skip: Annotated[int, Within(0)] = 0
    corpus: list[str] = field(default_factory=list[str])
    against: str = ""

    def __post_init__(self) -> None:
        for name in ("tags", "corpus"):
            _texts(getattr(self, name), name)
        if self.skip and not self.sample:
            raise ConfigError(f"'skip' is {self.skip}, of no sample; expected a 'sample' beside it")


@final
@dataclass(frozen=True, slots=True)
class PlotSettings:
    """A metric over a number that the cells of one set and method differ in.

    Attributes:
        set: the set.
        method: the method.
        over: the setting that is the number.
        lines: a setting whose values are the lines of the plot; empty: there is one line.
        measure: the metric, by its name.
    """

    set: str
    method: str
    over: str
    lines: str = ""
    measure: str = "nDCG@10"

    @property
    def title(self) -> str:
        """What is plotted over what."""
        return f"{self.measure} of {self.method} over {self.over} on {self.set}"

    def cells(self, cells: Iterable[Cell]) -> dict[tuple[float, str], Cell]:
        """Those of `cells` that are its points, by number and line; `ConfigError` for two in a place."""
        found: dict[tuple[float, str], Cell] = {}
        for cell in cells:
            x = cell.settings.get(self.over)
            if (cell.set, cell.method) != (self.set, self.method) or not isinstance(x, int | float):
                continue
            line = f"{self.lines}={cell.settings.get(self.lines)}" if self.lines else ""
            other = found.setdefault((float(x), line), cell)
            if other is not cell:
                raise ConfigError(
                    f"the plot over {self.over!r} has two cells for {x!r}: {other.name!r} and {cell.name!r}; "
                    "name in 'lines' what they differ in"
                )
        return found


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
        plots: curves that the page of results shows.
    """

    name: str
    corpus: tuple[str, ...]
    sets: Mapping[str, SetSettings]
    cells: tuple[Cell, ...]
    settings: Settings
    against: str = ""
    plots: tuple[PlotSettings, ...] = ()

    @property
    def has_corpus(self) -> bool:
        """Whether it makes its own indexes; if not, its cells search the user's."""
        return bool(self.corpus) or any(chosen.corpus for chosen in self.sets.values())

    def indexes(self, cells: Iterable[Cell]) -> Mapping[str, tuple[str, ...]]:
        """The indexes that `cells` search, and the sets whose documents they hold."""
        return {
            self.index(cell): self._corpus(cell) for cell in cells if "retriever" in _parameters(cell.method)
        }

    def written(self, cell: Cell) -> Table:
        """The method of `cell` as a configuration writes it; it searches the corpus of its set."""
        if "retriever" not in _parameters(cell.method):
            return {"name": cell.method, **cell.settings}
        retriever = {**_retriever(cell), "index": self.index(cell)}
        return {"name": cell.method, **cell.settings, "retriever": retriever}

    def baseline(self, name: str) -> str:
        """The cell that the others of the set `name` are compared with; empty: none."""
        return self.sets[name].against or next(
            (cell.name for cell in self.cells if cell.set == name and cell.name == self.against), ""
        )

    def index(self, cell: Cell) -> str:
        """The index that `cell` searches, if it searches."""
        usual, own = _usual(cell), self.sets[cell.set].corpus
        if not own:
            return usual
        name = "-".join([*([] if usual == "default" else [usual]), *(Path(part).name for part in own)])
        return name if re.fullmatch(INDEX_NAME, name) else f"corpus-{_mark(usual, *own)}"

    def _corpus(self, cell: Cell) -> tuple[str, ...]:
        return tuple(self.sets[cell.set].corpus) or self.corpus

    @classmethod
    def load(cls, path: Path) -> Self:
        """The grid in the file at `path`. Raises `ConfigError`."""
        text = read_toml(path, hint="with a 'name', [sets] and [[runs]]")
        return cls.of(toml(text, source=str(path)), source=str(path))

    @classmethod
    def of(cls, written: Table, *, source: str, settings: Settings | None = None) -> Self:
        """The grid that `written` holds, around `settings` or its own ones. Raises `ConfigError`."""
        known(written, (*_OWN, *_USUAL), path="")
        usual = {name: written[name] for name in _USUAL if name in written}
        sets = {
            name: cast("SetSettings", call(SetSettings, table(value, path=path), path=path))
            for name, value in table(written.get("sets"), path="sets").items()
            for path in [f"sets.{name}"]
        }
        found = cells(_runs(written.get("runs")), _accepted)
        for cell in found:
            if cell.set not in sets:
                raise ConfigError(f"runs: there is no set {cell.set!r}; {nearest(cell.set, sets)}")
        names = [cell.name for cell in found]
        grid = cls(
            _name(written.get("name")),
            _texts(written.get("corpus", []), "corpus"),
            sets,
            found,
            settings or Settings.of(usual, source=source),
            _against(written.get("against", ""), names, path="against"),
        )
        for name, chosen in sets.items():
            own = [cell.name for cell in found if cell.set == name]
            _against(chosen.against, own, path=f"sets.{name}.against")
        return replace(grid, settings=grid._with_own_indexes(), plots=_plots(written.get("plots", []), found))

    def _with_own_indexes(self) -> Settings:
        """Its settings, with an index for every corpus: made as the one that the cell would search else."""
        indexes = dict(self.settings.indexes)
        made = {name: (name, self.corpus) for name in indexes}
        for cell in self.cells:
            if "retriever" not in _parameters(cell.method):
                continue
            name, usual, corpus = self.index(cell), _usual(cell), self._corpus(cell)
            if self.has_corpus and not corpus:
                raise ConfigError(
                    f"sets.{cell.set}: no 'corpus', as other sets have one; expected one, or the grid's"
                )
            if made.setdefault(name, (usual, corpus)) != (usual, corpus):
                raise ConfigError(
                    f"sets.{cell.set}.corpus: {list(corpus)!r} would be the index {name!r}, which is "
                    "another; give that or the folder of the set another name"
                )
            if usual in indexes:  # if not, the cell's own fault is told when it is made
                indexes.setdefault(name, indexes[usual])
        return replace(self.settings, indexes=indexes)


def _accepted(method: str) -> Collection[str]:
    return {*_parameters(method), "answers"}


def _parameters(method: str) -> Collection[str]:
    return inspect.signature(find("method", method, path="runs.method")).parameters


def _retriever(cell: Cell) -> Table:
    """The retriever of `cell` as a table: that of its settings, or its method's own."""
    factory = find("method", cell.method, path="runs.method")
    spec = cell.settings.get("retriever", default_component(factory, "retriever") or "hybrid")
    return {"name": spec} if isinstance(spec, str) else table(spec, path="runs.retriever")


def _usual(cell: Cell) -> str:
    """The index that `cell` would search if its set had no corpus of its own."""
    return str(_retriever(cell).get("index", "default"))


def _mark(*texts: str) -> str:
    return blake2b("\0".join(texts).encode(), digest_size=6).hexdigest()


def _name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(INDEX_NAME, value):
        raise ConfigError(
            f"name: {value!r} is not the name of a grid; expected a letter or digit, "
            "then letters, digits, '.', '_' or '-', 100 at most"
        )
    return value


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in cast("list[object]", value)):
        raise ConfigError(f"{name}: {value!r} is not a list of texts")
    return tuple(cast("list[str]", value))


def _against(value: object, names: Collection[str], *, path: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{path}: {value!r} is not the name of a cell")
    if value and value not in names:
        raise ConfigError(f"{path}: the grid has no cell {value!r}; {nearest(value, names)}")
    return value


def _plots(value: object, cells: Collection[Cell]) -> tuple[PlotSettings, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"plots: {value!r}; expected [[plots]], each with 'set', 'method' and 'over'")
    plots: list[PlotSettings] = []
    for place, written in enumerate(cast("list[object]", value), 1):
        path = f"plots[{place}]"
        plot = cast("PlotSettings", call(PlotSettings, table(written, path=path), path=path))
        if plot.measure not in ANSWER_METRICS:
            cutoff(plot.measure)
        if plot.title in (other.title for other in plots):
            raise ConfigError(f"{path}: a second plot of {plot.title}")
        points = plot.cells(cells)
        if not points:
            raise ConfigError(f"{path}: no run of {plot.method!r} on {plot.set!r} has a number {plot.over!r}")
        settings = {name for cell in points.values() for name in cell.settings}
        if plot.lines and plot.lines not in settings:
            raise ConfigError(
                f"{path}.lines: its runs have no setting {plot.lines!r}; {nearest(plot.lines, settings)}"
            )
        plots.append(plot)
    return tuple(plots)


def _runs(value: object) -> list[Table]:
    if not isinstance(value, list) or not value:
        raise ConfigError(f"runs: {value!r}; expected [[runs]], each with 'method' and 'sets'")
    return [table(run, path=f"runs[{place}]") for place, run in enumerate(cast("list[object]", value), 1)]
