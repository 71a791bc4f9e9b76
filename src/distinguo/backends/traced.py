"""Record every call to a port in the current question's trace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from distinguo.trace import Json, call

Request = TypeVar("Request")
Result = TypeVar("Result")


def traced(
    port: Callable[[Request], Awaitable[Result]],
    *,
    name: Callable[[Request], str],
    asked: Callable[[Request], dict[str, Json]],
    told: Callable[[Result], dict[str, Json]],
) -> Callable[[Request], Awaitable[Result]]:
    """`port`, each call of it an event `name(request)` with the fields that `asked` and `told` make.

    A call that raises is recorded too, with its error and without what it would have `told`.
    """

    async def ask(request: Request) -> Result:
        with call(name(request), **asked(request)) as fields:
            result = await port(request)
            fields.update(told(result))
            return result

    return ask
