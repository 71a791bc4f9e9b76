"""A stand-in for the module ``openvino_genai``: characters are tokens; a step writes one for each request."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

CONTROL = "<|end|>"
CONTROL_TOKEN = 0x110000
ENCODED_AT_ONCE = 8192


class Tokenizer:
    def apply_chat_template(self, turns: list[dict[str, str]], add_generation_prompt: bool) -> str:
        if not turns:
            raise RuntimeError("no turns")
        return "".join(turn["content"] + CONTROL for turn in turns)

    def encode(self, text: str, add_special_tokens: bool) -> Any:
        text.encode()  # as the binding does
        tokens = [ord(character) for character in text.replace(CONTROL, chr(0x10FFFF))]
        tokens = [CONTROL_TOKEN if token == 0x10FFFF else token for token in tokens]
        return SimpleNamespace(input_ids=Tensor(None, [1, 0], tokens[-ENCODED_AT_ONCE:]))

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


class Tensor:
    def __init__(self, kind: object, shape: list[int], tokens: list[int] | None = None) -> None:
        self.data = np.zeros(shape, dtype=np.int64) if tokens is None else np.array([tokens], dtype=np.int64)


@dataclass
class Config:
    """A request's settings; `get_config` gives a fresh one."""

    max_new_tokens: int = 0
    logprobs: int = 0
    stop_strings: set[str] = field(default_factory=set)
    do_sample: bool = False
    temperature: float = 1.0
    top_p: float = 1.0
    rng_seed: int = 0
    structured_output_config: Any = None


@dataclass
class Structured:
    json_schema: str = ""
    compound_grammar: str = ""

    @staticmethod
    def ConstString(word: str) -> str:  # noqa: N802
        return word


class Request:
    """A request and the handle of it. It writes x, or the first letter of the word that is forced."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.written: list[int] = []
        self.status = "RUNNING"

    def can_read(self) -> bool:
        return bool(self.written)

    def get_status(self) -> Any:
        return SimpleNamespace(name=self.status)

    def cancel(self) -> None:
        self.status = "CANCEL"

    def read_all(self) -> list[Any]:
        reason = SimpleNamespace(name="LENGTH")
        logprobs = [-0.25] * len(self.written)
        return [
            SimpleNamespace(generated_ids=self.written, generated_log_probs=logprobs, finish_reason=reason)
        ]

    def step(self) -> None:
        structured = self.config.structured_output_config or Structured()
        self.written.append(ord((structured.compound_grammar or "x")[0]))
        if len(self.written) == self.config.max_new_tokens:
            self.status = "FINISHED"


class Pipeline:
    """Runs all requests; a schema that says "bad" breaks it for good."""

    def __init__(
        self, path: str, scheduler: Any, device: str, properties: Any, tokenizer_properties: Any
    ) -> None:
        self.path, self.requests, self.is_broken = path, list[Request](), False

    def get_tokenizer(self) -> Tokenizer:
        return Tokenizer()

    def get_config(self) -> Config:
        return Config()

    def add_request(self, number: int, prompt: Tensor, config: Config) -> Request:
        request = Request(config)
        self.requests.append(request)
        return request

    def running(self) -> list[Request]:
        return [request for request in self.requests if request.status == "RUNNING"]

    def step(self) -> None:
        for request in self.running():
            structured = request.config.structured_output_config
            self.is_broken = self.is_broken or bool(structured and "bad" in structured.json_schema)
        if self.is_broken:
            raise RuntimeError("no such grammar")
        for request in self.running():
            request.step()


def runtime() -> Any:
    return SimpleNamespace(
        SchedulerConfig=SimpleNamespace,
        StructuredOutputConfig=Structured,
        ContinuousBatchingPipeline=Pipeline,
        openvino=SimpleNamespace(Tensor=Tensor, Type=SimpleNamespace(i64="i64")),
    )
