"""Put many questions to a method, a bounded number at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from distinguo.concurrently import each
from distinguo.protocols import Method
from distinguo.records import Question, Result
from distinguo.running.attempt import attempt
from distinguo.running.traces import new_trace
from distinguo.trace import Trace


async def answer_all(
    method: Method,
    questions: Iterable[Question],
    *,
    at_once: int = 64,
    on_end: Callable[[Result, Trace], None] | None = None,
) -> tuple[Result, ...]:
    """One result per question, in the order of `questions`.

    Args:
        method: how to answer.
        questions: what to answer.
        at_once: questions in flight; backends gather these into batches, so more is faster up to their size.
        on_end: called as each question ends, with its trace.
    """
    slots = asyncio.Semaphore(at_once)

    async def one(question: Question) -> Result:
        async with slots:
            trace = new_trace(question)
            result = await attempt(method, question, trace)
            if on_end is not None:
                on_end(result, trace)
            return result

    return await each(one, questions)
