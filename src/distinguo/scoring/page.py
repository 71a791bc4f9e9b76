"""Writes a page of results: what was measured, on how many questions, how surely, and by which runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final, get_args

from distinguo.records import State
from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.curves import Curve, Point
from distinguo.scoring.judging import Figure, Run, Verdict, against, some
from distinguo.scoring.outcomes import Outcomes
from distinguo.scoring.significance import Interval
from distinguo.scoring.value import Mean, Undefined, Value
from distinguo.trace import Json

_LEAST_P: Final = 0.0001

PROMPTED_ONLY: Final = frozenset({"rankrag", "query2doc_dense"})
"""Methods whose authors trained a model, where ours is only prompted: marked wherever they are compared."""

_SUMMED_UP: Final = ("recall@1", "recall@5", "recall@10", "nDCG@10")

_ROLES: Final = ("llm", "writer", "teacher")


@final
@dataclass(frozen=True, slots=True)
class Report:
    """Runs on one set of questions.

    Attributes:
        title: what the questions are.
        right_by: the metric that told right from wrong answers.
        ignore_self: whether documents with the question's own id were left out of rankings.
        verdicts: one for each run.
        baseline: the run that the others are compared with; None: nothing is compared.
        seed: of the resampling.
    """

    title: str
    right_by: str
    ignore_self: bool
    verdicts: tuple[Verdict, ...]
    baseline: Verdict | None = None
    seed: int = 0


def page(
    title: str, command: str, reports: Sequence[Report], curves: Sequence[tuple[Curve, str]] = ()
) -> str:
    """The page under `title` that `command` makes, in Markdown; of several reports each has its section.

    `curves` come with the names of their plots. It holds no text of a question, an answer or a passage.
    """
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    one = len(reports) == 1
    sections = [
        f"# {title}",
        f"Made from result files by\n\n```\n{command}\n```",
        "Metrics are defined in `docs/metrics.md`. In brackets stand 95 % intervals: Wilson's for shares, "
        "else of a bootstrap over the questions.",
        *(_curve(curve, image) for curve, image in curves),
        *(tables(report) if one else _section(report) for report in reports),
        "## Runs",
        *map(_run, (verdict.run for verdict in verdicts)),
    ]
    return "\n\n".join(sections) + "\n"


def tables(report: Report) -> str:
    """The page's tables and remarks alone, in Markdown."""
    answers = [name for name in _names(report.verdicts) if name in ANSWER_METRICS]
    found = [name for name in _names(report.verdicts) if name not in ANSWER_METRICS]
    sections = [
        _summary(report),
        _outcomes(report),
        *(_answers(report, answers) if answers else ()),
        *(_found(report, found) if found else ()),
        *(_comparisons(report, report.baseline) if report.baseline else ()),
        *_decisions(report.verdicts),
        _costs(report.verdicts),
        *_models(report.verdicts),
        *_remarks(report.verdicts),
    ]
    return "\n\n".join(sections)


def _curve(curve: Curve, image: str) -> str:
    rows = [
        [*([name] if name else []), point.number, str(point.n), f"{_told(point.mean)} ({_interval(point)})"]
        for name, points in curve.lines.items()
        for point in points
    ]
    head = [*(["line"] if any(curve.lines) else []), curve.over, "n", f"`{curve.measure}`"]
    notes = "".join(f"\n\n{note[:1].upper()}{note[1:]}." for note in curve.notes)
    return f"## {curve.title}\n\n![{curve.title}]({image})\n\n{_table(head, rows)}{notes}"


def _interval(point: Point) -> str:
    return _told(point.interval) if point.interval else "–"


def _section(report: Report) -> str:
    """The tables of `report`, a level lower."""
    return f"## {report.title}\n\n" + re.sub("^## ", "### ", tables(report), flags=re.MULTILINE)


def _summary(report: Report) -> str:
    """One row for each run."""
    names = [name for name in _names(report.verdicts) if name in _SUMMED_UP]
    rows = [
        [
            _name(verdict),
            str(verdict.outcomes[0].n),
            _share(verdict.outcomes[0]).partition(" ")[0],
            *(_told(figure.mean.value) if (figure := verdict.figure(name)) else "–" for name in names),
            *_each(verdict),
            _told(verdict.cost.seconds.value),
        ]
        for verdict in report.verdicts
    ]
    head = ["run", "n", "right", *(f"`{name}`" for name in names), "calls", "tokens", "latency"]
    return (
        "## Summary\n\nModel calls and tokens are those of a question that has ended, whether made or taken "
        f"from the cache. All columns are explained below.\n\n{_table(head, rows)}"
    )


def _each(verdict: Verdict) -> tuple[str, str]:
    """Model calls and tokens of a question."""
    cost = verdict.cost
    if not cost.questions:
        return "–", "–"
    calls = cost.calls + cost.cached_calls
    tokens = cost.prompt_tokens + cost.completion_tokens + cost.cached_tokens
    return f"{calls / cost.questions:.1f}", f"{tokens / cost.questions:,.0f}"


def _outcomes(report: Report) -> str:
    counts = [*get_args(State), "missing"]
    head = ["run", "questions", "n", *counts, "right", "answered right", "abstained right"]
    rows = [
        [
            _name(verdict),
            one.slice,
            str(one.n),
            *map(str, one.states.values()),
            str(one.counts["missing"]),
            _share(one),
            *(str(one.counts[name]) if one.judged else "–" for name in ("answered_right", "abstained_right")),
        ]
        for verdict in report.verdicts
        for one in verdict.outcomes
    ]
    return (
        f"## Outcomes\n\nAn answer is right if `{report.right_by}` is 1; where the corpus has no answer, "
        f"only abstaining is right. *Right* is the share of both.\n\n{_table(head, rows)}"
    )


def _answers(report: Report, names: Sequence[str]) -> Iterable[str]:
    yield (
        "## Answers\n\nOver all questions that have an answer; one that was not answered counts as 0.\n\n"
        + _figures(report.verdicts, names, lambda one: one.mean, with_intervals=True)
    )
    yield "Over those that were answered alone:\n\n" + _figures(
        report.verdicts, names, lambda one: one.answered or one.mean
    )
    yield from _unharmed(report.verdicts, names)


def _found(report: Report, names: Sequence[str]) -> Iterable[str]:
    kept = "left out of rankings" if report.ignore_self else "ranked like any other"
    yield (
        "## Retrieval\n\nOver all questions with a gold document, on documents; where nothing was found the "
        f"value is 0. A document with the question's own id is {kept}.\n\n"
        + _figures(report.verdicts, names, lambda one: one.mean, with_intervals=True)
    )
    yield from _unharmed(report.verdicts, names)


def _unharmed(verdicts: Sequence[Verdict], names: Sequence[str]) -> Iterable[str]:
    partial = [verdict for verdict in verdicts if verdict.is_partial]
    if partial:
        yield "*Partial* runs, without the questions that failed or are missing:\n\n" + _figures(
            partial, names, lambda one: one.unharmed
        )


def _figures(
    verdicts: Sequence[Verdict],
    names: Sequence[str],
    chosen: Callable[[Figure], Mean],
    *,
    with_intervals: bool = False,
) -> str:
    """Runs against metrics. `n` is the number of questions; metrics with another one say so themselves."""
    rows: list[list[str]] = []
    for verdict in verdicts:
        means = [(figure, chosen(figure)) for name in names if (figure := verdict.figure(name))]
        if not means:
            continue
        n = max(mean.n for _, mean in means)
        cells = {
            figure.name: _told(mean.value)
            + (f" ({_told(figure.interval)})" if with_intervals and mean.n else "")
            + (f", n {mean.n}" if mean.n not in (n, 0) else "")
            for figure, mean in means
        }
        rows.append([_name(verdict), str(n), *(cells.get(name, "–") for name in names)])
    return _table(["run", "n", *(f"`{name}`" for name in names)], rows)


def _decisions(verdicts: Sequence[Verdict]) -> Iterable[str]:
    """How many questions each decision was noted in: fallbacks, and what was dropped."""
    rows = [
        [_name(verdict), note, f"{count} of {len(verdict.run.rows)}"]
        for verdict in verdicts
        for note, count in Counter(
            note for row in verdict.run.rows.values() for note in row.notes
        ).most_common()
    ]
    if rows:
        yield "## Decisions\n\nIn how many questions a method noted what it did.\n\n" + _table(
            ["run", "decision", "questions"], rows
        )


def _models(verdicts: Sequence[Verdict]) -> Iterable[str]:
    """Which model played which role."""
    played = [(_name(verdict), _roles(verdict)) for verdict in verdicts]
    roles = [role for role in _ROLES if any(role in parts for _, parts in played)]
    rows = [[name, *(parts.get(role, "–") for role in roles)] for name, parts in played if parts]
    if rows:
        yield "## Models\n\n*llm* answers, *writer* writes what is searched with, *teacher* the near " + (
            "questions.\n\n" + _table(["run", *roles], rows)
        )


def _roles(verdict: Verdict) -> Mapping[str, str]:
    method = _method(verdict)
    reads = method.get("answers", True)
    return {role: str(method[role]) for role in _ROLES if role in method and (reads or role != "llm")}


def _method(verdict: Verdict) -> Mapping[str, Json]:
    method = verdict.run.header.get("method")
    return method if isinstance(method, dict) else {}


def _costs(verdicts: Sequence[Verdict]) -> str:
    head = ["run", "calls", "from cache", "prompt tokens", "completion tokens", "cached tokens"]
    rows = [
        [
            _name(verdict),
            f"{cost.calls:,}",
            f"{cost.cached_calls:,}",
            f"{cost.prompt_tokens:,}",
            f"{cost.completion_tokens:,}",
            f"{cost.cached_tokens:,}",
            f"{_told(cost.seconds.value)}",
            _told(cost.pace),
            f"{cost.seconds.n:,}",
        ]
        for verdict in verdicts
        for cost in (verdict.cost,)
    ]
    return (
        "## Cost\n\n*Latency*: the mean of the seconds from asking a question to its end, with others in "
        "flight. *Pace*: the seconds of the whole run for each question. Both are of the n questions that "
        "did not fail and took nothing from the cache.\n\n" + _table([*head, "latency", "pace", "n"], rows)
    )


def _comparisons(report: Report, baseline: Verdict) -> Iterable[str]:
    head = ["run", "metric", "n", "difference", "better", "worse", "p", "test", "only here", "only there"]
    rows: list[list[str]] = []
    for verdict in report.verdicts:
        if verdict is baseline:
            continue
        for name in (figure.name for figure in verdict.figures if baseline.figure(figure.name)):
            found = against(baseline, verdict, name, seed=report.seed)
            if isinstance(found, Undefined):
                rows.append([_name(verdict), f"`{name}`", "0", found.reason, *["–"] * 6])
                continue
            rows.append(
                [
                    _name(verdict),
                    f"`{name}`",
                    str(found.n),
                    f"{found.difference:+.3f} ({found.interval.low:+.3f} to {found.interval.high:+.3f})",
                    str(found.better),
                    str(found.worse),
                    "<0.0001" if found.p < _LEAST_P else f"{found.p:.4f}",
                    found.test,
                    str(found.only_second),
                    str(found.only_first),
                ]
            )
    if not rows:
        return
    yield (
        f"## Against {baseline.run.name}\n\nQuestion by question, on those that both runs have. Intervals by "
        "paired bootstrap, too narrow where few questions differ; p is two-sided, and not corrected for the "
        "number of comparisons.\n\n" + _table(head, rows)
    )


def _remarks(verdicts: Sequence[Verdict]) -> Iterable[str]:
    marked = any(_method(verdict).get("name") in PROMPTED_ONLY for verdict in verdicts)
    if marked:
        yield "† Its authors trained a model for it; ours is only prompted."
    lines = [f"- {verdict.run.name}: {remark}." for verdict in verdicts for remark in remarks(verdict)]
    if lines:
        yield "## Remarks\n\n" + "\n".join(lines)


def remarks(verdict: Verdict) -> list[str]:
    """What a reader of the figures must know: what is missing, undefined or left out."""
    found, whole = list(verdict.notes), verdict.outcomes[0]
    if failed := whole.counts["failed"]:
        found.append(f"partial: {failed} of {whole.n} questions failed")
    if missing := verdict.missing:
        found.append(f"partial: {len(missing)} of {whole.n} questions have no row: {some(missing)}")
    undefined: dict[str, list[str]] = {}
    for figure in verdict.figures:
        if count := figure.mean.undefined:
            reason = f"undefined for {count} of {len(figure.values)}: {'; '.join(figure.mean.reasons)}"
            undefined.setdefault(reason, []).append(f"`{figure.name}`")
    return found + [f"{', '.join(names)}: {reason}" for reason, names in undefined.items()]


def _run(run: Run) -> str:
    told_of = ("started", "commit", "machine", "at_once", "shard", "limit", "seconds", "asked")
    pieces = [{name: piece[name] for name in told_of if name in piece} for piece in run.segments]
    known = json.dumps({**run.header, "segments": pieces}, ensure_ascii=False, indent=1)
    return f"<details><summary>{run.name}</summary>\n\n```json\n{known}\n```\n\n</details>"


def _names(verdicts: Iterable[Verdict]) -> list[str]:
    return list(dict.fromkeys(figure.name for verdict in verdicts for figure in verdict.figures))


def _name(verdict: Verdict) -> str:
    mark = " †" if _method(verdict).get("name") in PROMPTED_ONLY else ""
    return f"{verdict.run.name}{mark}" + (" *partial*" if verdict.is_partial else "")


def _share(one: Outcomes) -> str:
    if isinstance(one.interval, Undefined):
        return "–"
    of = f" of {one.judged}" if one.judged < one.n else ""
    return f"{one.right / one.judged:.3f}{of} ({_told(one.interval)})"


def _told(value: Value | Interval) -> str:
    """A value with three decimals, an interval, or a dash where there is none."""
    match value:
        case Undefined():
            return "–"
        case Interval(low, high):
            return f"{low:.3f} to {high:.3f}"
        case _:
            return f"{value:.3f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    drawn = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([drawn[0], rule, *drawn[1:]])
