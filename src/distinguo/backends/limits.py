"""Cap what a whole run may spend, and how much of it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, final

from distinguo.errors import BudgetError, ConfigError

Request = TypeVar("Request")
Result = TypeVar("Result")


@final
@dataclass(slots=True)
class Budget:
    """What a run may spend on model calls, and has spent; shared by all models of the run.

    Attributes:
        max_calls: calls that may be made, failed ones included and cached ones not; None: no limit.
        max_tokens: tokens, read and written, after which no further call begins (those in flight end, so that
            a run may spend somewhat more); None: no limit.
        calls: calls made so far.
        tokens: tokens spent so far.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    calls: int = 0
    tokens: int = 0

    def spend_call(self) -> None:
        """Count one more call. Raises `BudgetError` where it would exceed a limit."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise BudgetError(
                f"the run's limit of {self.max_calls} model calls is used up; raise it with --max-calls"
            )
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            raise BudgetError(
                f"the run's limit of {self.max_tokens} model tokens is used up ({self.tokens} spent); "
                "raise it with --max-cost"
            )
        self.calls += 1


def limited(
    call: Callable[[Request], Awaitable[Result]],
    budget: Budget,
    *,
    in_flight: int,
    tokens: Callable[[Result], int],
) -> Callable[[Request], Awaitable[Result]]:
    """`call`, at most `in_flight` of it at a time, within `budget`; `tokens` says what a result has cost."""
    if in_flight < 1:
        raise ConfigError(f"calls in flight: {in_flight!r}; expected at least 1")
    slots = asyncio.Semaphore(in_flight)

    async def ask(request: Request) -> Result:
        async with slots:
            budget.spend_call()
            result = await call(request)
            budget.tokens += tokens(result)
            return result

    return ask
