"""Ask again where asking again may help: the one owner of retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, final

from distinguo.errors import BackendError
from distinguo.trace import note

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from distinguo.protocols import Encoder, Vector
    from distinguo.records import Role

Request = TypeVar("Request")
Result = TypeVar("Result")


@final
@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to ask again.

    Attributes:
        attempts: calls in all, the first included.
        first: seconds before the second attempt; they double each time, plus up to `first` seconds of jitter.
        longest: seconds that no single wait exceeds, whatever the other side asks for.
        total: seconds after which no further attempt begins.
    """

    attempts: int = 5
    first: float = 0.5
    longest: float = 30.0
    total: float = 180.0


PATIENT: Final = Patience()


def retrying(
    call: Callable[[Request], Awaitable[Result]],
    patience: Patience = PATIENT,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Callable[[Request], Awaitable[Result]]:
    """`call`, asked again while it raises a retryable `BackendError`; every retry is noted in the trace.

    When patience is at an end a `BackendError` says so, and carries the last one as its cause.
    """
    from tenacity import AsyncRetrying

    async def ask(request: Request) -> Result:
        async def once() -> Result:
            return await call(request)

        return await AsyncRetrying(sleep=sleep, **_policy(patience))(once)

    return ask


@final
@dataclass(frozen=True, slots=True)
class PatientEncoder:
    """An `Encoder` that asks again, for indexing; in a question the wrapper of its `Embedder` does."""

    encoder: Encoder
    patience: Patience = PATIENT
    sleep: Callable[[float], None] = time.sleep

    @property
    def fingerprint(self) -> str:
        """The encoder's."""
        return self.encoder.fingerprint

    @property
    def dimension(self) -> int:
        """The encoder's."""
        return self.encoder.dimension

    def encode(self, texts: Sequence[str], role: Role) -> Sequence[Vector]:
        """The encoder's vectors. Raises `BackendError` when patience is at an end."""
        from tenacity import Retrying

        return Retrying(sleep=self.sleep, **_policy(self.patience))(self.encoder.encode, texts, role)


def _policy(patience: Patience) -> dict[str, Any]:
    """The settings of tenacity's controllers, which are untyped keywords."""
    from tenacity import retry_if_exception, stop_after_attempt, stop_before_delay, wait_exponential_jitter

    back_off = wait_exponential_jitter(multiplier=patience.first, jitter=patience.first)

    def wait(state: RetryCallState) -> float:
        return min(patience.longest, max(_asked_for(state), back_off(state)))

    return {
        "stop": stop_after_attempt(patience.attempts) | stop_before_delay(patience.total),
        "wait": wait,
        "retry": retry_if_exception(_is_retryable),
        "before_sleep": _note,
        "retry_error_callback": _give_up,
    }


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None


def _asked_for(state: RetryCallState) -> float:
    """Seconds that the other side wants us to wait."""
    error = _error(state)
    return (isinstance(error, BackendError) and error.retry_after) or 0.0


def _is_retryable(error: BaseException) -> bool:
    return isinstance(error, BackendError) and error.retryable


def _note(state: RetryCallState) -> None:
    note("retry", attempt=state.attempt_number, wait=round(state.upcoming_sleep, 3), error=str(_error(state)))


def _give_up(state: RetryCallState) -> NoReturn:
    error, seconds = _error(state), state.seconds_since_start or 0.0
    raise BackendError(
        f"gave up after {state.attempt_number} attempts in {seconds:.0f} s: {error}"
    ) from error
