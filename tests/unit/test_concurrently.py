"""`each` behaves like a loop that does not wait."""

import asyncio

import pytest

from distinguo.concurrently import each
from distinguo.errors import BackendError


async def test_values_come_in_the_order_of_the_items():
    turns = {"a": asyncio.Event(), "b": asyncio.Event(), "c": asyncio.Event()}
    after = {"c": "b", "b": "a"}
    turns["c"].set()

    async def one(item):
        await turns[item].wait()
        if item in after:
            turns[after[item]].set()
        return item.upper()

    assert await each(one, iter("abc")) == ("A", "B", "C")


async def test_no_items_make_no_values():
    async def one(item):
        raise AssertionError(item)

    assert await each(one, []) == ()


async def test_the_first_error_cancels_the_rest_and_is_raised_itself():
    began, ended = asyncio.Event(), []

    async def one(item):
        if item == "bad":
            await began.wait()
            raise BackendError("first")
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    with pytest.raises(BackendError, match="first"):
        await each(one, ["slow", "bad"])
    assert ended == ["slow"]


async def test_an_error_keeps_its_cause():
    async def one(item):
        try:
            raise OSError("connection reset")
        except OSError as error:
            raise BackendError("server is down") from error

    with pytest.raises(BackendError) as caught:
        await each(one, [1, 2])
    assert isinstance(caught.value.__cause__, OSError)


async def test_an_error_without_a_cause_does_not_speak_of_groups():
    async def one(item):
        raise BackendError("down")

    with pytest.raises(BackendError) as caught:
        await each(one, [1, 2])
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def test_cancelling_cancels_all_that_runs():
    running, ended = asyncio.Semaphore(0), []

    async def one(item):
        running.release()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    task = asyncio.create_task(each(one, [1, 2, 3]))
    for _ in range(3):
        await running.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(ended) == [1, 2, 3]
