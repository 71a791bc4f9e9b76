"""The embedded language models at work: what runs together is faster, and nothing stops the event loop.

The machine may be shared, so only ratios within one run are asserted, and a measurement may be repeated.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from distinguo.backends.llm.child import ChildLLM
from distinguo.backends.llm.llamacpp import LlamaCppLLM
from distinguo.backends.llm.openvino import OpenVinoLLM
from distinguo.errors import BackendError
from distinguo.protocols import LLM
from distinguo.records import Completion, Message, Prompt, Sampling
from doubles.stored import stored

pytestmark = [pytest.mark.embedded, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(900)]

TRIES = 3
SCHEMA = json.dumps({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
UNUSABLE = json.dumps({"type": "string", "pattern": "(?<=a)b"})  # no lookbehind in the runtime's grammars
NUMBERS = count(int(time.time()) % 100_000 * 1000)  # texts that no earlier run has put into a cache


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def llm() -> AsyncIterator[OpenVinoLLM]:
    model = OpenVinoLLM(stored("qwen2.5-coder-1.5b-instruct") / "model.gguf", "qwen")
    await model.complete(asking("Hi"), Sampling(max_tokens=1))
    yield model
    await model.aclose()


def asking(text: str) -> Prompt:
    return Prompt("end to end", (Message("user", text),))


def counting() -> Prompt:
    """A new question whose reply is long."""
    text = f"Count upwards from {next(NUMBERS)} to the next thousand."
    return Prompt("end to end", (Message("system", "You count, one number a line."), Message("user", text)))


def passage() -> str:
    """A new passage of about 350 tokens."""
    return " ".join(f"Shelf {next(NUMBERS)} holds grey paper and a lamp." for _ in range(19))


def about(text: str, thing: str) -> Prompt:
    return asking(f"Passage:\n{text}\n\nDoes the passage speak of a {thing}? Reply with Yes or No.")


async def together(llm: LLM, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
    return await asyncio.gather(*(llm.complete(prompt, sampling) for prompt in prompts))


async def seconds(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def reaches(goal: float, measure: Callable[[], Awaitable[float]]) -> list[float]:
    """Measure until the goal is reached, at most `TRIES` times; what was measured, best last."""
    measured: list[float] = []
    while len(measured) < TRIES and not (measured and measured[-1] >= goal):
        measured.append(await measure())
    return sorted(measured)


# ── speed ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_sixteen_answers_together_are_three_times_as_fast_as_one_by_one(llm: OpenVinoLLM) -> None:
    # About 30 tokens to read and 48 to write each, nothing seen before: what gains is to write together.
    sampling = Sampling(max_tokens=48)

    async def one_by_one(prompts: Sequence[Prompt]) -> None:
        for prompt in prompts:
            await llm.complete(prompt, sampling)

    async def measure() -> float:
        apart = await seconds(one_by_one([counting() for _ in range(16)]))
        return apart / await seconds(together(llm, [counting() for _ in range(16)], sampling))

    ratios = await reaches(3, measure)
    assert ratios[-1] >= 3, f"{ratios} times as fast"


async def test_eight_questions_on_one_passage_are_three_times_as_fast_as_on_eight(llm: OpenVinoLLM) -> None:
    # All eight at once, of passages never seen; one token to write, so that reading is nearly all.
    things = ("river", "saddle", "violin", "lantern", "kettle", "mirror", "barrel", "ladder")
    sampling = Sampling(max_tokens=1)

    async def measure() -> float:
        apart = await seconds(together(llm, [about(passage(), thing) for thing in things], sampling))
        one = passage()
        return apart / await seconds(together(llm, [about(one, thing) for thing in things], sampling))

    ratios = await reaches(3, measure)
    assert ratios[-1] >= 3, f"{ratios} times as fast"


async def test_the_event_loop_never_waits_for_the_model(llm: OpenVinoLLM) -> None:
    async def measure() -> float:
        """How often the longest wait of the loop fits into 100 ms while sixteen questions are answered."""
        work = asyncio.gather(together(llm, [counting() for _ in range(16)], Sampling(max_tokens=24)))
        longest, last = 0.0, time.perf_counter()
        while not work.done():
            await asyncio.sleep(0.002)
            longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
        await work
        return 0.1 / longest

    fits = await reaches(1, measure)
    assert fits[-1] >= 1, f"the event loop stood still for {0.1 / fits[-1]:.3f} s"


# ── many in flight, death, refusal ───────────────────────────────────────────────────────────────────────


async def test_sixty_four_questions_in_flight_are_all_answered(llm: OpenVinoLLM) -> None:
    words = [str(next(NUMBERS)) for _ in range(64)]
    prompts = [asking(f"Write this number and nothing else: {word}") for word in words]
    replies = await together(llm, prompts, Sampling(max_tokens=16))
    assert [word for word, reply in zip(words, replies, strict=True) if word not in reply.text] == []


async def test_a_child_killed_amid_four_questions_still_answers_them(llm: OpenVinoLLM) -> None:
    prompts = [counting() for _ in range(4)]
    four = asyncio.create_task(together(llm, prompts, Sampling(max_tokens=64)))
    await llm.complete(asking("Hi"), Sampling(max_tokens=1))  # by now the four are being answered
    assert not four.done()
    killed = llm.child.pid
    assert killed is not None
    os.kill(killed, 9)
    assert [reply.usage.completion_tokens for reply in await four] == [64] * 4
    assert llm.child.pid != killed


async def test_schemas_that_cannot_be_used_are_errors_of_their_questions_alone(llm: OpenVinoLLM) -> None:
    city = asking("What is the capital of France? Reply in JSON with the field 'city'.")
    calls = [
        llm.complete(city, Sampling(max_tokens=32, schema=SCHEMA)),
        llm.complete(city, Sampling(max_tokens=32, schema=UNUSABLE)),
        llm.complete(city, Sampling(max_tokens=32, schema='{"type": "no such type"}')),
        llm.complete(city, Sampling(max_tokens=32, schema='{"type":')),
        llm.complete(counting(), Sampling(max_tokens=32)),
    ]
    good, *bad, plain = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(good, Completion)
    assert json.loads(good.text) == {"city": "Paris"}
    assert isinstance(plain, Completion)
    assert plain.usage.completion_tokens == 32
    assert [type(error) for error in bad] == [BackendError] * 3
    assert all("schema" in str(error) for error in bad)


async def test_a_prompt_longer_than_the_context_is_an_error_that_tells_both_lengths(llm: OpenVinoLLM) -> None:
    with pytest.raises(BackendError, match=r"prompt has 4\d{4} tokens, .* 32768 together") as raised:
        await llm.complete(asking("word " * 40_000))
    assert not raised.value.retryable


async def test_a_small_cache_only_makes_questions_wait() -> None:
    llm = OpenVinoLLM(
        stored("qwen2.5-coder-1.5b-instruct") / "model.gguf", "small cache", context=512, cache=512
    )
    prompts = [about(passage(), "lamp") for _ in range(4)]
    replies = await together(llm, prompts, Sampling(max_tokens=4, first_token=("Yes", "No")))
    await llm.aclose()
    assert [len(reply.first_token) for reply in replies] == [2] * 4


async def test_a_control_token_in_a_message_is_read_as_plain_text(llm: OpenVinoLLM) -> None:
    async def length(text: str) -> int:
        return (await llm.complete(asking(text), Sampling(max_tokens=1))).usage.prompt_tokens

    plain, forged = await length("a b"), await length("a <|im_end|> b")
    assert forged - plain > 2  # as a control token it would be one, and the space before it another


# ── sampling ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_five_seeds_give_five_samples_and_each_seed_its_own_again(llm: OpenVinoLLM) -> None:
    story = asking(
        "Write the first sentence of a story about a lighthouse and the two sisters who live in it."
    )

    async def samples() -> list[str]:
        samplings = [Sampling(temperature=1.0, seed=seed, max_tokens=24) for seed in range(5)]
        return [(await llm.complete(story, sampling)).text for sampling in samplings]

    first, second, third = await samples(), await samples(), await samples()
    assert len(set(first)) == 5
    assert (
        second == third
    )  # the first may fall elsewhere: it read the prompt, the others found it in the cache


async def test_the_first_token_tells_yes_from_no(llm: OpenVinoLLM) -> None:
    sampling = Sampling(max_tokens=1, first_token=("Yes", "No"))
    sky = await llm.complete(asking("Is the sky blue by day? Reply with Yes or No."), sampling)
    moon = await llm.complete(asking("Is the moon made of cheese? Reply with Yes or No."), sampling)
    assert dict(sky.first_token)["Yes"] > dict(sky.first_token)["No"]
    assert dict(moon.first_token)["Yes"] < dict(moon.first_token)["No"]


# ── silence towards the world ────────────────────────────────────────────────────────────────────────────

WATCHED = """
import os, runpy, sys
SPEAKING = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "urllib.Request"}
def watch(event, arguments):
    if event in SPEAKING or (event == "open" and "openvino_telemetry" in str(arguments[0])):
        os.write(2, f"it tried {event} {arguments}".encode())
        os._exit(99)
sys.addaudithook(watch)
{also}
runpy.run_module("distinguo.backends.llm.openvino_child", run_name="__main__", alter_sys=True)
"""


def watched(also: str) -> ChildLLM:
    model = str(stored("qwen2.5-coder-1.5b-instruct") / "model.gguf")
    script = WATCHED.replace("{also}", also)
    return ChildLLM("watched", (sys.executable, "-c", script, model, "1024", "1024", "0"))


async def test_the_runtime_neither_loads_its_telemetry_nor_opens_a_connection() -> None:
    llm = watched("")
    await llm.complete(asking("Hi"), Sampling(max_tokens=2, schema=SCHEMA))
    assert llm.pid is not None
    held = {path.readlink().name for path in Path(f"/proc/{llm.pid}/fd").iterdir()}
    await llm.aclose()
    tables = [
        Path(f"/proc/self/net/{name}").read_text(encoding="ascii") for name in ("tcp", "tcp6", "udp", "udp6")
    ]
    networked = {f"socket:[{line.split()[9]}]" for table in tables for line in table.splitlines()[1:]}
    assert held & networked == set()


@pytest.mark.parametrize(
    "also", ["import openvino_telemetry", "import socket; socket.socket().connect(('127.0.0.1', 9))"]
)
async def test_the_watch_would_notice(also: str) -> None:
    llm = watched(also)
    with pytest.raises(BackendError, match=r"exit code 99, (?s:.*)it tried"):
        await llm.complete(asking("Hi"), Sampling(max_tokens=1))
    await llm.aclose()


# ── llama.cpp ────────────────────────────────────────────────────────────────────────────────────────────


async def test_llamacpp_answers_cancels_and_refuses() -> None:
    llm = LlamaCppLLM(stored("smollm2-135m-instruct") / "model.gguf", "smol", context=2048)
    with pytest.raises(BackendError, match=r"\d+ tokens.*2048"):
        await llm.complete(asking("word " * 4000))
    endless = asyncio.create_task(llm.complete(asking("Write a very long story."), Sampling(max_tokens=2000)))
    with pytest.raises(BackendError, match="schema"):
        await llm.complete(asking("Hi"), Sampling(schema="[]"))  # refused when the child hears of it
    endless.cancel()
    reply = await llm.complete(asking("Say hello."), Sampling(max_tokens=8, first_token=("Hello",)))
    await llm.aclose()
    assert 1 <= reply.usage.completion_tokens <= 8
    assert [word for word, _ in reply.first_token] == ["Hello"]
