"""Metrics of what was found, on documents: recall@k, success@k, nDCG@k and MRR, computed by `ir_measures`.

The order in which a method gave its evidence is the ranking; scores are not looked at, so that there are no
ties. A document counts where it stands first: of several passages of one document the later ones are dropped
before any metric, so that no value exceeds 1. Documents that nobody judged count as not relevant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from distinguo.errors import ConfigError
from distinguo.records import Example
from distinguo.results.rows import Row
from distinguo.scoring.value import Undefined, Value

if TYPE_CHECKING:
    from ir_measures import Metric
    from ir_measures.measures import Measure

Grades = Mapping[str, Mapping[str, int]]
"""Question id -> document id -> grade; above 0 is relevant."""

_MEASURE: Final = re.compile(r"(?P<name>recall|success|nDCG|MRR)(?:@(?P<cutoff>[1-9][0-9]*))?")
_WITHOUT_CUTOFF: Final = "MRR"
_NAMES: Final = {"recall": "R", "success": "Success", "nDCG": "nDCG", "MRR": "RR"}

NO_GOLD: Final = Undefined("no gold document is known")


def ranking(row: Row) -> tuple[str, ...]:
    """The documents of the row's evidence, best first, each once."""
    return tuple(dict.fromkeys(weighed.document or weighed.passage for weighed in row.evidence))


def gold_grades(examples: Iterable[Example]) -> dict[str, dict[str, int]]:
    """Grade 1 for every gold document."""
    return {example.question.id: dict.fromkeys(example.gold_ids, 1) for example in examples}


def cutoff(measure: str) -> int | None:
    """How many documents `measure` looks at; None: all. Raises `ConfigError` for an unknown measure."""
    found = _parsed(measure)
    return int(found["cutoff"]) if found["cutoff"] else None


def retrieval_values(
    measures: Sequence[str],
    grades: Grades,
    rankings: Mapping[str, Sequence[str]],
    *,
    ignore_self: bool,
) -> dict[str, dict[str, Value]]:
    """Measure -> question id -> value from 0 to 1, for every question of `grades`.

    A question without a relevant document is undefined; one without a ranking has the value 0.

    Args:
        measures: names such as ``recall@5``, ``success@1``, ``nDCG@10``, ``MRR`` and ``MRR@10``.
        grades: the judgements; ``nDCG`` takes the grade as gain, the others ask whether it is above 0.
        rankings: question id -> ids of documents, best first; of two equal ids the first counts.
        ignore_self: leave out of a ranking the document that has the question's own id (in sets where the
            questions are documents of the corpus), and the same among the relevant ones.

    Raises:
        ConfigError: a measure is unknown, or `ir_measures` is not installed.
    """
    kept = {id_: _judged(id_, judged, ignore_self=ignore_self) for id_, judged in grades.items()}
    relevant = {id_: judged for id_, judged in kept.items() if judged}
    values: dict[str, dict[str, Value]] = {name: dict.fromkeys(grades, NO_GOLD) for name in measures}
    if not (measures and relevant):
        return values
    library = _library(measures)
    known: dict[Measure, str] = {library.parse_measure(_library_name(name)): name for name in measures}
    qrels = [
        library.Qrel(id_, document, grade)
        for id_, judged in relevant.items()
        for document, grade in judged.items()
    ]
    run = [
        library.ScoredDoc(id_, document, float(-rank))
        for id_ in relevant
        for rank, document in enumerate(_unique(id_, rankings.get(id_, ()), ignore_self=ignore_self))
    ]
    found: Iterable[Metric] = library.iter_calc(list(known), qrels, run)
    for metric in found:
        values[known[metric.measure]][metric.query_id] = float(metric.value)
    return values


def _judged(question: str, judged: Mapping[str, int], *, ignore_self: bool) -> dict[str, int]:
    """The relevant documents; none of another grade changes a value."""
    return {
        document: grade
        for document, grade in judged.items()
        if grade > 0 and not (ignore_self and document == question)
    }


def _unique(question: str, ranked: Sequence[str], *, ignore_self: bool) -> list[str]:
    return [document for document in dict.fromkeys(ranked) if not (ignore_self and document == question)]


def _library(measures: Sequence[str]) -> ModuleType:
    try:
        return import_module("ir_measures")
    except ImportError as error:
        raise ConfigError(
            f"the measures {list(measures)!r} need ir-measures: `pip install 'distinguo[eval]'`"
        ) from error


def _library_name(measure: str) -> str:
    found = _parsed(measure)
    return _NAMES[found["name"]] + (f"@{found['cutoff']}" if found["cutoff"] else "")


def _parsed(name: str) -> re.Match[str]:
    found = _MEASURE.fullmatch(name)
    if found is None or not (found["cutoff"] or found["name"] == _WITHOUT_CUTOFF):
        raise ConfigError(
            f"unknown measure {name!r}; expected one of answers, such as 'EM' or 'contains_words', "
            "or of documents: 'recall@5', 'success@1', 'nDCG@10', 'MRR', 'MRR@10'"
        )
    return found
