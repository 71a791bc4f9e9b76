"""What the page on contrast says beyond the tables of its grid: ``make contrast``.

Which of AutoRAG's modules the development questions chose, how the hypotheses of CHR differ, and how far two
methods find different passages. The page begins with what a person has to say of the figures (``findings.md``
beside the result files), if that is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from distinguo.concurrently import each
from distinguo.config.build import Components
from distinguo.config.grid import GridSettings
from distinguo.config.places import Places
from distinguo.datasets.folder import find_folder
from distinguo.errors import ParseError
from distinguo.protocols import LLM
from distinguo.records import Example
from distinguo.results.file import ResultFile
from distinguo.results.rows import Row
from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.judging import is_exam
from distinguo.scoring.retrieval import gold_grades, ranking, retrieval_values
from distinguo.scoring.significance import wilson
from distinguo.scoring.value import Undefined, mean
from distinguo.stages.hypothesise import hypothesise

TOP: Final = 5
"""Passages in which two lists are compared (CHR, abstract: top-5)."""

_AUTORAG: Final = """\
## AutoRAG

It chooses among modules on development questions. Ours are the question as it is, rewriting, multi-query and
HyDE, all on hybrid search; the one with the best `nDCG@10` on `nq_dev` counts as its row on the other sets:
`{chosen}`."""

_APART: Final = """\
## Where CHR is right and HyDE is wrong

How many such questions there are for which both found passages, and how many of them have none in common
among the first {top} of both; beside it the same of all questions (in brackets Wilson's 95 % interval).

| right | wrong | metric | disjoint where one is right and the other wrong | disjoint of all |
|---|---|---|---|---|
"""

_LABELS: Final = """\
## Hypotheses

Of how many questions H⁻ was missing or said the words of H⁺ (λ = 0), and how often the words of a gold answer
stand in either.

| set | n | no H⁻ | H⁺ holds the gold | H⁻ holds the gold |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Apart:
    """Questions for which both methods found passages; `disjoint` of the `n` have none in common.

    The first `TOP` of both are looked at.
    """

    n: int
    disjoint: int

    def __str__(self) -> str:
        if not self.n:
            return "none"
        found = wilson(self.disjoint, self.n)
        bounds = "" if isinstance(found, Undefined) else f" ({found.low:.2f} to {found.high:.2f})"
        return f"{self.disjoint} of {self.n}, {self.disjoint / self.n:.2f}{bounds}"


def apart(
    examples: Iterable[Example], one: Mapping[str, Row], other: Mapping[str, Row], *, right_by: str
) -> Apart:
    """How often the lists of `one` and `other` share nothing, where the one is right and the other wrong.

    With an empty `right_by`: over all questions, as what to hold that against.
    """
    pairs = [
        (example, one[example.question.id], other[example.question.id])
        for example in examples
        if example.question.id in one and example.question.id in other
    ]
    tops = [
        (_top(first), _top(second))
        for example, first, second in pairs
        if not right_by or (_is_right(example, first, right_by) and not _is_right(example, second, right_by))
    ]
    found = [(first, second) for first, second in tops if first and second]
    return Apart(len(found), sum(not first & second for first, second in found))


def best(examples: Sequence[Example], runs: Mapping[str, Mapping[str, Row]], *, measure: str) -> str:
    """The name of the run with the highest mean `measure` over `examples`; of equal ones the first."""
    grades = gold_grades(examples)
    means = {
        name: mean(
            retrieval_values(
                [measure],
                grades,
                {id_: ranking(row) for id_, row in rows.items() if id_ in grades},
                ignore_self=False,
            )[measure].values()
        ).value
        for name, rows in runs.items()
    }
    return max(means, key=lambda name: _number(means[name]))


def read(path: Path) -> dict[str, Row]:
    """The rows of a result file by question."""
    return {row.id: row for row in ResultFile.read(path).rows}


@dataclass(frozen=True)
class Label:
    """What the hypotheses of one question are like; no text of theirs. None: the gold is yes or no."""

    id: str
    has_mimic: bool
    target_holds_gold: bool | None
    mimic_holds_gold: bool | None


async def labels(llm: LLM, examples: Iterable[Example]) -> tuple[Label, ...]:
    """A label for every question whose hypotheses can be read. Kept replies are not asked for again."""

    async def one(example: Example) -> Label | None:
        try:
            pair = await hypothesise(llm, example.question)
        except ParseError:
            return None
        holds = [_holds(text, example) for text in (pair.target, pair.mimic)]
        return Label(example.question.id, bool(pair.mimic), *holds)

    return tuple(label for label in await each(one, examples) if label)


def examples_of(grid: GridSettings, name: str) -> tuple[Example, ...]:
    """The questions of a set of `grid`."""
    chosen = grid.sets[name]
    return find_folder(chosen.data, Path(os.environ["DISTINGUO_DATA"])).examples(
        split=chosen.split,
        tags=chosen.tags,
        sample=chosen.sample or None,
        seed=chosen.seed,
        skip=chosen.skip,
    )


def sections(grid: GridSettings, folder: Path) -> Iterable[str]:
    """The parts of the page that this module adds, as far as the result files are there."""
    runs = {cell.name: folder / f"{cell.name}.jsonl" for cell in grid.cells}
    there = {name: read(path) for name, path in runs.items() if path.exists()}
    dev = {name: rows for name, rows in there.items() if name.startswith("nq_dev.") and _is_module(name)}
    if dev:
        chosen = best(examples_of(grid, "nq_dev"), dev, measure="nDCG@10")
        yield _AUTORAG.format(chosen=chosen.partition(".")[2])
    yield from _told_apart(grid, there)


def _told_apart(grid: GridSettings, there: Mapping[str, Mapping[str, Row]]) -> Iterable[str]:
    lines: list[str] = []
    for name in grid.sets:
        mine = {cell: rows for cell, rows in there.items() if _is_of(cell, name)}
        for cell, rows in mine.items():
            if not cell.startswith(f"{name}.chr."):
                continue
            examples = examples_of(grid, name)
            metric = "option" if is_exam(examples) else "contains_words"
            for other, theirs in mine.items():
                if other.startswith(f"{name}.hyde.") and _llm(other) == _llm(cell):
                    found = apart(examples, rows, theirs, right_by=metric)
                    usual = apart(examples, rows, theirs, right_by="")
                    lines.append(f"| {cell} | {other} | `{metric}` | {found} | {usual} |")
    if lines:
        yield _APART.format(top=TOP) + "\n".join(lines)


def _told_labels(path: Path) -> str:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    sets = dict.fromkeys(row["set"] for row in rows)
    lines = [
        f"| {name} | {len(mine)} | {sum(not row['has_mimic'] for row in mine)} "
        f"| {_count(mine, 'target_holds_gold')} | {_count(mine, 'mimic_holds_gold')} |"
        for name in sets
        for mine in [[row for row in rows if row["set"] == name]]
    ]
    return _LABELS + "\n".join(lines)


def _count(rows: Sequence[Mapping[str, object]], name: str) -> int | str:
    """How many of `rows` are labelled so; a dash where no row can be."""
    known = [bool(row[name]) for row in rows if row[name] is not None]
    return sum(known) if known else "–"


def _is_of(cell: str, name: str) -> bool:
    """Whether `cell` answers the questions of the set `name`."""
    return cell.startswith(f"{name}.") and "answers=" not in cell


def _is_module(cell: str) -> bool:
    method = cell.split(".")[1]
    return method in ("hybrid", "rewrite", "multi_query") or (method == "hyde" and "retriever=hybrid" in cell)


def _llm(cell: str) -> str:
    return next((part for part in cell.split(".") if part.startswith("llm=")), "")


def _holds(text: str, example: Example) -> bool | None:
    if {answer.casefold() for answer in example.gold} <= {"yes", "no"}:
        return None
    value = ANSWER_METRICS["contains_words"](text, example.gold)
    return bool(text) and not isinstance(value, Undefined) and value >= 1


def _is_right(example: Example, row: Row, right_by: str) -> bool:
    value = ANSWER_METRICS[right_by](row.answer if row.state == "answered" else "", example.gold)
    return not isinstance(value, Undefined) and value >= 1


def _top(row: Row) -> set[str]:
    return {weighed.passage for weighed in row.evidence[:TOP]}


def _number(value: object) -> float:
    return value if isinstance(value, float) else -1.0


LABELLED: Final = ("nq_200", "bioasq_yes_no", "medqa_30", "mmlu_med_30")


def _label(grid: GridSettings, path: Path) -> None:
    """Write the labels of all `LABELLED` sets, whole or not at all."""
    lines: list[str] = []
    places = Places.of(os.environ)
    with asyncio.Runner() as runner:
        made = Components(grid.settings, places)
        try:
            llm = made.llm()
            for name in LABELLED:
                found = runner.run(labels(llm, examples_of(grid, name)))
                lines += [json.dumps({"set": name, **asdict(label)}) for label in found]
        finally:
            runner.run(made.aclose())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def main() -> None:
    """Label the hypotheses, if that was not done, and put the parts of the page together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grid", type=Path)
    parser.add_argument("folder", type=Path, help="of the result files")
    parser.add_argument("page", type=Path, help="that `distinguo grid` wrote")
    options = parser.parse_args()
    grid = GridSettings.load(options.grid)
    labelled, findings = options.folder / "hypotheses.jsonl", options.folder / "findings.md"
    if not labelled.exists():
        _label(grid, labelled)
    title, rest = options.page.read_text(encoding="utf-8").split("\n", 1)
    said = [findings.read_text(encoding="utf-8").strip()] if findings.exists() else []
    parts = [title, *said, *sections(grid, options.folder), _told_labels(labelled), rest.strip()]
    options.page.write_text("\n\n".join(parts) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
