"""``distinguo score``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, cast, final

from distinguo.cli.console import err, out, print_json, styled
from distinguo.cli.running import questions_file
from distinguo.datasets.folder import Folder, dangling, document_ids, sampled, tagged
from distinguo.datasets.qrels import read_qrels
from distinguo.datasets.questions import read_questions
from distinguo.errors import ConfigError, DataError
from distinguo.records import Example
from distinguo.results.file import ResultFile
from distinguo.running.shards import Shard
from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.curves import Curve
from distinguo.scoring.judging import (
    OPTION,
    Cost,
    Figure,
    Gold,
    Run,
    Verdict,
    against,
    check_questions,
    gather,
    is_exam,
    judge,
    some,
)
from distinguo.scoring.page import Report, page, remarks, tables
from distinguo.scoring.retrieval import cutoff, gold_grades
from distinguo.scoring.significance import Comparison, Interval
from distinguo.scoring.value import Mean, Undefined
from distinguo.trace import Json

SEED: Final = 0
USUAL: Final = "contains_words"
"""Tells right answers from wrong ones, where nobody says by what, and the questions have no options."""


@final
@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of ``distinguo score`` that say what is measured, and how it is shown."""

    metrics: tuple[str, ...] = ()
    right_by: str = ""
    qrels: Path | None = None
    against: str = ""
    ignore_self: bool = False
    is_strict: bool = False
    title: str = "Results"
    page: Path | None = None
    as_json: bool = False


def score(runs: Sequence[Path], gold: str, wishes: Wishes) -> None:
    """Hold result files against a questions file, and print or write what came out."""
    report = judged(runs, gold, wishes)
    partial = [verdict.run.name for verdict in report.verdicts if verdict.is_partial]
    if wishes.is_strict and partial:
        raise DataError(f"questions failed or have no row in {partial!r}, and --strict was asked for")
    if wishes.as_json:
        print_json(_json(report))
    elif wishes.page:
        write_page(wishes.page, _command(runs, gold, wishes), [report])
    else:
        out().print(styled(tables(report)), soft_wrap=True)


def judged(runs: Sequence[Path], gold: str, wishes: Wishes) -> Report:
    """The result files `runs`, held against a questions file."""
    _check(wishes)
    file = questions_file(gold)
    examples = read_questions(file)
    if not wishes.right_by:
        wishes = replace(wishes, right_by=OPTION if is_exam(examples) else USUAL)
    verdicts = _verdicts(runs, examples, file, wishes)
    baseline = _baseline(wishes.against, verdicts)
    return Report(wishes.title, wishes.right_by, wishes.ignore_self, verdicts, baseline, SEED)


def write_page(
    path: Path,
    command: str,
    reports: Sequence[Report],
    *,
    title: str = "",
    curves: Sequence[tuple[Curve, str]] = (),
) -> None:
    """Write `reports` as one page, made by `command`, and tell what its readers must know."""
    text = page(title or reports[0].title, command, reports, curves)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"cannot write {str(path)!r}: {error.strerror}") from error
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    for verdict in verdicts:
        for remark in remarks(verdict):
            err().print(styled((verdict.run.name, "yellow"), f": {remark}"))
    out().print(styled(f"{path}: {len(verdicts)} runs"))


def _verdicts(
    runs: Sequence[Path], examples: Sequence[Example], file: Path, wishes: Wishes
) -> tuple[Verdict, ...]:
    whole, known = sha256(file.read_bytes()).hexdigest(), {example.question.id for example in examples}
    notes = _notes(examples, file)
    verdicts: list[Verdict] = []
    for run in gather({_name(path, runs): ResultFile.read(path) for path in runs}):
        check_questions(run, known)
        is_same = run.header.get("questions") == whole
        asked = _asked(run, file, examples) if is_same else known
        gold = gold_of([example for example in examples if example.question.id in asked], file, wishes)
        gold, count = _standing(gold, run)
        verdict = judge(run, gold, metrics=wishes.metrics, right_by=wishes.right_by, seed=SEED)
        other = () if is_same else ("it was run with another questions file than this",)
        told = f"{count} gold documents were indexed under the id of another one with the same words"
        standing = (told,) if count else ()
        verdicts.append(replace(verdict, notes=(*notes, *other, *standing, *verdict.notes)))
    return tuple(verdicts)


def _notes(examples: Sequence[Example], file: Path) -> tuple[str, ...]:
    """What is wrong with the gold itself."""
    corpus = Folder(file.parent).corpus
    lost = dangling(examples, document_ids(corpus)) if corpus else ()
    told = some([id_ for _, id_ in lost])
    return (f"{len(lost)} gold documents are not in {str(corpus)!r}: {told}",) if lost else ()


def _check(wishes: Wishes) -> None:
    """Names of metrics are looked at before any file is read."""
    for name in wishes.metrics:
        if name not in ANSWER_METRICS:
            cutoff(name)
    if wishes.right_by and wishes.right_by not in ANSWER_METRICS:
        raise ConfigError(
            f"unknown metric {wishes.right_by!r} for --right-by; there are {', '.join(ANSWER_METRICS)}"
        )


def _name(path: Path, runs: Sequence[Path]) -> str:
    """The file's name without its ending, or all of the path where two files have one name."""
    return path.stem if sum(other.stem == path.stem for other in runs) == 1 else str(path)


def _asked(run: Run, file: Path, examples: Sequence[Example]) -> set[str]:
    """The questions that the run was to answer: of its set, in its shards, up to the limits that it had."""
    ids = [example.question.id for example in _drawn(run, file, examples)]
    asked = set(run.rows)
    for piece in run.segments:
        shard, limit = Shard.of(str(piece.get("shard", "1/1"))), piece.get("limit")
        of_shard = [id_ for id_ in ids if id_ in shard]
        asked.update(of_shard[:limit] if isinstance(limit, int) else of_shard)
    return asked


def _drawn(run: Run, file: Path, examples: Sequence[Example]) -> Sequence[Example]:
    """The split and the sample that a run of a grid names."""
    match run.header.get("set"):
        case {"split": str(split), "sample": int(sample), "seed": int(seed), **more}:
            tags, skip = cast("list[str]", more.get("tags", [])), cast("int", more.get("skip", 0))
            found = tagged(read_questions(file, split=split), tags)
            return sampled(found, sample, seed=seed, skip=skip) if sample else found
        case _:
            return examples


def gold_of(examples: Sequence[Example], file: Path, wishes: Wishes | None = None) -> Gold:
    """Relevant are the documents that the judgements say; of questions without any, the gold documents."""
    wishes = wishes or Wishes()
    qrels = wishes.qrels or Folder(file.parent).qrels
    judged = read_qrels(qrels) if qrels else {}
    return Gold(tuple(examples), {**gold_grades(examples), **judged}, wishes.ignore_self)


def _standing(gold: Gold, run: Run) -> tuple[Gold, int]:
    """`gold` with the ids under which the run's grid had indexed it, and how many ids that changed.

    Of documents that are the same words one is indexed, and stands for the others.
    """
    folded: dict[str, Json] = {}
    for piece in run.segments:
        match piece.get("folded"):
            case dict(others):
                folded |= others
            case _:
                pass
    grades: dict[str, dict[str, int]] = {}
    for question, graded in gold.grades.items():
        found = grades.setdefault(question, {})
        for document, grade in graded.items():
            stands = str(folded.get(document, document))
            found[stands] = max(grade, found.get(stands, grade))
    gone = {document for graded in gold.grades.values() for document in graded} & folded.keys()
    return replace(gold, grades=grades), len(gone)


def _baseline(name: str, verdicts: Sequence[Verdict]) -> Verdict | None:
    if not name:
        return None
    wanted = (name, Path(name).name.removesuffix(".jsonl"))
    for verdict in verdicts:
        if verdict.run.name in wanted:
            return verdict
    raise ConfigError(
        f"no run {name!r} to compare with; there are {[verdict.run.name for verdict in verdicts]!r}"
    )


def _command(runs: Sequence[Path], gold: str, wishes: Wishes) -> str:
    words = ["distinguo", "score", *map(str, runs), "--gold", gold]
    for name in wishes.metrics:
        words += ["--measure", name]
    options: dict[str, object] = {
        "--right-by": wishes.right_by,
        "--qrels": wishes.qrels,
        "--against": wishes.against,
        "--title": wishes.title if wishes.title != Wishes().title else None,
        "--page": wishes.page,
    }
    for option, value in options.items():
        words += [option, str(value)] if value else []
    flags = {"--ignore-self": wishes.ignore_self, "--strict": wishes.is_strict}
    return shlex.join([*words, *(flag for flag, is_set in flags.items() if is_set)])


def _json(report: Report) -> dict[str, Json]:
    return {
        "right_by": report.right_by,
        "ignore_self": report.ignore_self,
        "baseline": report.baseline.run.name if report.baseline else None,
        "runs": {verdict.run.name: _verdict(verdict, report) for verdict in report.verdicts},
    }


def _verdict(verdict: Verdict, report: Report) -> Json:
    compared: dict[str, Json] = {}
    if report.baseline and verdict is not report.baseline:
        for figure in verdict.figures:
            found = against(report.baseline, verdict, figure.name, seed=report.seed)
            compared[figure.name] = _plain(found)
    return {
        "header": dict(verdict.run.header),
        "is_partial": verdict.is_partial,
        "missing": list(verdict.missing),
        "notes": [*remarks(verdict)],
        "outcomes": {one.slice: {"n": one.n, "right": one.right, **one.counts} for one in verdict.outcomes},
        "metrics": {figure.name: _figure(figure) for figure in verdict.figures},
        "cost": _plain(verdict.cost),
        "against": compared,
    }


def _figure(figure: Figure) -> Json:
    return {
        "mean": _plain(figure.mean),
        "interval": _plain(figure.interval),
        "answered": _plain(figure.answered) if figure.answered else None,
        "without_failed": _plain(figure.unharmed),
    }


def _plain(record: Mean | Interval | Undefined | Comparison | Cost) -> Json:
    """A record as JSON; what is undefined is an object with its reason."""
    return cast("Json", json.loads(json.dumps(asdict(record))))
