"""Let a model write what is searched with, several times over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from distinguo.concurrently import each
from distinguo.prompts.expanding import read_passage
from distinguo.protocols import LLM
from distinguo.records import Prompt, Sampling
from distinguo.stages.ask import ask, ask_once

Value = TypeVar("Value")

VARIED: Final = 0.7
"""The temperature at which several are drawn (HyDE, ThinkQE)."""

LONGEST: Final = 2048
"""Tokens of a reply under a schema, which ends it long before: the rest is for thinking blocks."""


async def draw(llm: LLM, prompt: Prompt, n: int, *, tokens: int) -> tuple[str, ...]:
    """`n` passages of at most `tokens`: one greedily, several drawn together with the seeds 0 … n - 1.

    Raises `ParseError` for one without words.
    """

    async def one(seed: int) -> str:
        sampling = Sampling(temperature=VARIED if n > 1 else 0.0, seed=seed, max_tokens=tokens)
        return await ask_once(llm, prompt, read_passage, sampling=sampling)

    return await each(one, range(n))


async def ask_each(
    llm: LLM, prompt: Prompt, read: Callable[[str], Value], *, schema: str, seeds: range
) -> tuple[Value, ...]:
    """What `ask` makes of `prompt`, drawn together with each of `seeds`. Raises `ParseError`."""

    async def one(seed: int) -> Value:
        sampling = Sampling(temperature=VARIED, seed=seed, max_tokens=LONGEST)
        return await ask(llm, prompt, read, schema=schema, sampling=sampling)

    return await each(one, seeds)
