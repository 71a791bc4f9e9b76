"""Whatever calls arrive in whatever order, each gets its own value, and batches keep to their rules."""

import asyncio
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from distinguo.backends.batching import Batcher

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["query", "passage", None]),  # kind
        st.integers(-3, 50),  # item; negative ones are bad
        st.integers(0, 3),  # turns of the loop before the call
        st.booleans(),  # whether the caller leaves again
    ),
    max_size=40,
)


class Squares:
    """A batch function that squares, stumbles over negative numbers, and remembers its batches."""

    def __init__(self):
        self.batches = []

    def __call__(self, kind, items):
        self.batches.append((kind, list(items)))
        bad = [item for item in items if item < 0]
        if bad:
            raise ValueError(f"{bad}")
        return [(kind, item * item) for item in items]

    def items(self, wanted):
        return [item for kind, items in self.batches if kind == wanted for item in items]


async def run(squares, calls, size, wait):
    """What becomes of each call; then the batcher is closed."""
    batcher = Batcher(squares, size=size, wait=wait, name="squares")

    async def one(kind, item, turns):
        for _ in range(turns):
            await asyncio.sleep(0)
        return await batcher(kind, item)

    tasks = [asyncio.ensure_future(one(kind, item, turns)) for kind, item, turns, _ in calls]
    await asyncio.sleep(0)
    for task, (*_, leaves) in zip(tasks, calls, strict=True):
        if leaves:
            task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    await batcher.aclose()
    return outcomes


@given(calls=CALLS, size=st.integers(1, 8), wait=st.sampled_from([0.0, 0.001]))
def test_every_caller_gets_its_own_value_or_its_own_error(calls, size, wait):
    outcomes = asyncio.run(run(Squares(), calls, size, wait))
    for (kind, item, _, leaves), outcome in zip(calls, outcomes, strict=True):
        if isinstance(outcome, asyncio.CancelledError):
            assert leaves
        elif item < 0:
            assert (type(outcome), str(outcome)) == (ValueError, f"[{item}]")
        else:
            assert outcome == (kind, item * item)


@given(calls=CALLS, size=st.integers(1, 8), wait=st.sampled_from([0.0, 0.001]))
def test_batches_are_of_one_kind_and_hold_no_more_than_they_may(calls, size, wait):
    squares = Squares()
    asyncio.run(run(squares, calls, size, wait))
    assert all(1 <= len(items) <= size for _, items in squares.batches)
    for kind in ("query", "passage", None):
        assert set(squares.items(kind)) <= {item for its_kind, item, *_ in calls if its_kind == kind}


@given(calls=CALLS, size=st.integers(1, 8))
def test_nothing_is_computed_twice_unless_a_batch_failed(calls, size):
    squares = Squares()
    calls = [(kind, abs(item), turns, leaves) for kind, item, turns, leaves in calls]
    asyncio.run(run(squares, calls, size, 0.0))
    for kind in ("query", "passage", None):
        asked = Counter(item for its_kind, item, *_ in calls if its_kind == kind)
        assert Counter(squares.items(kind)) <= asked
