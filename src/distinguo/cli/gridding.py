"""``distinguo grid``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, final

from distinguo.cli.console import complain, err, out, progress, styled
from distinguo.cli.live import counts
from distinguo.cli.plotting import check, curve, drawn_beside
from distinguo.cli.running import AGAIN, Wishes, bring_to_end, cost, set_folder
from distinguo.cli.setting_up import opened, places
from distinguo.config.build import Components
from distinguo.config.fingerprint import fingerprint, segment
from distinguo.config.grid import GridSettings, SetSettings
from distinguo.config.places import Places
from distinguo.config.signatures import nearest
from distinguo.documents.readers import read
from distinguo.errors import BackendError, ConfigError, DataError, MismatchError
from distinguo.indexing.build import build
from distinguo.records import Example, Question
from distinguo.results.file import ResultFile
from distinguo.running.grid import Cell, sweep
from distinguo.running.run import Tally
from distinguo.scoring.judging import OPTION, is_exam
from distinguo.scoring.page import Report
from distinguo.trace import Json


def list_cells(file: Path, folder: Path, only: Sequence[str]) -> None:
    """Print the cells, how many questions each has, and how many of them have ended."""
    grid = GridSettings.load(file)
    for cell in _chosen(grid, only):
        asked, path = _Drawn.of(grid.sets[cell.set]).questions, _file(folder, cell)
        is_there = path.exists() and _is_whole(path)
        done = {row.id for row in ResultFile.read(path).rows} if is_there else set[str]()
        ended = sum(question.id in done for question in asked)
        out().print(styled(f"{cell.name}: {ended:,} of {len(asked):,} questions have ended"))


@final
@dataclass(frozen=True, slots=True)
class Paper:
    """The page that a grid writes, and the command that made it."""

    path: Path
    command: str


def run_grid(
    grid: GridSettings,
    folder: Path,
    only: Sequence[str] = (),
    *,
    wishes: Wishes,
    page: Paper | None,
    max_tokens: int | None = None,
) -> bool:
    """Bring every cell of the grid to its end; whether all are there."""
    chosen = _chosen(grid, only)
    drawn = {name: _Drawn.of(grid.sets[name]) for name in dict.fromkeys(cell.set for cell in chosen)}
    for plot in grid.plots if page else ():
        if plot.set in drawn:
            check(plot, grid.cells, drawn[plot.set].examples, drawn[plot.set].source)
    with opened(grid.settings, _places(grid), max_tokens=max_tokens) as (made, runner):
        folded = _index(grid, chosen, made)
        for cell in chosen:  # a mistake in one of them is told before the first is run
            with suppress(DataError, BackendError):  # what is missing is told in its turn
                made.method_of(grid.written(cell))
        task = _Task(grid, drawn, folded, made, runner, folder, wishes)
        refused: set[str] = set()

        def tell(cell: Cell, error: Exception) -> None:
            complain(f"the cell {cell.name!r}: {error}")
            if isinstance(error, MismatchError):
                refused.add(cell.name)

        try:
            tallies = sweep(chosen, task.run, on_error=tell)
        except KeyboardInterrupt:
            err().print(f"interrupted; what has ended is in {str(folder)!r}: {AGAIN}")
            raise
    if page is not None:
        _write_page(grid, folder, page, [cell for cell in grid.cells if cell.name not in refused])
    left = [cell.name for cell in chosen if cell.name not in tallies or tallies[cell.name].left]
    if left:
        complain(f"{len(left)} of {len(chosen)} cells are not at their end ({', '.join(left)}); {AGAIN}")
    return not left


@final
@dataclass(frozen=True, slots=True)
class _Drawn:
    """The questions of a set, and the file that they are from."""

    source: Path
    examples: tuple[Example, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions alone."""
        return tuple(example.question for example in self.examples)

    @classmethod
    def of(cls, chosen: SetSettings) -> Self:
        folder = set_folder(chosen.data)
        examples = folder.examples(
            split=chosen.split,
            tags=chosen.tags,
            sample=chosen.sample or None,
            seed=chosen.seed,
            skip=chosen.skip,
        )
        return cls(folder.questions, examples)


@final
@dataclass(frozen=True, slots=True)
class _Task:
    """What all cells share."""

    grid: GridSettings
    drawn: Mapping[str, _Drawn]
    folded: Mapping[str, dict[str, Json]]
    made: Components
    runner: asyncio.Runner
    folder: Path
    wishes: Wishes

    def run(self, cell: Cell) -> Tally:
        """Bring `cell` to its end."""
        began, written, drawn = time.monotonic(), self.grid.written(cell), self.drawn[cell.set]
        header = fingerprint(self.made.told(written), drawn.source)
        folded = self.folded.get(self.grid.index(cell), {})
        piece = segment(drawn.source, at_once=self.wishes.at_once, folded=folded)
        with ResultFile.open(_file(self.folder, cell), {**header, "set": self._told(cell.set)}) as kept:
            tally = bring_to_end(
                self.made,
                self.runner,
                written,
                drawn.questions,
                kept,
                segment=piece,
                wishes=self.wishes,
            )
        seconds = time.monotonic() - began
        out().print(
            styled(f"{cell.name}: {tally.total:,} questions: {counts(tally)}; {cost(tally, seconds)}")
        )
        return tally

    def _told(self, name: str) -> dict[str, Json]:
        chosen = self.grid.sets[name]
        told: dict[str, Json] = {
            "name": name,
            "split": chosen.split,
            "sample": chosen.sample,
            "seed": chosen.seed,
        }
        if chosen.tags:
            told["tags"] = list(chosen.tags)
        if chosen.skip:
            told["skip"] = chosen.skip
        return told


def _chosen(grid: GridSettings, only: Sequence[str]) -> list[Cell]:
    names = [cell.name for cell in grid.cells]
    for name in only:
        if name not in names:
            raise ConfigError(f"the grid has no cell {name!r}; {nearest(name, names)}")
    return [cell for cell in grid.cells if not only or cell.name in only]


def _places(grid: GridSettings) -> Places:
    """A grid with a corpus has a home of its own for its indexes; replies and models are shared."""
    there = places()
    return replace(there, home=there.home / "grids" / grid.name) if grid.has_corpus else there


def _index(grid: GridSettings, chosen: Sequence[Cell], made: Components) -> dict[str, dict[str, Json]]:
    """Bring the indexes of the `chosen` cells up to date; what was folded in each, and into which."""
    folded: dict[str, dict[str, Json]] = {}
    if not grid.has_corpus:
        return folded
    for name, corpus in grid.indexes(chosen).items():
        found = [document for part in corpus for document in read(_corpus(part))]
        recipe = made.recipe(name)
        with progress(unit="documents") as step:
            report = build(made.make_index(name), found, recipe, missing="delete", progress=step)
        folded[name] = {document.id: document.same_as for document in report.folded}
        for skipped in report.skipped:
            err().print(styled(("skipped", "yellow"), f" {skipped.source}: {skipped.reason}"))
        done = f"{report.documents:,} documents, {len(report.folded):,} folded, {report.seconds:,.1f} s"
        err().print(styled(f"index {name!r} of the grid: {done}"))
    return folded


def _corpus(name: str) -> Path:
    folder = set_folder(name)
    if folder.corpus is None:
        raise ConfigError(f"corpus: the set {name!r} has no documents; expected a corpus.jsonl in it")
    return folder.corpus


def _write_page(grid: GridSettings, folder: Path, page: Paper, cells: Sequence[Cell]) -> None:
    """Score the result files of `cells` that are there and whole: a section for each set, and the plots.

    Runs are compared with the cell that the grid names for their set.
    """
    from distinguo.cli.scoring import Wishes as Shown
    from distinguo.cli.scoring import judged, write_page

    by_set: dict[str, list[Path]] = {}
    for cell in cells:
        if (rows := _file(folder, cell)).exists() and _is_whole(rows):
            by_set.setdefault(cell.set, []).append(rows)
    reports: list[Report] = []
    for name, files in by_set.items():
        exam = is_exam(_Drawn.of(grid.sets[name]).examples)
        against = _against(grid.baseline(name), files)
        shown = Shown(title=name, against=against, right_by=OPTION if exam else "")
        reports.append(judged(files, grid.sets[name].data, shown))
    curves = [
        (found, drawn_beside(found, page.path).name)
        for plot in grid.plots
        for found in [curve(plot, grid.cells, by_set.get(plot.set, ()), grid.sets[plot.set].data)]
        if found.points
    ]
    if reports:
        write_page(page.path, page.command, reports, title=grid.name.capitalize(), curves=curves)


def _against(name: str, files: Sequence[Path]) -> str:
    """`name`, if one of `files` is of this cell."""
    return name if any(file.stem == name for file in files) else ""


def _is_whole(file: Path) -> bool:
    """Whether `file` can be read; if not, it is told, and keeps no other cell from the page."""
    try:
        ResultFile.read(file)
    except DataError as error:
        complain(f"left out: {error}")
        return False
    return True


def _file(folder: Path, cell: Cell) -> Path:
    return folder / f"{cell.name}.jsonl"
