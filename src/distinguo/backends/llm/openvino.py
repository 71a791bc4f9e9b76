"""The embedded language model: OpenVINO GenAI in a child process.

Questions in flight are its batch: the more run together, the faster each. What several prompts begin with is
read once, so put the shared text first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from distinguo.backends.llm.child import ChildLLM
from distinguo.errors import ConfigError
from distinguo.records import GREEDY, Completion, Prompt, Sampling


@final
@dataclass(frozen=True, slots=True)
class OpenVinoLLM:
    """An `LLM` from a GGUF file (llama and Qwen families), started on first use; close it with `aclose`.

    The first start keeps a converted copy beside the file, if the disk allows: the folder ``….openvino``,
    from which later starts load several times faster. Equal calls give equal replies as long as the same
    questions run beside them; otherwise near-ties may fall differently, as in every engine that batches.

    Attributes:
        model: the GGUF file.
        name: the model's name, for messages.
        context: tokens that prompt and reply may have together.
        cache: tokens that all questions in flight may have together, and of which shared beginnings are
            remembered; others wait for their turn. 65,536 take 1 GB with the default model.
        threads: of the processor; 0 means as many as it has cores.

    Raises:
        ConfigError: `cache` is smaller than `context`.
    """

    model: Path
    name: str
    context: int = 32_768
    cache: int = 65_536
    threads: int = 0
    child: ChildLLM = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.cache < self.context:
            raise ConfigError(
                f"the model {self.name!r} has a cache of {self.cache} tokens; "
                f"expected at least its context, {self.context}"
            )
        numbers = (str(self.context), str(self.cache), str(self.threads))
        child = ChildLLM.of(self.name, "distinguo.backends.llm.openvino_child", str(self.model), *numbers)
        object.__setattr__(self, "child", child)

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        """Reply to `prompt`. Raises `BackendError`."""
        return await self.child.complete(prompt, sampling)

    async def aclose(self) -> None:
        """End the child process; later calls are errors."""
        await self.child.aclose()
