"""Judges a run: every question that it was to answer, against the gold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from distinguo.errors import DataError
from distinguo.records import Example
from distinguo.results.file import Results
from distinguo.results.rows import Row
from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.outcomes import Ending, Outcomes, answer_value, asks_for_silence, ending, outcomes
from distinguo.scoring.retrieval import Grades, cutoff, ranking, retrieval_values
from distinguo.scoring.significance import Comparison, Interval, compare, interval
from distinguo.scoring.value import Mean, Undefined, Value, mean
from distinguo.trace import Json

RETRIEVAL_MEASURES: Final = ("recall@1", "recall@5", "recall@10", "success@5", "nDCG@10", "MRR@10")
"""What is measured where nobody says: all to a depth, so that rankings of other depths are not compared."""

OPTION: Final = "option"
"""The metric of answers to questions that all have options; of others it says nothing that `EM` does not."""

_MOST_TOLD: Final = 5


@final
@dataclass(frozen=True, slots=True)
class Run:
    """What a run left behind.

    Attributes:
        name: for tables.
        header: its fingerprint.
        segments: when and where it was run, piece by piece.
        rows: the last row of every question, by id.
    """

    name: str
    header: Mapping[str, Json]
    segments: tuple[Mapping[str, Json], ...]
    rows: Mapping[str, Row]


@final
@dataclass(frozen=True, slots=True)
class Gold:
    """What is right: the questions of a run, and which documents are relevant to them."""

    examples: tuple[Example, ...]
    grades: Grades
    ignore_self: bool = False


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one run.

    Attributes:
        values: by question, for all that the metric is about. What was not answered or found counts as 0.
        mean: of these.
        interval: of the mean.
        answered: the mean over the questions that were answered; of metrics of what was found: None.
        unharmed: the mean over the questions that neither failed nor are missing.
    """

    name: str
    values: Mapping[str, Value]
    mean: Mean
    interval: Interval | Undefined
    answered: Mean | None
    unharmed: Mean


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took.

    Attributes:
        questions: those that have ended, in whatever way.
        calls: model calls that were made, and `cached_calls` that were answered from the cache.
        prompt_tokens, completion_tokens: of the calls made; `cached_tokens`: of both kinds, of the others.
        seconds: mean of the questions that did not fail and took nothing from the cache (others in flight).
        pace: seconds that the run took as a whole for each of these, over its pieces that came to their end.
    """

    questions: int
    calls: int
    cached_calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    seconds: Mean
    pace: Value


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """All figures of one run. It `is_partial` where questions failed or have no row."""

    run: Run
    outcomes: tuple[Outcomes, ...]
    figures: tuple[Figure, ...]
    cost: Cost
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_partial(self) -> bool:
        """Whether some questions were never put, or to no avail."""
        return bool(self.missing or self.outcomes[0].counts["failed"])

    def figure(self, name: str) -> Figure | None:
        """The figure of the metric `name`, if it was measured."""
        return next((figure for figure in self.figures if figure.name == name), None)


def judge(run: Run, gold: Gold, *, metrics: Sequence[str] = (), right_by: str, seed: int = 0) -> Verdict:
    """Hold `run` against `gold`.

    Args:
        run: what is judged; its rows of questions that are not in `gold` are left aside.
        gold: the questions that the run was to answer; one without a row counts as 0, and is told.
        metrics: names of answer metrics and of measures of retrieval; none: all answer metrics, but of a
            search alone, and `RETRIEVAL_MEASURES` if it has evidence.
        right_by: the answer metric that tells right from wrong answers in the outcome counts.
        seed: of the bootstrap.

    Raises:
        ConfigError: a metric is unknown, or `ir_measures` is missing.
    """
    rows = {example.question.id: run.rows.get(example.question.id) for example in gold.examples}
    there = [row for row in rows.values() if row]
    endings: dict[str, Ending] = {
        example.question.id: ending(
            example, rows[example.question.id], right_by="" if _is_search(there) else right_by
        )
        for example in gold.examples
    }
    wanted, notes = _wanted(metrics, there, gold)
    values = _values(wanted, gold, rows)
    return Verdict(
        run=run,
        outcomes=outcomes(gold.examples, endings),
        figures=tuple(_figure(name, values[name], rows, seed=seed) for name in wanted),
        cost=_cost(there, run.segments),
        missing=tuple(id_ for id_, row in rows.items() if row is None),
        notes=tuple(notes),
    )


def against(baseline: Verdict, other: Verdict, metric: str, *, seed: int = 0) -> Comparison | Undefined:
    """Compare two runs by `metric`, on the questions of which both have a row that did not fail.

    A failure says nothing of a method: it would be a loss to whichever run met the outage.
    """
    first, second = baseline.figure(metric), other.figure(metric)
    if first is None or second is None:
        return Undefined(f"{metric} is not measured in both runs")
    return compare(_of_ended(baseline, first), _of_ended(other, second), seed=seed)


def _of_ended(verdict: Verdict, figure: Figure) -> dict[str, Value]:
    rows = verdict.run.rows
    return {id_: value for id_, value in figure.values.items() if id_ in rows and rows[id_].state != "failed"}


def gather(files: Mapping[str, Results]) -> tuple[Run, ...]:
    """The runs that `files` hold, by the names of the files.

    Files of one fingerprint that share no question are shards of one run, which has the first one's name.
    """
    runs: list[Run] = []
    for name, found in files.items():
        rows = {row.id: row for row in found.rows}
        for place, run in enumerate(runs):
            if run.header == found.header and not run.rows.keys() & rows.keys():
                runs[place] = replace(run, segments=run.segments + found.segments, rows={**run.rows, **rows})
                break
        else:
            runs.append(Run(name, found.header, found.segments, rows))
    return tuple(runs)


def check_questions(run: Run, known: Collection[str]) -> None:
    """Raise `DataError` if the run has rows of questions that are not among the `known` ids."""
    strange = [id_ for id_ in run.rows if id_ not in known]
    if strange:
        raise DataError(
            f"the run {run.name!r} has {len(strange)} of {len(run.rows)} questions that the gold file lacks: "
            f"{some(strange)}; expected the file that it was run with"
        )


def some(ids: Sequence[str]) -> str:
    """The first few of `ids`, and how many more there are."""
    more = f" and {len(ids) - _MOST_TOLD} more" if len(ids) > _MOST_TOLD else ""
    return ", ".join(map(repr, ids[:_MOST_TOLD])) + more


def _wanted(metrics: Sequence[str], rows: Sequence[Row], gold: Gold) -> tuple[list[str], list[str]]:
    """The metrics to compute, and notes on what is not and on what to beware of."""
    notes: list[str] = []
    wanted = list(dict.fromkeys(metrics))
    if not wanted and any(example.gold for example in gold.examples):
        if _is_search(rows):
            notes.append("it answers with evidence alone: metrics of answers are left out")
        else:
            is_chosen = is_exam(gold.examples)
            wanted += [name for name in ANSWER_METRICS if (name == OPTION) == is_chosen]
    if not metrics and any(gold.grades.values()):
        if any(row.evidence for row in rows):
            wanted += RETRIEVAL_MEASURES
        else:
            notes.append("no row has evidence: metrics of retrieval are left out")
    deepest = max((len(ranking(row)) for row in rows), default=0)
    shallow = [name for name in wanted if name not in ANSWER_METRICS and (cutoff(name) or 0) > deepest]
    if shallow and metrics:
        notes.append(f"no ranking has more than {deepest} documents; {', '.join(shallow)} looked for more")
    elif shallow:
        notes.append(f"no ranking has more than {deepest} documents: {', '.join(shallow)} left out")
        wanted = [name for name in wanted if name not in shallow]
    unread = sum(row.state == "unreadable" for row in rows)
    if unread and any(name not in ANSWER_METRICS for name in wanted):
        notes.append(f"{unread} unreadable questions list no evidence: metrics of retrieval count them as 0")
    return wanted, notes


def is_exam(examples: Sequence[Example]) -> bool:
    """Whether all of `examples` have options."""
    return bool(examples) and all(example.question.choices for example in examples)


def _is_search(rows: Sequence[Row]) -> bool:
    """Whether nothing but evidence was given for an answer, as the method `retrieve` does."""
    answered = [row.answer for row in rows if row.state == "answered"]
    return bool(answered) and not any(answered)


def _values(
    wanted: Sequence[str], gold: Gold, rows: Mapping[str, Row | None]
) -> dict[str, Mapping[str, Value]]:
    answerable = [example for example in gold.examples if not asks_for_silence(example)]
    values: dict[str, Mapping[str, Value]] = {
        name: {
            example.question.id: answer_value(name, example, rows[example.question.id])
            for example in answerable
        }
        for name in wanted
        if name in ANSWER_METRICS
    }
    measures = [name for name in wanted if name not in ANSWER_METRICS]
    grades = {id_: gold.grades.get(id_, {}) for id_ in rows}
    rankings = {id_: ranking(row) for id_, row in rows.items() if row}
    return values | retrieval_values(measures, grades, rankings, ignore_self=gold.ignore_self)


def _figure(name: str, values: Mapping[str, Value], rows: Mapping[str, Row | None], *, seed: int) -> Figure:
    states = {id_: row.state if row else "missing" for id_, row in rows.items()}
    answered = [value for id_, value in values.items() if states[id_] == "answered"]
    unharmed = [value for id_, value in values.items() if states[id_] not in ("failed", "missing")]
    numbers = [value for value in values.values() if not isinstance(value, Undefined)]
    return Figure(
        name=name,
        values=values,
        mean=mean(values.values()),
        interval=interval(numbers, seed=seed),
        answered=mean(answered) if name in ANSWER_METRICS else None,
        unharmed=mean(unharmed),
    )


def _cost(rows: Sequence[Row], segments: Sequence[Mapping[str, Json]]) -> Cost:
    return Cost(
        questions=len(rows),
        calls=sum(row.calls for row in rows),
        cached_calls=sum(row.cached_calls for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        cached_tokens=sum(row.cached_tokens for row in rows),
        seconds=mean(row.seconds for row in rows if row.is_timed and row.state != "failed"),
        pace=_pace(segments),
    )


def _pace(segments: Sequence[Mapping[str, Json]]) -> Value:
    seconds = timed = 0.0
    for segment in segments:
        match segment:
            case {"seconds": int(took) | float(took), "timed": int(count)}:
                seconds, timed = seconds + took, timed + count
            case _:  # it was broken off
                pass
    return seconds / timed if timed else Undefined("no piece of the run with such questions came to its end")
