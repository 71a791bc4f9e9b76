"""How the questions of a run ended, held against what was right: to answer, or to keep silent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, final, get_args

from distinguo.datasets.questions import UNJUDGED
from distinguo.records import Example, State
from distinguo.results.rows import Row
from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.significance import Interval, wilson
from distinguo.scoring.value import Undefined, Value

Ending = Literal[
    "answered_right",
    "answered_wrong",
    "answered_unjudged",
    "abstained_right",
    "abstained_wrong",
    "abstained_unjudged",
    "unreadable",
    "failed",
    "missing",
]
"""``missing``: there is no row. ``…_unjudged``: nobody knows what was right."""

ENDINGS: Final[tuple[Ending, ...]] = get_args(Ending)

_JUDGED: Final[tuple[Ending, ...]] = (
    "answered_right",
    "answered_wrong",
    "abstained_right",
    "abstained_wrong",
)

NO_GOLD: Final = Undefined("no gold answer is known")


@final
@dataclass(frozen=True, slots=True)
class Outcomes:
    """The endings of a slice of questions, counted; every question is counted once."""

    slice: str
    counts: Mapping[Ending, int]

    @property
    def n(self) -> int:
        """All questions of the slice."""
        return sum(self.counts.values())

    @property
    def states(self) -> Mapping[State, int]:
        """The questions by the state in which they ended; those without a row are in none."""
        return {
            state: sum(count for ended, count in self.counts.items() if ended.startswith(state))
            for state in get_args(State)
        }

    @property
    def judged(self) -> int:
        """Those of which it is known what was right; none, if of no answer or abstention it is."""
        known = sum(self.counts[ending] for ending in _JUDGED)
        unknown = self.counts["answered_unjudged"] + self.counts["abstained_unjudged"]
        return 0 if unknown and not known else self.n - unknown

    @property
    def right(self) -> int:
        """Answered rightly, or rightly not answered."""
        return self.counts["answered_right"] + self.counts["abstained_right"]

    @property
    def interval(self) -> Interval | Undefined:
        """Of the share of `right` in `judged`."""
        return wilson(self.right, self.judged)


def asks_for_silence(example: Example) -> bool:
    """Whether the corpus has no answer, so that only an abstention is right."""
    return not example.gold and UNJUDGED not in example.tags


def answer_value(metric: str, example: Example, row: Row | None) -> Value:
    """The value of `metric` for a question that has an answer; 0 if none was given.

    Whether it is defined depends on the gold alone, so that all runs are measured on the same questions.
    """
    if not example.gold:
        return NO_GOLD
    return ANSWER_METRICS[metric](row.answer if row and row.state == "answered" else "", example.gold)


def ending(example: Example, row: Row | None, *, right_by: str) -> Ending:
    """How a question ended; an answer is right if the metric `right_by` gives 1.

    Without a metric nobody knows what is right.
    """
    if row is None:
        return "missing"
    if row.state in ("unreadable", "failed"):
        return row.state
    is_silent = row.state == "abstained"
    if right_by and asks_for_silence(example):
        return "abstained_right" if is_silent else "answered_wrong"
    value = answer_value(right_by, example, row) if right_by else NO_GOLD
    if isinstance(value, Undefined):
        return "abstained_unjudged" if is_silent else "answered_unjudged"
    if is_silent:
        return "abstained_wrong"
    return "answered_right" if value >= 1 else "answered_wrong"


def outcomes(examples: Iterable[Example], endings: Mapping[str, Ending]) -> tuple[Outcomes, ...]:
    """The endings by question id, counted over all questions, and over every slice that differs from that.

    Slices are the answerable questions, the unanswerable ones, and those of each tag.
    """
    slices: dict[str, list[Ending]] = {"all": [], "answerable": [], "unanswerable": []}
    for example in examples:
        ended = endings[example.question.id]
        side = "unanswerable" if asks_for_silence(example) else "answerable" if example.gold else None
        for name in ("all", *([side] if side else []), *dict.fromkeys(example.tags)):
            slices.setdefault(name, []).append(ended)
    whole = len(slices["all"])
    return tuple(
        _counted(name, found)
        for name, found in slices.items()
        if found and (name == "all" or len(found) < whole)
    )


def _counted(name: str, endings: list[Ending]) -> Outcomes:
    counts = Counter(endings)
    return Outcomes(name, {ended: counts[ended] for ended in ENDINGS})
