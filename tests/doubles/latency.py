"""A model whose every call takes a second, on a clock that jumps: nobody waits, and rounds can be counted."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from distinguo.protocols import LLM
from distinguo.records import GREEDY, Completion, Prompt, Sampling

Value = TypeVar("Value")

LATENCY = 1.0


@dataclass(frozen=True)
class Slow:
    """An `LLM` that takes `LATENCY` seconds of its loop's time, however many calls are made at once."""

    llm: LLM

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        await asyncio.sleep(LATENCY)
        return await self.llm.complete(prompt, sampling)


class _Selector(selectors.SelectSelector):
    """Where it would wait, the clock jumps instead."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout:
            self._jump(timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Selector(self._jump))

    def time(self) -> float:
        return self.now

    def _jump(self, seconds: float) -> None:
        self.now += seconds


def rounds(work: Callable[[], Coroutine[Any, Any, Value]]) -> tuple[Value, float]:
    """What `work` gives, and how many rounds of latency it took."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        began = runner.get_loop().time()
        result = runner.run(work())
        return result, round((runner.get_loop().time() - began) / LATENCY, 6)
