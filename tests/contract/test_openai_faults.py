"""A server that fails in every way: each call ends, soon, in a reply or in an error that says why."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from distinguo.backends.embedding.openai import OpenAIEncoder
from distinguo.backends.llm.openai import OpenAICompatible
from distinguo.errors import BackendError
from distinguo.records import Completion, Message, Prompt, Sampling
from distinguo.trace import Trace, tracing
from doubles.openai_server import FAULTS, Asked, Cut, Fault, Reply, Stall, fail, faulty, serving

WANTED = Sampling(max_tokens=8, first_token=("You",))


def asking(text: str) -> Prompt:
    return Prompt("faults", (Message("user", text),))


def echo(asked: Asked) -> str:
    return f"You said: {asked.last}"


async def patient(llm: OpenAICompatible, prompt: Prompt, *, tries: int) -> Completion | BackendError:
    """The smallest retry: as often as allowed, without waiting."""
    for left in reversed(range(tries)):
        try:
            return await llm.complete(prompt, WANTED)
        except BackendError as error:
            if not (left and error.retryable):
                return error
    raise AssertionError("unreachable")


async def test_64_calls_at_once_all_end_in_a_reply_or_an_error() -> None:
    began = time.perf_counter()
    with serving(faulty(echo, seed=1, share=0.6)) as server:
        llm = OpenAICompatible(server.url, "double", stall=1.0, total=5.0)
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(patient(llm, asking(f"word{i}"), tries=4)) for i in range(64)]
        await llm.aclose()
    ends = [call.result() for call in calls]
    replies = {i: end for i, end in enumerate(ends) if isinstance(end, Completion)}
    errors = [end for end in ends if isinstance(end, BackendError)]
    assert len(replies) > 40
    assert all(reply.text == f"You said: word{i}" for i, reply in replies.items())
    assert errors
    assert all("'double'" in str(error) and error.retryable for error in errors)
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "nan"])
async def test_every_fault_is_a_retryable_error(fault: Fault) -> None:
    with serving(lambda asked: fail(fault, asked, echo)) as server:
        llm = OpenAICompatible(server.url, "double", stall=0.2)
        with pytest.raises(BackendError) as caught:
            await llm.complete(asking("hello"))
        await llm.aclose()
    assert caught.value.retryable
    assert caught.value.retry_after == (0.0 if fault == "429" else None)


async def test_log_probabilities_that_are_no_numbers_are_dropped_and_the_trace_says_so() -> None:
    trace = Trace("1", "hello")
    with serving(lambda asked: fail("nan", asked, echo)) as server:
        llm = OpenAICompatible(server.url, "double")
        with tracing(trace):
            completion = await llm.complete(asking("hello"), WANTED)
        await llm.aclose()
    assert completion.text == "You said: hello"
    assert completion.first_token == ()
    assert [event.name for event in trace.events] == ["log-probabilities dropped"]


async def test_a_stalled_call_ends_at_the_stall_limit() -> None:
    with serving(lambda _: Stall()) as server:
        llm = OpenAICompatible(server.url, "double", stall=0.2, total=60)
        with pytest.raises(BackendError, match="stall limit"):
            await llm.complete(asking("hello"))
        await llm.aclose()


async def test_the_total_limit_ends_a_call_whose_stall_limit_is_patient() -> None:
    with serving(lambda _: Stall()) as server:
        llm = OpenAICompatible(server.url, "double", stall=60, total=0.2)
        with pytest.raises(BackendError, match=r"within 0\.2 s") as caught:
            await llm.complete(asking("hello"))
        await llm.aclose()
    assert caught.value.retryable


async def test_a_reply_cut_in_the_middle_is_no_reply() -> None:
    with serving(lambda _: Cut()) as server:
        llm = OpenAICompatible(server.url, "double")
        with pytest.raises(BackendError, match="before the reply was whole"):
            await llm.complete(asking("hello"))
        await llm.aclose()


async def test_a_call_cancelled_while_the_server_stalls_leaves_the_client_usable() -> None:
    def script(asked: Asked) -> Reply:
        return Stall() if asked.last == "stall" else echo(asked)

    with serving(script) as server:
        llm = OpenAICompatible(server.url, "double")
        stalled = asyncio.create_task(llm.complete(asking("stall")))
        await asyncio.to_thread(server.stalled.wait, 10)
        stalled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stalled
        assert (await llm.complete(asking("hello"))).text == "You said: hello"
        await llm.aclose()


async def test_closing_the_client_ends_calls_in_flight_with_an_error() -> None:
    with serving(lambda _: Stall()) as server:
        llm = OpenAICompatible(server.url, "double", stall=5)
        call = asyncio.create_task(llm.complete(asking("hello")))
        await asyncio.to_thread(server.stalled.wait, 10)
        await llm.aclose()
        with pytest.raises(BackendError):
            await call


async def test_the_client_itself_limits_no_calls_in_flight() -> None:
    together = threading.Barrier(128, timeout=20)

    def script(asked: Asked) -> Reply:
        together.wait()  # nobody gets a reply until all have asked
        return echo(asked)

    with serving(script) as server:
        llm = OpenAICompatible(server.url, "double")
        calls = (llm.complete(asking("hello")) for _ in range(together.parties))
        replies = await asyncio.gather(*calls)
        await llm.aclose()
    assert {reply.text for reply in replies} == {"You said: hello"}


async def test_nobody_listens() -> None:
    with serving() as server:
        url = server.url
    llm = OpenAICompatible(url, "double")
    with pytest.raises(BackendError, match="is the server running") as caught:
        await llm.complete(asking("hello"))
    await llm.aclose()
    assert caught.value.retryable


def test_the_encoder_reads_vectors_from_a_server_in_the_order_of_the_texts() -> None:
    def embed(text: str) -> list[float]:
        return [float(len(text)), 1.0]

    with serving(embed=embed) as server:
        encoder = OpenAIEncoder(server.url, "double", 2, size=2)
        vectors = encoder.encode(["a" * n for n in range(1, 6)], "passage")
        encoder.close()
        assert [len(asked.fields["input"]) for asked in server.asked] == [2, 2, 1]
    assert [round(float(x / y)) for x, y in vectors] == [1, 2, 3, 4, 5]
