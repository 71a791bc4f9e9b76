"""A failed call is made again where that may help, as often and as long as patience lasts."""

import asyncio

import pytest

from distinguo.backends.retry import Patience, PatientEncoder, retrying
from distinguo.errors import BackendError, ParseError
from distinguo.trace import Trace, tracing


class Flaky:
    """A port that raises `errors` one after the other, then says "fine"."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self, request):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return f"fine, {request}"


class Clock:
    """A sleep that takes no time and remembers how long it should have taken."""

    def __init__(self):
        self.slept = []

    async def __call__(self, seconds):
        self.slept.append(seconds)


def busy(retry_after=None):
    return BackendError("429 too many requests", retryable=True, retry_after=retry_after)


async def test_a_call_that_works_is_made_once():
    port, clock = Flaky(), Clock()
    assert await retrying(port, sleep=clock)("Ann") == "fine, Ann"
    assert (port.calls, clock.slept) == (1, [])


async def test_a_retryable_error_is_tried_again():
    port, clock = Flaky(busy(), busy()), Clock()
    assert await retrying(port, sleep=clock)("Ann") == "fine, Ann"
    assert port.calls == 3


@pytest.mark.parametrize(
    "error", [BackendError("401"), ParseError("no JSON", raw="well"), ValueError("a fault of ours")]
)
async def test_any_other_error_is_raised_at_once_and_itself(error):
    port, clock = Flaky(error), Clock()
    with pytest.raises(type(error)) as caught:
        await retrying(port, sleep=clock)("Ann")
    assert caught.value is error
    assert (port.calls, clock.slept) == (1, [])


async def test_waits_double_with_jitter_up_to_the_longest():
    port, clock = Flaky(*[busy()] * 9), Clock()
    await retrying(port, Patience(attempts=10, first=1.0, longest=20.0, total=1e9), sleep=clock)("Ann")
    for number, seconds in enumerate(clock.slept):
        assert min(20.0, 2**number) <= seconds <= min(20.0, 2**number + 1)
    assert clock.slept[-1] == 20.0


async def test_jitter_keeps_callers_from_coming_back_together():
    clock = Clock()
    for _ in range(8):
        await retrying(Flaky(busy()), sleep=clock)("Ann")
    assert len(set(clock.slept)) > 1


@pytest.mark.parametrize(
    ("asked", "least", "most"), [(0.0, 0.5, 1.0), (7.0, 7.0, 7.0), (86400.0, 30.0, 30.0)]
)
async def test_what_the_server_asks_for_is_honoured_up_to_the_longest_wait(asked, least, most):
    clock = Clock()
    await retrying(Flaky(busy(retry_after=asked)), sleep=clock)("Ann")
    assert least <= clock.slept[0] <= most


async def test_patience_ends_after_so_many_attempts():
    port, clock = Flaky(*[busy()] * 9), Clock()
    with pytest.raises(
        BackendError, match=r"gave up after 3 attempts in 0 s: 429 too many requests"
    ) as caught:
        await retrying(port, Patience(attempts=3), sleep=clock)("Ann")
    assert port.calls == 3
    assert isinstance(caught.value.__cause__, BackendError)


async def test_patience_ends_before_a_wait_that_would_outlast_it():
    port, clock = Flaky(*[busy(retry_after=25.0)] * 9), Clock()
    with pytest.raises(BackendError, match="gave up after 1 attempts"):
        await retrying(port, Patience(total=20.0), sleep=clock)("Ann")
    assert clock.slept == []


async def test_what_patience_has_given_up_nobody_else_tries_again():
    """One owner retries: two retrying wrappers, one inside the other, do not multiply."""
    port, clock = Flaky(*[busy()] * 99), Clock()
    with pytest.raises(BackendError):
        await retrying(retrying(port, Patience(attempts=3), sleep=clock), sleep=clock)("Ann")
    assert port.calls == 3


async def test_every_retry_is_noted():
    trace, clock = Trace("t1", "Who?"), Clock()
    with tracing(trace):
        await retrying(Flaky(busy(), busy(3.0)), sleep=clock)("Ann")
    assert [(event.kind, event.name, event.fields["attempt"]) for event in trace.events] == [
        ("note", "retry", 1),
        ("note", "retry", 2),
    ]
    assert trace.events[1].fields["error"] == "429 too many requests"
    assert trace.events[1].fields["wait"] == pytest.approx(3.0)


async def test_a_caller_who_leaves_while_waiting_is_let_go():
    waits = asyncio.Event()

    async def sleep(seconds):
        waits.set()
        await asyncio.Event().wait()

    port = Flaky(busy())
    task = asyncio.ensure_future(retrying(port, sleep=sleep)("Ann"))
    await waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert port.calls == 1


def test_an_encoder_for_indexing_asks_again_and_gives_up_clearly() -> None:
    failures = [BackendError("busy", retryable=True, retry_after=7.0), BackendError("busy", retryable=True)]
    waits: list[float] = []

    class Busy:
        fingerprint, dimension = "flaky", 2

        def encode(self, texts, role):
            if failures:
                raise failures.pop(0)
            return [role for _ in texts]

    encoder = PatientEncoder(Busy(), Patience(attempts=3), waits.append)
    assert encoder.encode(["a", "b"], "passage") == ["passage", "passage"]
    assert waits[0] == 7.0
    assert (encoder.fingerprint, encoder.dimension) == ("flaky", 2)
    failures.extend(BackendError("busy", retryable=True) for _ in range(3))
    with pytest.raises(BackendError, match="gave up after 3 attempts"):
        encoder.encode(["a"], "passage")
