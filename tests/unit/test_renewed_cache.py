"""What is asked afresh takes the place of what was kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from distinguo.backends.cache import CallCache, Renewed
from distinguo.backends.limits import Budget
from distinguo.backends.wrapped import wrap_llm
from distinguo.protocols import LLM
from distinguo.records import Message, Prompt
from distinguo.testing import ScriptedLLM

PROMPT = Prompt("read", (Message("user", "When?"),))


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    cache = CallCache(tmp_path)
    yield cache
    cache.close()


def wrapped(llm: LLM, cache: CallCache | Renewed) -> LLM:
    return wrap_llm(llm, model="scripted", budget=Budget(), cache=cache)


async def said(llm: LLM) -> str:
    return (await llm.complete(PROMPT)).text


async def test_a_kept_reply_is_passed_over_and_replaced(cache: CallCache) -> None:
    backend = ScriptedLLM(["first", "second"])
    usual, afresh = wrapped(backend, cache), wrapped(backend, Renewed(cache))
    assert [await said(llm) for llm in (usual, usual, afresh)] == ["first", "first", "second"]
    assert await said(usual) == "second"
    assert cache.info().entries == 1


async def test_what_was_just_asked_afresh_is_not_paid_for_twice(cache: CallCache) -> None:
    backend = ScriptedLLM(["first"])
    afresh = wrapped(backend, Renewed(cache))
    assert [await said(afresh), await said(afresh)] == ["first", "first"]
