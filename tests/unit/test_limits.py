"""A run spends what it may, and no more of it at once than the backend takes."""

import asyncio

import pytest

from distinguo.backends.limits import Budget, limited
from distinguo.concurrently import each
from distinguo.errors import BackendError, BudgetError, ConfigError


async def echo(request):
    return request


def cheap(call, budget=None, in_flight=64):
    return limited(call, budget or Budget(), in_flight=in_flight, tokens=lambda result: 10)


async def test_no_more_calls_are_in_flight_than_allowed():
    running, most = 0, 0

    async def port(request):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    await each(cheap(port, in_flight=3), range(20))
    assert most == 3


async def test_a_call_that_fails_gives_its_place_away():
    async def port(request):
        raise BackendError("down")

    call = cheap(port, in_flight=1)
    for _ in range(3):
        with pytest.raises(BackendError):
            await call("x")


async def test_the_call_beyond_the_limit_is_not_made():
    made = []

    async def port(request):
        made.append(request)

    call = cheap(port, Budget(max_calls=3))
    outcomes = await asyncio.gather(*(call(number) for number in range(8)), return_exceptions=True)
    assert made == [0, 1, 2]
    assert [type(outcome) for outcome in outcomes[3:]] == [BudgetError] * 5
    assert str(outcomes[-1]) == "the run's limit of 3 model calls is used up; raise it with --max-calls"


async def test_tokens_are_counted_and_capped():
    budget = Budget(max_tokens=25)
    call = cheap(echo, budget)
    for number in range(3):
        await call(number)
    assert (budget.calls, budget.tokens) == (3, 30)
    with pytest.raises(BudgetError, match=r"25 model tokens is used up \(30 spent\).*--max-cost"):
        await call(3)


async def test_several_models_share_one_budget():
    budget = Budget(max_calls=1)
    await cheap(echo, budget)("small")
    with pytest.raises(BudgetError):
        await cheap(echo, budget)("large")


async def test_failed_calls_count():
    async def port(request):
        raise BackendError("down")

    budget = Budget(max_calls=1)
    with pytest.raises(BackendError):
        await cheap(port, budget)("x")
    with pytest.raises(BudgetError):
        await cheap(port, budget)("x")


async def test_a_limit_of_nothing_allows_nothing():
    with pytest.raises(BudgetError, match="0 model calls"):
        await cheap(echo, Budget(max_calls=0))("x")


async def test_without_limits_everything_goes():
    assert await each(cheap(echo), range(200)) == tuple(range(200))


def test_at_least_one_call_must_be_able_to_fly():
    with pytest.raises(ConfigError, match="expected at least 1"):
        cheap(echo, in_flight=0)
