"""llama.cpp as an engine; `LlamaCppLLM` starts it as a process of its own."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections import deque
from collections.abc import Iterator, Set
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final, final

from distinguo.backends.llm.first_token import beginnings
from distinguo.backends.llm.serving import Ask, RefusedError, serve
from distinguo.records import Completion, Sampling, Usage

TOP: Final = 1000  # likeliest first tokens, among which the wanted words are looked for
PREFIXES: Final = 512  # MiB of read beginnings that are remembered

Chunk = dict[str, Any]


@final
@dataclass(slots=True, eq=False)
class LlamaCppEngine:
    """One question at a time: a `step` answers one. Several together would be no faster on a CPU."""

    server: Any
    waiting: deque[Ask] = field(default_factory=deque[Ask])

    @property
    def is_busy(self) -> bool:
        """Whether any question waits."""
        return bool(self.waiting)

    def begin(self, ask: Ask) -> None:
        """Let a question wait for its turn."""
        self.waiting.append(ask)

    def step(self, dropped: Set[int]) -> Iterator[tuple[int, Completion | RefusedError]]:
        """Answer the question that waits longest, as long as it is wanted."""
        if not self.waiting:
            return
        ask = self.waiting.popleft()
        chunks: list[Chunk] = []

        def heard(chunk: Chunk) -> bool:
            chunks.append(chunk)
            return ask.id in dropped  # True ends it

        if ask.id in dropped:
            return
        try:
            self.server.handle_chat_completions(_body(ask), heard)
            answer = None if ask.id in dropped else _completion(chunks, ask.sampling)
        except (RefusedError, ValueError, RuntimeError) as error:
            answer = RefusedError(str(error))
        if answer:
            yield ask.id, answer


def _body(ask: Ask) -> dict[str, Any]:
    sampling = ask.sampling
    body: dict[str, Any] = {
        "messages": [asdict(message) for message in ask.messages],
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": 0,  # llama.cpp would cut the tail by its own defaults
        "min_p": 0.0,
        "seed": sampling.seed,
        "stop": list(sampling.stop),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if sampling.schema:
        schema = {"schema": json.loads(sampling.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if sampling.first_token:
        body |= {"logprobs": True, "top_logprobs": TOP}
    return body


def _completion(chunks: list[Chunk], sampling: Sampling) -> Completion:
    for chunk in chunks:
        if "error" in chunk:
            raise RefusedError(chunk["error"]["message"])
    choices: list[dict[str, Any]] = [choice for chunk in chunks for choice in chunk["choices"]]
    counted: dict[str, int] = next(chunk["usage"] for chunk in reversed(chunks) if "usage" in chunk)
    return Completion(
        "".join(choice["delta"].get("content") or "" for choice in choices),
        is_truncated=any(choice["finish_reason"] == "length" for choice in choices),
        usage=Usage(counted["prompt_tokens"], counted["completion_tokens"]),
        first_token=beginnings(_likeliest(choices), sampling.first_token),
    )


def _likeliest(choices: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """The candidates for the reply's first token, as they stood before a schema masked any."""
    for choice in choices:
        if choice.get("logprobs"):
            first: dict[str, Any] = choice["logprobs"]["content"][0]
            yield from ((token["token"], token["logprob"]) for token in first["top_logprobs"])
            return


def _load(model: Path, context: int, threads: int) -> LlamaCppEngine:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # else a busy core beside it makes writing many times slower
    xllamacpp: Any = import_module("xllamacpp")
    if not model.is_file():
        raise FileNotFoundError(f"{model} is no file")
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx, params.n_parallel, params.cache_ram_mib = context, 1, PREFIXES
    params.verbosity = 2  # warnings
    params.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    if threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # It listens on a port of this machine whether one wants it or not: nobody else may use it.
    params.api_keys, params.ui = [secrets.token_urlsafe()], False
    return LlamaCppEngine(xllamacpp.Server(params))


def main() -> None:
    """Serve the model named on the command line."""
    model, context, threads = sys.argv[1:]
    serve(lambda: _load(Path(model), int(context), int(threads)))


if __name__ == "__main__":
    main()
