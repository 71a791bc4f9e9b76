"""Let a model write what is searched with, several times over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from distinguo.concurrently import each
from distinguo.protocols import LLM
from distinguo.records import Prompt, Sampling
from distinguo.stages.ask import ask

Value = TypeVar("Value")

VARIED: Final = 0.7
"""The temperature at which several are drawn (HyDE, ThinkQE)."""


async def draw(
    llm: LLM, prompt: Prompt, read: Callable[[str], Value], *, seeds: range, tokens: int
) -> tuple[Value, ...]:
    """What `read` makes of replies to `prompt`: of one seed greedily, of several drawn together.

    A reply is plain text of at most `tokens`, thinking included. Raises `ParseError` if one cannot be read.
    """
    temperature = VARIED if len(seeds) > 1 else 0.0

    async def one(seed: int) -> Value:
        sampling = Sampling(temperature=temperature, seed=seed, max_tokens=tokens)
        return await ask(llm, prompt, read, sampling=sampling)

    return await each(one, seeds)
