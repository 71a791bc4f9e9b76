"""Single calls of many questions reach a batch function together, and fail apart."""

import asyncio
import threading

import pytest

from distinguo.backends.batching import BatchedEmbedder, Batcher
from distinguo.backends.retry import Patience, retrying
from distinguo.concurrently import each
from distinguo.errors import BackendError, ConfigError
from distinguo.testing import HashEncoder

FOREVER = 3600.0
"""A wait that no test lives to see: only full batches go."""


class Doubling:
    """A batch function that doubles numbers; `gate` holds it back, `began` says that it runs."""

    def __init__(self, *, is_held=False):
        self.calls = []
        self.threads = set()
        self.began = threading.Event()
        self.gate = threading.Event()
        if not is_held:
            self.gate.set()

    def __call__(self, kind, items):
        self.calls.append((kind, list(items)))
        self.threads.add(threading.get_ident())
        self.began.set()
        assert self.gate.wait(10)
        for item in items:
            if not isinstance(item, int):
                raise TypeError(f"{item!r} is no number")
        return [2 * item for item in items]


@pytest.fixture
async def batcher_of():
    made = []

    def make(function, **settings):
        batcher = Batcher(function, **{"size": 4, "wait": FOREVER, "name": "doubler", **settings})
        made.append((batcher, function))
        return batcher

    yield make
    for batcher, function in made:
        if isinstance(function, Doubling):
            function.gate.set()
        await batcher.aclose()


def began(batcher, kind, *items):
    return [asyncio.ensure_future(batcher(kind, item)) for item in items]


async def until(event):
    assert await asyncio.to_thread(event.wait, 10)


async def test_a_full_batch_goes_at_once(batcher_of):
    double = Doubling()
    batcher = batcher_of(double)
    assert await asyncio.gather(*began(batcher, "k", 1, 2, 3, 4)) == [2, 4, 6, 8]
    assert double.calls == [("k", [1, 2, 3, 4])]


async def test_a_partial_batch_goes_after_a_short_wait(batcher_of):
    double = Doubling()
    batcher = batcher_of(double, wait=0.001)
    assert await asyncio.gather(*began(batcher, "k", 1, 2)) == [2, 4]
    assert double.calls == [("k", [1, 2])]


async def test_more_calls_than_a_batch_holds(batcher_of):
    double = Doubling()
    batcher = batcher_of(double, wait=0.001)
    assert await asyncio.gather(*began(batcher, "k", *range(10))) == [2 * n for n in range(10)]
    assert [len(items) for _, items in double.calls] == [4, 4, 2]


async def test_sixty_four_calls_cost_as_many_batches_as_they_fill(batcher_of):
    """The throughput of a function whose cost is per call: 8 calls where one at a time makes 64."""
    one_at_a_time, together = Doubling(), Doubling()
    alone, batcher = batcher_of(one_at_a_time, size=1), batcher_of(together, size=8)
    for number in range(64):
        assert await alone("k", number) == 2 * number
    assert await each(lambda number: batcher("k", number), range(64)) == tuple(2 * n for n in range(64))
    assert (len(one_at_a_time.calls), len(together.calls)) == (64, 8)


async def test_kinds_are_never_mixed(batcher_of):
    double = Doubling()
    batcher = batcher_of(double, size=2)
    tasks = began(batcher, "query", 1) + began(batcher, None, 2, 3) + began(batcher, "query", 4)
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8]
    assert sorted(double.calls, key=str) == [("query", [1, 4]), (None, [2, 3])]


async def test_calls_gather_while_the_worker_is_busy(batcher_of):
    double = Doubling(is_held=True)
    batcher = batcher_of(double, wait=0.0)
    first = began(batcher, "k", 0)
    await until(double.began)
    later = began(batcher, "k", 1, 2) + began(batcher, "other", 9) + began(batcher, "k", 3)
    await asyncio.sleep(0)
    double.gate.set()
    assert await asyncio.gather(*first, *later) == [0, 2, 4, 18, 6]
    assert double.calls == [("k", [0]), ("k", [1, 2, 3]), ("other", [9])]


async def test_the_event_loop_goes_on_while_the_function_runs(batcher_of):
    double = Doubling(is_held=True)
    batcher = batcher_of(double, size=1)
    (task,) = began(batcher, "k", 1)
    await until(double.began)
    for _ in range(100):
        await asyncio.sleep(0)
    assert not task.done()
    double.gate.set()
    assert await task == 2


async def test_the_function_only_ever_runs_in_one_thread(batcher_of):
    double = Doubling()
    batcher = batcher_of(double, size=2)
    await asyncio.gather(*began(batcher, "k", *range(20)))
    assert len(double.threads) == 1
    assert threading.get_ident() not in double.threads


async def test_one_bad_item_fails_alone(batcher_of):
    double = Doubling()
    batcher = batcher_of(double)
    outcomes = await asyncio.gather(*began(batcher, "k", 1, 2, "three", 4), return_exceptions=True)
    assert outcomes[:2] + outcomes[3:] == [2, 4, 8]
    assert isinstance(outcomes[2], TypeError)
    assert str(outcomes[2]) == "'three' is no number"


async def test_a_function_that_loses_an_item_is_found_out(batcher_of):
    batcher = batcher_of(lambda kind, items: [item for item in items if item], size=3)
    outcomes = await asyncio.gather(*began(batcher, "k", 1, 0, 3), return_exceptions=True)
    assert outcomes[0] == 1
    assert outcomes[2] == 3
    assert isinstance(outcomes[1], BackendError)
    assert str(outcomes[1]) == "'doubler' returned 0 values for 1 items; expected one each"


async def test_a_server_that_is_down_is_not_asked_again_for_every_item(batcher_of):
    calls = []

    def down_once(kind, items):
        calls.append(len(items))
        if len(calls) == 1:
            raise BackendError("503", retryable=True)
        return [2 * item for item in items]

    batcher = batcher_of(down_once)
    patient = retrying(lambda item: batcher("k", item), Patience(first=0.0))
    assert await each(patient, [1, 2, 3, 4]) == (2, 4, 6, 8)
    assert calls == [4, 4]


async def test_a_function_that_raises_stop_iteration_hangs_nobody(batcher_of):
    batcher = batcher_of(lambda kind, items: [next(iter(()))], size=2)
    outcomes = await asyncio.gather(*began(batcher, "k", 1, 2), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [RuntimeError, RuntimeError]


async def test_the_item_of_a_cancelled_caller_is_not_computed(batcher_of):
    double = Doubling()
    batcher = batcher_of(double)
    first, *others = began(batcher, "k", 1, 2, 3)
    await asyncio.sleep(0)
    first.cancel()
    others += began(batcher, "k", 4, 5)
    assert await asyncio.gather(*others) == [4, 6, 8, 10]
    assert double.calls == [("k", [2, 3, 4, 5])]


async def test_a_caller_cancelled_while_its_batch_runs_disturbs_nobody(batcher_of):
    double = Doubling(is_held=True)
    batcher = batcher_of(double, size=2)
    leaves, stays = began(batcher, "k", 1, 2)
    await until(double.began)
    leaves.cancel()
    double.gate.set()
    assert await stays == 4
    with pytest.raises(asyncio.CancelledError):
        await leaves


async def test_when_all_callers_leave_nothing_is_computed(batcher_of):
    double = Doubling()
    batcher = batcher_of(double, wait=0.001)
    tasks = began(batcher, "k", 1, 2)
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    assert await batcher("other", 3) == 6
    await batcher.aclose()
    assert double.calls == [("other", [3])]


async def test_closing_finishes_the_calls_that_wait(batcher_of):
    double = Doubling()
    batcher = batcher_of(double)
    tasks = began(batcher, "k", 1, 2) + began(batcher, "other", 3)
    await asyncio.sleep(0)
    await batcher.aclose()
    assert [task.result() for task in tasks] == [2, 4, 6]


async def test_a_closed_batcher_says_so(batcher_of):
    batcher = batcher_of(Doubling())
    await batcher.aclose()
    await batcher.aclose()
    with pytest.raises(BackendError, match="'doubler' is closed"):
        await batcher("k", 1)


async def test_closing_may_be_cancelled_and_repeated(batcher_of):
    double = Doubling(is_held=True)
    batcher = batcher_of(double, size=1)
    (task,) = began(batcher, "k", 1)
    await until(double.began)
    closing = asyncio.ensure_future(batcher.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    double.gate.set()
    assert await task == 2
    await batcher.aclose()


def test_it_works_in_whatever_loop_it_is_first_used_and_in_no_other():
    batcher = Batcher(Doubling(), size=1, name="doubler")

    async def use():
        return await batcher("k", 1)

    async def close():
        await batcher.aclose()

    assert asyncio.run(use()) == 2
    with pytest.raises(BackendError, match="'doubler' belongs to another event loop"):
        asyncio.run(use())
    with pytest.raises(BackendError, match="another event loop"):
        asyncio.run(close())


def test_a_loop_that_ends_early_leaves_no_caller_behind():
    batcher = Batcher(Doubling(), size=2, wait=FOREVER, name="doubler")

    async def leave():
        task = asyncio.ensure_future(batcher("k", 1))
        await asyncio.sleep(0)
        return task

    assert asyncio.run(leave()).cancelled()


def test_a_batch_holds_at_least_one_item():
    with pytest.raises(ConfigError, match=r"'doubler': size is 0"):
        Batcher(Doubling(), size=0, name="doubler")


async def test_an_encoder_becomes_an_embedder():
    encoder = HashEncoder()
    embedder = BatchedEmbedder.of(encoder, size=2)
    queries = await asyncio.gather(*(embedder.embed(text, "query") for text in ("one", "two")))
    passage = await embedder.embed("one", "passage")
    await embedder.aclose()
    expected = encoder.encode(["one", "two", "one"], "query")
    assert [vector.tolist() for vector in (*queries, passage)] == [vector.tolist() for vector in expected]
