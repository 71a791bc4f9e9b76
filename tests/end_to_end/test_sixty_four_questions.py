"""Sixty-four questions at once against a server that fails in every way: none is lost, none hangs."""

import asyncio
import time
from collections import Counter

from distinguo.backends.limits import Budget
from distinguo.backends.llm.openai import OpenAICompatible
from distinguo.backends.retry import Patience
from distinguo.backends.wrapped import wrap_llm
from distinguo.methods.baselines.vanilla import Vanilla
from distinguo.records import Failure, Passage, Question, Unreadable
from distinguo.running.many import answer_all
from distinguo.testing import ListRetriever
from distinguo.trace import Trace
from doubles.house import says
from doubles.openai_server import Asked, Reply, faulty, serving

HASTY = Patience(attempts=3, first=0.02, longest=0.1, total=10.0)
PASSAGES = [Passage(f"p{number}", f"The gate {number} opens at seven.") for number in range(3)]


def behave(asked: Asked) -> Reply:
    """By the question's number: a good answer, a silence, or no JSON, however often it is asked."""
    text = asked.fields["messages"][1]["content"]
    kind = int(text.split("gate number ")[1].split()[0]) % 4
    return [says("seven", 1), says(None), "at seven, I think", says("seven", 2)][kind]


async def test_every_question_ends_with_a_reason() -> None:
    questions = [Question(f"q{n}", f"When does gate number {n} open?") for n in range(64)]
    traces: dict[str, Trace] = {}
    with serving(faulty(behave, seed=11, share=0.5)) as server:
        backend = OpenAICompatible(server.url, "double", stall=1.0)
        llm = wrap_llm(backend, model="double", budget=Budget(), patience=HASTY)
        began = time.perf_counter()
        results = await answer_all(
            Vanilla(llm, ListRetriever(PASSAGES)),
            questions,
            at_once=64,
            on_end=lambda result, trace: traces.update({result.question.id: trace}),
        )
        took = time.perf_counter() - began
        await backend.aclose()
    assert [result.question for result in results] == questions
    counts = Counter(result.state for result in results)
    assert sum(counts.values()) == 64
    assert set(counts) == {"answered", "abstained", "unreadable", "failed"}
    assert counts["answered"] > counts["failed"]
    for result in results:
        match result.outcome:
            case Failure(error, reason):
                assert error == "BackendError"
                assert "double" in reason
            case Unreadable(reason, raw):
                assert raw == "at seven, I think"
                assert reason
            case _:
                assert result.outcome.evidence
    assert traces.keys() == {question.id for question in questions}
    retried = [event for trace in traces.values() for event in trace.events if event.kind == "note"]
    assert retried, "a faulty server must leave retries in the traces"
    assert took < 30


async def test_a_server_that_is_not_there_fails_every_question_quickly() -> None:
    backend = OpenAICompatible("http://127.0.0.1:9", "double")
    llm = wrap_llm(backend, model="double", budget=Budget(), patience=HASTY)
    questions = [Question(str(n), "When?") for n in range(64)]
    results = await asyncio.wait_for(answer_all(Vanilla(llm, ListRetriever(PASSAGES)), questions), 20)
    await backend.aclose()
    assert {result.state for result in results} == {"failed"}
    reasons = [result.outcome.reason for result in results if isinstance(result.outcome, Failure)]
    assert len(reasons) == 64
    assert all("127.0.0.1:9" in reason for reason in reasons)
