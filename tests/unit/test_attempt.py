"""Every question ends in one of four states, with a reason."""

import asyncio

import pytest

from distinguo.errors import BackendError, ConfigError, ParseError
from distinguo.records import Abstention, Answer, Outcome, Question
from distinguo.running.attempt import attempt
from distinguo.running.many import answer_all
from distinguo.trace import Trace

QUESTION = Question("q", "Where is the gate?")


class Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def answer(self, question: Question) -> Outcome:
        raise self.error


class Saying:
    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    async def answer(self, question: Question) -> Outcome:
        return self.outcome


@pytest.mark.parametrize(
    ("method", "state"),
    [
        (Saying(Answer("north")), "answered"),
        (Saying(Abstention("no passage was found")), "abstained"),
        (Raising(ParseError("expected JSON", raw="north")), "unreadable"),
        (Raising(BackendError("the server is down")), "failed"),
        (Raising(ZeroDivisionError("a bug")), "failed"),
    ],
)
async def test_each_end_has_its_state(method: Saying | Raising, state: str) -> None:
    assert (await attempt(method, QUESTION, Trace("t", ""))).state == state


async def test_a_mistake_in_the_configuration_is_for_the_user() -> None:
    with pytest.raises(ConfigError):
        await attempt(Raising(ConfigError("no such index")), QUESTION, Trace("t", ""))


async def test_cancelling_is_not_an_outcome() -> None:
    with pytest.raises(asyncio.CancelledError):
        await attempt(Raising(asyncio.CancelledError()), QUESTION, Trace("t", ""))


async def test_many_keep_their_order_and_their_bound() -> None:
    flying = most = 0

    class Slow:
        async def answer(self, question: Question) -> Outcome:
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            await asyncio.sleep(0)
            flying -= 1
            return Answer(question.id)

    questions = [Question(str(n), "?") for n in range(20)]
    results = await answer_all(Slow(), questions, at_once=4)
    assert [result.outcome for result in results] == [Answer(str(n)) for n in range(20)]
    assert most == 4
    assert len({result.trace for result in results}) == 20
