"""Run a method over questions into a result file: what is there is not asked again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from distinguo.errors import BudgetError
from distinguo.protocols import Method
from distinguo.records import Failure, Outcome, Question, Result, State
from distinguo.results.file import ResultFile
from distinguo.results.rows import Row
from distinguo.running.many import AT_ONCE, put_all
from distinguo.running.rows import row_of
from distinguo.trace import Json, Trace

ENDED_BADLY: Final[frozenset[State]] = frozenset({"unreadable", "failed"})


@final
@dataclass(slots=True)
class Tally:
    """How far a run is.

    Attributes:
        total: questions of the run, those included that ended in an earlier piece of it.
        states: how many questions ended in each state, over all pieces.
        asked: questions that ended in this piece; `timed`: those of them that tell how long one takes.
        calls, cached_calls, tokens: model calls and tokens of this piece.
        is_out_of_budget: a stated limit ended this piece before its last question.
    """

    total: int
    states: Counter[State] = field(default_factory=Counter[State])
    asked: int = 0
    timed: int = 0
    calls: int = 0
    cached_calls: int = 0
    tokens: int = 0
    is_out_of_budget: bool = False

    @property
    def left(self) -> int:
        """Questions without a row."""
        return self.total - self.states.total()

    def add(self, row: Row) -> None:
        """Count a question that has just ended."""
        self.states[row.state] += 1
        self.asked += 1
        self.timed += row.is_timed and row.state != "failed"
        self.calls += row.calls
        self.cached_calls += row.cached_calls
        self.tokens += row.prompt_tokens + row.completion_tokens


@final
@dataclass(frozen=True, slots=True)
class Habits:
    """How a run goes about it; nothing of this bears on the results.

    Attributes:
        at_once: questions in flight.
        with_texts: rows hold the question's text.
        on_trace: is given the trace of every question that has ended, to keep; None: traces are not kept.
        on_row: is told after every question.
    """

    at_once: int = AT_ONCE
    with_texts: bool = True
    on_trace: Callable[[Result, Trace], None] | None = None
    on_row: Callable[[Tally], None] = lambda tally: None


@final
@dataclass(frozen=True, slots=True)
class _Parted:
    """Puts the questions `ids` to `afresh`, and all others to `usual`."""

    usual: Method
    afresh: Method
    ids: frozenset[str]

    async def answer(self, question: Question) -> Outcome:
        return await (self.afresh if question.id in self.ids else self.usual).answer(question)


async def run(
    method: Method,
    questions: Iterable[Question],
    results: ResultFile,
    *,
    segment: Mapping[str, Json],
    afresh: Method | None = None,
    habits: Habits | None = None,
) -> Tally:
    """Put those of `questions` that have no row yet to `method`; each row is in the file when it ends.

    When a budget is used up, no further question is begun, and those that met its end get no row: the same
    call, with more to spend, goes on there.

    Args:
        method: how to answer.
        questions: the whole run, what is done included.
        results: where rows are, and go. Where nothing is left to ask, it stays as it is.
        segment: when and where this piece of the run begins.
        afresh: if given, questions that failed are asked again; and those that ended unreadable are put to
            this, for of `method` they would get the kept reply that could not be read.
        habits: how to go about it.
    """
    habits = habits or Habits()
    asked = tuple(questions)
    known = [results.rows[question.id] for question in asked if question.id in results.rows]
    done = {row.id for row in known if afresh is None or row.state not in ENDED_BADLY}
    if afresh is not None:
        method = _Parted(method, afresh, frozenset(row.id for row in known if row.state == "unreadable"))
    tally = Tally(len(asked), Counter(row.state for row in known if row.id in done))

    def waiting() -> Iterator[Question]:
        for question in asked:
            if tally.is_out_of_budget:
                return
            if question.id not in done:
                yield question

    def end(result: Result, trace: Trace) -> None:
        if _met_budget(result):
            tally.is_out_of_budget = True
            return
        row = row_of(result, trace, with_texts=habits.with_texts, is_traced=habits.on_trace is not None)
        results.append(row)
        if habits.on_trace is not None:
            habits.on_trace(result, trace)
        tally.add(row)
        habits.on_row(tally)

    if tally.left:
        results.begin(segment)
        began = time.monotonic()
        await put_all(method, waiting(), at_once=habits.at_once, on_end=end)
        seconds = round(time.monotonic() - began, 3)
        results.end({"seconds": seconds, "asked": tally.asked, "timed": tally.timed})
    return tally


def _met_budget(result: Result) -> bool:
    return isinstance(result.outcome, Failure) and result.outcome.error == BudgetError.__name__
