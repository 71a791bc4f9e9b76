"""Any language model behind an OpenAI-compatible chat endpoint: Ollama, vLLM, llama.cpp, a hosted one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, final

import httpx
from pydantic import BaseModel

from distinguo import trace
from distinguo.backends.http import Endpoint, check_seconds, limits
from distinguo.backends.llm.first_token import beginnings
from distinguo.errors import ConfigError
from distinguo.records import GREEDY, Completion, Prompt, Sampling, Usage
from distinguo.text.thinking import strip_thinking

TOP: Final = 20  # likeliest first tokens asked for: the most that the common servers give
PLAIN: Final = frozenset({"messages", "temperature", "max_tokens"})  # what every server knows


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(
        limits=httpx.Limits()
    )  # no limit here: `Limited` owns how many calls are in flight


@final
@dataclass(frozen=True, slots=True)
class OpenAICompatible:
    """An `LLM` behind ``{url}/chat/completions``.

    The reply is not streamed: a server sends nothing until it is whole. So `stall` finds dead connections and
    must exceed the time of the longest reply, queueing included; `total` bounds a call in any case.
    What a call does not need is not sent (no seed for a greedy reply, no ``top_p`` of 1): servers differ in
    what they know. A field that a server refuses is an error that names it; none is silently left out.

    Attributes:
        url: base address, e.g. ``http://localhost:8000/v1``.
        model: the model's name there.
        key: sent as a bearer token; in no message and no ``repr``.
        stall: seconds without a byte after which a call fails (retryable).
        total: seconds after which a call fails (retryable), waiting for a connection included.
        client: carries the calls; one for each event loop, closed by `aclose`.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    stall: float = 120.0
    total: float = 600.0
    client: httpx.AsyncClient = field(default_factory=_client, repr=False, compare=False)

    def __post_init__(self) -> None:
        _ = self.endpoint  # raises early what is wrong with address or key
        check_seconds(self.model, stall=self.stall, total=self.total)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.endpoint.shown!r}, {self.model!r})"

    @property
    def endpoint(self) -> Endpoint:
        """Where the model is."""
        return Endpoint(self.url, self.model, self.key)

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        """Reply to `prompt`. Raises `BackendError`, and `ConfigError` for a schema that is no JSON."""
        endpoint, fields = self.endpoint, _fields(prompt, sampling)
        if self.client.is_closed:
            raise endpoint.error("its client is closed", retryable=False)
        try:
            async with asyncio.timeout(self.total):
                response = await self.client.post(
                    endpoint.at("chat/completions"),
                    content=endpoint.body(fields),
                    headers=endpoint.headers,
                    timeout=limits(self.stall),
                )
        except TimeoutError as error:
            raise endpoint.error(f"no whole reply within {self.total:g} s", retryable=True) from error
        except httpx.HTTPError as error:
            raise endpoint.unreachable(error) from error
        reply = endpoint.read(response, _Reply, asked=sorted(fields.keys() - PLAIN))
        return _completion(endpoint, reply, sampling.first_token)

    async def aclose(self) -> None:
        """Close the connections; later calls are errors."""
        await self.client.aclose()


def _fields(prompt: Prompt, sampling: Sampling) -> dict[str, object]:
    fields: dict[str, object] = {
        "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
    }
    if sampling.temperature > 0:
        fields["seed"] = sampling.seed
    if sampling.top_p < 1:
        fields["top_p"] = sampling.top_p
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    if sampling.schema:
        schema = {"name": "reply", "strict": True, "schema": _schema(prompt.name, sampling.schema)}
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    if sampling.first_token:
        fields |= {"logprobs": True, "top_logprobs": TOP}
    return fields


def _schema(prompt: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"the schema of prompt {prompt!r} is no JSON: {error}") from error


# ── the reply as it comes over the wire: only what is read ───────────────────────────────────────────────


class _Candidate(BaseModel):
    token: str
    logprob: float | None = None  # null where the server's own number was NaN


class _Position(BaseModel):
    token: str
    top_logprobs: list[_Candidate] | None = None


class _Logprobs(BaseModel):
    content: list[_Position] | None = None


class _Message(BaseModel):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None  # the newer name of the same
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Reply(BaseModel):
    choices: list[_Choice]
    usage: _Usage | None = None


def _completion(endpoint: Endpoint, reply: _Reply, words: tuple[str, ...]) -> Completion:
    if not reply.choices:
        raise endpoint.error("the reply holds no choices", retryable=True)
    choice, message = reply.choices[0], reply.choices[0].message
    if choice.finish_reason == "content_filter":  # the same prompt would meet the same filter
        raise endpoint.error("the server's content filter stopped the reply", retryable=False)
    # A refusal is a reply in words: whether it can be read is for the prompt's reader to say.
    written = message.refusal if message.content is None else message.content
    apart = message.reasoning_content or message.reasoning or ""
    if written is None and not apart and choice.finish_reason != "length":
        raise endpoint.error("the reply's content is null", retryable=True)
    text, thinking, is_closed = strip_thinking(written or "")
    is_thinking = bool(apart) or text != written
    thinking = "\n".join(part for part in (apart.strip(), thinking) if part)
    return Completion(
        text=text,
        is_truncated=choice.finish_reason == "length" or not is_closed or bool(apart and not written),
        usage=_usage(reply.usage),
        thinking=thinking,
        first_token=_first_token(choice, words, is_thinking=is_thinking) if words else (),
    )


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        trace.note("usage unknown", reason="the server counted no tokens")
        return Usage()
    return Usage(usage.prompt_tokens, usage.completion_tokens)


def _first_token(
    choice: _Choice, words: tuple[str, ...], *, is_thinking: bool
) -> tuple[tuple[str, float], ...]:
    """From the first position that is not blank; nothing if that one belongs to the thinking."""
    positions = (choice.logprobs and choice.logprobs.content) or []
    first = next((position for position in positions if position.token.strip()), None)
    if first is None or is_thinking:
        reason = "the model thought first" if is_thinking else "the server gave no log-probabilities"
        trace.note("first token unknown", reason=reason)
        return ()
    given = [(candidate.token, candidate.logprob) for candidate in first.top_logprobs or []]
    sound = [(token, value) for token, value in given if value is not None and isfinite(value) and value <= 0]
    if len(sound) < len(given):
        trace.note(
            "log-probabilities dropped", count=len(given) - len(sound), reason="not finite, or above 0"
        )
    return beginnings(sound, words)
