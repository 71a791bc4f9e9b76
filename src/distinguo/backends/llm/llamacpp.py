"""Any GGUF file as a language model: llama.cpp in a child process."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import final

from distinguo.backends.llm.child import ChildLLM
from distinguo.errors import ConfigError
from distinguo.records import GREEDY, Completion, Prompt, Sampling


@final
@dataclass(frozen=True, slots=True)
class LlamaCppLLM:
    """An `LLM` from a GGUF file of any family, started on first use; close it with `aclose`.

    Questions are answered one after the other; what a prompt shares with the last ones is not read again. A
    control token spelled out in a message is read as one: prefer `OpenVinoLLM` for passages of strangers.

    Attributes:
        model: the GGUF file.
        name: the model's name, for messages.
        context: tokens that prompt and reply may have together.
        threads: of the processor; 0 means as many as it has cores.

    Raises:
        ConfigError: llama.cpp is not installed.
    """

    model: Path
    name: str
    context: int = 8192
    threads: int = 0
    child: ChildLLM = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if find_spec("xllamacpp") is None:
            raise ConfigError(
                f"the model {self.name!r} needs llama.cpp, which is not installed: "
                "pip install 'distinguo[llamacpp]'"
            )
        numbers = (str(self.context), str(self.threads))
        child = ChildLLM.of(self.name, "distinguo.backends.llm.llamacpp_child", str(self.model), *numbers)
        object.__setattr__(self, "child", child)

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        """Reply to `prompt`. Raises `BackendError`."""
        return await self.child.complete(prompt, sampling)

    async def aclose(self) -> None:
        """End the child process; later calls are errors."""
        await self.child.aclose()
