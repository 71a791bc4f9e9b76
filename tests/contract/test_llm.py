"""What every language model owes its callers. A new implementation is one more entry of `MODELS`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from math import isfinite

import pytest
import pytest_asyncio

from distinguo.backends.llm.llamacpp import LlamaCppLLM
from distinguo.backends.llm.openai import OpenAICompatible
from distinguo.backends.llm.openvino import OpenVinoLLM
from distinguo.errors import BackendError
from distinguo.protocols import LLM
from distinguo.records import Completion, Message, Prompt, Sampling, Usage
from distinguo.testing import ScriptedLLM
from doubles.openai_server import Asked, Chat, Reply, Stall, serving
from doubles.stored import stored

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNT = "Write the numbers from 1 to 9 in digits, separated by single spaces, and nothing else."
ENDLESS = "Write a very long story about a lighthouse. Never stop."
REPEAT = "Write this word and nothing else: "
WORDS = ("tiger", "apple", "river", "window", "bread", "garden", "silver", "music",
         "mountain", "paper", "horse", "winter", "orange", "bridge", "candle", "ocean")  # fmt: skip
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
        "additionalProperties": False,
    }
)


def said(text: str) -> str:
    """What a model that does as told replies: the doubles' share of the suite."""
    if text.startswith(REPEAT):
        return text.removeprefix(REPEAT)
    return "1 2 3 4 5 6 7 8 9" if text == COUNT else "Yes"


# ── the implementations ──────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def scripted() -> AsyncIterator[LLM]:
    def script(prompt: Prompt, sampling: Sampling) -> Completion:
        text = prompt.messages[-1].content
        words = ('{"colour": "blue"}' if sampling.schema else said(text)).split()
        for stop in sampling.stop:
            words = words[: words.index(stop)] if stop in words else words
        kept = words[: sampling.max_tokens]
        return Completion(" ".join(kept), len(kept) < len(words), Usage(len(text.split()), len(kept)))

    yield ScriptedLLM(script)


@asynccontextmanager
async def openai_compatible() -> AsyncIterator[LLM]:
    def script(asked: Asked) -> Reply:
        if asked.last == ENDLESS:
            return Stall()
        if "response_format" in asked.fields:
            return '{"colour": "blue"}'
        return Chat(said(asked.last), {"Yes": -0.2, " No": -1.8, "Maybe": -4.0})

    with serving(script) as server:
        llm = OpenAICompatible(server.url, "double")
        try:
            yield llm
        finally:
            await llm.aclose()


@asynccontextmanager
async def openvino() -> AsyncIterator[LLM]:
    async with aclosing(OpenVinoLLM(stored("qwen2.5-coder-1.5b-instruct") / "model.gguf", "qwen")) as llm:
        yield llm


@asynccontextmanager
async def llamacpp() -> AsyncIterator[LLM]:
    pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
    async with aclosing(LlamaCppLLM(stored("qwen2.5-coder-1.5b-instruct") / "model.gguf", "qwen")) as llm:
        yield llm


Open = Callable[[], AbstractAsyncContextManager[LLM]]
CLOSABLE = [
    pytest.param(openai_compatible, id="openai-compatible"),
    pytest.param(openvino, id="openvino", marks=pytest.mark.embedded),
    pytest.param(llamacpp, id="llamacpp", marks=pytest.mark.embedded),
]
MODELS = [pytest.param(scripted, id="scripted"), *CLOSABLE]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=MODELS)
async def llm(request: pytest.FixtureRequest) -> AsyncIterator[LLM]:
    """One model for all tests: real ones take seconds to load."""
    opened: Open = request.param
    async with opened() as model:
        yield model


def asking(text: str) -> Prompt:
    return Prompt("contract", (Message("user", text),))


# ── the contract ─────────────────────────────────────────────────────────────────────────────────────────


async def test_it_replies(llm: LLM) -> None:
    completion = await llm.complete(asking(REPEAT + "tiger"), Sampling(max_tokens=16))
    assert "tiger" in completion.text.lower()
    assert not completion.is_truncated


async def test_a_system_message_and_earlier_turns_are_allowed(llm: LLM) -> None:
    turns = (
        Message("system", "You do as you are told."),
        Message("user", REPEAT + "apple"),
        Message("assistant", "apple"),
        Message("user", REPEAT + "tiger"),
    )
    completion = await llm.complete(Prompt("contract", turns), Sampling(max_tokens=16))
    assert "tiger" in completion.text.lower()


@pytest.mark.parametrize(
    "sampling", [Sampling(max_tokens=24), Sampling(temperature=0.9, seed=7, max_tokens=24)]
)
async def test_the_same_call_gives_the_same_reply(llm: LLM, sampling: Sampling) -> None:
    first = await llm.complete(asking(COUNT), sampling)
    second = await llm.complete(asking(COUNT), sampling)
    assert first.text == second.text


async def test_the_token_limit_holds_and_is_told(llm: LLM) -> None:
    completion = await llm.complete(asking(COUNT), Sampling(max_tokens=4))
    assert completion.is_truncated
    assert completion.text
    assert 1 <= completion.usage.completion_tokens <= 4


async def test_a_stop_string_ends_the_reply_and_is_no_part_of_it(llm: LLM) -> None:
    completion = await llm.complete(asking(COUNT), Sampling(max_tokens=64, stop=("6",)))
    assert "5" in completion.text
    assert "6" not in completion.text
    assert "7" not in completion.text
    assert not completion.is_truncated


async def test_a_reply_under_a_schema_is_a_document_of_it(llm: LLM) -> None:
    question = asking("Which colour has a clear sky by day? Reply as JSON with the field 'colour'.")
    completion = await llm.complete(question, Sampling(max_tokens=64, schema=SCHEMA))
    reply = json.loads(completion.text)
    assert list(reply) == ["colour"]
    assert isinstance(reply["colour"], str)


async def test_first_token_tells_wanted_words_only_in_logarithms_of_probabilities(llm: LLM) -> None:
    question = asking("Is the sky blue by day? Reply with Yes or No.")
    completion = await llm.complete(question, Sampling(max_tokens=1, first_token=("Yes", "No")))
    words = [word for word, _ in completion.first_token]
    assert len(set(words)) == len(words)
    assert set(words) <= {"Yes", "No"}
    assert all(isfinite(value) and value <= 0 for _, value in completion.first_token)


async def test_first_token_is_empty_when_nobody_asked(llm: LLM) -> None:
    completion = await llm.complete(asking(REPEAT + "tiger"), Sampling(max_tokens=16))
    assert completion.first_token == ()


async def test_tokens_are_counted(llm: LLM) -> None:
    short = await llm.complete(asking(REPEAT + "tiger"), Sampling(max_tokens=16))
    long = await llm.complete(asking("Think of a lion. " * 20 + REPEAT + "tiger"), Sampling(max_tokens=16))
    assert 0 < short.usage.prompt_tokens < long.usage.prompt_tokens
    assert 0 < short.usage.completion_tokens <= 16
    assert not short.usage.is_cached


async def test_sixteen_calls_at_once_each_get_their_own_reply(llm: LLM) -> None:
    async with asyncio.TaskGroup() as group:
        calls = [
            group.create_task(llm.complete(asking(REPEAT + word), Sampling(max_tokens=8))) for word in WORDS
        ]
    texts = [call.result().text.lower() for call in calls]
    assert [word for word, text in zip(WORDS, texts, strict=True) if word not in text] == []


async def test_a_cancelled_call_disturbs_no_other(llm: LLM) -> None:
    endless = asyncio.create_task(llm.complete(asking(ENDLESS), Sampling(max_tokens=2000)))
    await llm.complete(asking(REPEAT + "apple"), Sampling(max_tokens=8))
    beside = asyncio.create_task(llm.complete(asking(REPEAT + "tiger"), Sampling(max_tokens=8)))
    if endless.cancel():  # a fake has replied by now
        with pytest.raises(asyncio.CancelledError):
            await endless
    after = await llm.complete(asking(REPEAT + "river"), Sampling(max_tokens=8))
    assert "tiger" in (await beside).text.lower()
    assert "river" in after.text.lower()


@pytest.mark.parametrize("opened", CLOSABLE)
async def test_a_call_after_closing_is_a_backend_error(opened: Open) -> None:
    async with opened() as model:
        await model.complete(asking(REPEAT + "tiger"), Sampling(max_tokens=8))
    with pytest.raises(BackendError):
        await model.complete(asking(REPEAT + "tiger"), Sampling(max_tokens=8))
