"""Put many questions to a method, a bounded number at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from distinguo.concurrently import each
from distinguo.errors import ConfigError
from distinguo.protocols import Method
from distinguo.records import Question, Result
from distinguo.running.attempt import attempt
from distinguo.running.traces import new_trace
from distinguo.trace import Trace

AT_ONCE: Final = 64
"""Questions in flight; backends gather these into batches, so more is faster up to their size."""


async def answer_all(
    method: Method,
    questions: Iterable[Question],
    *,
    at_once: int = AT_ONCE,
    on_end: Callable[[Result, Trace], None] | None = None,
) -> tuple[Result, ...]:
    """One result per question, in the order of `questions`; the arguments are those of `put_all`."""
    results: dict[int, Result] = {}

    def keep(place: int, result: Result, trace: Trace) -> None:
        results[place] = result
        if on_end is not None:
            on_end(result, trace)

    await _put(method, questions, at_once, keep)
    return tuple(results[place] for place in range(len(results)))


async def put_all(
    method: Method,
    questions: Iterable[Question],
    *,
    at_once: int = AT_ONCE,
    on_end: Callable[[Result, Trace], None],
) -> None:
    """Put `questions` to `method`, and keep none of the results.

    Args:
        method: how to answer.
        questions: what to answer; one is taken when another ends, so that they may be a stream.
        at_once: questions in flight.
        on_end: called as each question ends, with its trace; an error of it ends the run.
    """
    await _put(method, questions, at_once, lambda _, result, trace: on_end(result, trace))


async def _put(
    method: Method,
    questions: Iterable[Question],
    at_once: int,
    on_end: Callable[[int, Result, Trace], None],
) -> None:
    if at_once < 1:
        raise ConfigError(f"questions at once: {at_once!r}; expected at least 1")
    waiting = enumerate(questions)

    async def work(_: int) -> None:
        for place, question in waiting:
            trace = new_trace(question)
            on_end(place, await attempt(method, question, trace), trace)

    await each(work, range(at_once))
