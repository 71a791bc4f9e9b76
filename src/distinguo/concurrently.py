"""Fan out over items inside one question; the first error cancels the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


async def each(function: Callable[[Item], Awaitable[Value]], items: Iterable[Item]) -> tuple[Value, ...]:
    """`function` of every item, all at once, in the order of `items`.

    The first error cancels what still runs, waits for it to end, and is raised itself (not in a group), so
    that callers see the error that they would see in a plain loop. There is no limit here: backends bound
    their own.
    """
    tasks: list[asyncio.Task[Value]] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks.extend(group.create_task(_value(function, item)) for item in items)
    except BaseExceptionGroup as errors:
        first = _first(errors)
        raise first from first.__cause__  # the group says nothing more, but the error's own cause does
    return tuple(task.result() for task in tasks)


async def _value(function: Callable[[Item], Awaitable[Value]], item: Item) -> Value:
    return await function(item)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    return errors.exceptions[0]
