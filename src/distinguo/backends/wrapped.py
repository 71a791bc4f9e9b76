"""Assemble the wrappers around each port: the one place that knows their order."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, cast, final

from distinguo.backends.cache import Form, Replies, cached
from distinguo.backends.limits import Budget, limited
from distinguo.backends.retry import PATIENT, Patience, retrying
from distinguo.backends.traced import traced
from distinguo.records import GREEDY, Completion, Hit, Passage, Prompt, Query, Role, Sampling, Score, Usage

if TYPE_CHECKING:
    from distinguo.protocols import LLM, Embedder, Retriever, Scorer, Vector
    from distinguo.trace import Json


def _plain(record: Sampling | Query) -> dict[str, Json]:
    """`record` as JSON values: tuples become lists."""
    return cast("dict[str, Json]", json.loads(json.dumps(asdict(record))))


# ── language models ──────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, slots=True)
class LLMRequest:
    """The arguments of `LLM.complete`."""

    prompt: Prompt
    sampling: Sampling


@final
@dataclass(frozen=True, slots=True)
class WrappedLLM:
    """An `LLM` over a function of its request."""

    call: Callable[[LLMRequest], Awaitable[Completion]]

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        """Reply to `prompt`. Raises `BackendError`, `BudgetError` or, from the cache, `DataError`."""
        return await self.call(LLMRequest(prompt, sampling))


def wrap_llm(
    llm: LLM,
    *,
    model: str,
    budget: Budget,
    cache: Replies | None = None,
    in_flight: int = 64,
    patience: Patience = PATIENT,
) -> LLM:
    """``Traced(Cached(Limited(Retrying(llm))))``.

    Args:
        llm: a bare backend.
        model: all that makes its replies what they are (name, revision or hash); part of the cache's key.
        budget: what the run may spend; cached replies cost nothing.
        cache: where replies are kept; None keeps none.
        in_flight: calls that the backend is given at once; one that waits to be retried counts.
        patience: how often a failed call is made again.
    """

    async def complete(request: LLMRequest) -> Completion:
        return await llm.complete(request.prompt, request.sampling)

    def key(request: LLMRequest) -> Json:
        return ["llm", model, _messages(request.prompt), _plain(request.sampling)]

    def asked(request: LLMRequest) -> dict[str, Json]:
        messages, sampling = _messages(request.prompt), _plain(request.sampling)
        return {"port": "llm", "model": model, "messages": messages, "sampling": sampling}

    call = limited(retrying(complete, patience), budget, in_flight=in_flight, tokens=_tokens)
    if cache is not None:
        call = cached(call, cache, Form(key, _write, _read))
    return WrappedLLM(traced(call, name=lambda request: request.prompt.name, asked=asked, told=_reply))


def _messages(prompt: Prompt) -> Json:
    return [{"role": message.role, "content": message.content} for message in prompt.messages]


def _tokens(completion: Completion) -> int:
    return completion.usage.prompt_tokens + completion.usage.completion_tokens


def _write(completion: Completion) -> str:
    return json.dumps(asdict(completion))


def _read(text: str) -> Completion:
    row = json.loads(text)
    return Completion(
        text=row["text"],
        is_truncated=row["is_truncated"],
        usage=replace(Usage(**row["usage"]), is_cached=True),
        thinking=row["thinking"],
        first_token=tuple((word, logarithm) for word, logarithm in row["first_token"]),
    )


def _reply(completion: Completion) -> dict[str, Json]:
    return {
        "reply": completion.text,
        "thinking": completion.thinking,
        "is_truncated": completion.is_truncated,
        "first_token": dict(completion.first_token),
        "prompt_tokens": completion.usage.prompt_tokens,
        "completion_tokens": completion.usage.completion_tokens,
        "is_cached": completion.usage.is_cached,
    }


# ── retrievers ───────────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, slots=True)
class RetrieverRequest:
    """The arguments of `Retriever.search`."""

    query: Query
    k: int


@final
@dataclass(frozen=True, slots=True)
class WrappedRetriever:
    """A `Retriever` over a function of its request."""

    call: Callable[[RetrieverRequest], Awaitable[tuple[Hit, ...]]]

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """At most `k` hits, best first."""
        return await self.call(RetrieverRequest(query, k))


def wrap_retriever(retriever: Retriever, *, name: str, patience: Patience = PATIENT) -> Retriever:
    """``Traced(Retrying(retriever))``; traces call it `name`."""

    async def search(request: RetrieverRequest) -> tuple[Hit, ...]:
        return await retriever.search(request.query, request.k)

    def asked(request: RetrieverRequest) -> dict[str, Json]:
        return {"port": "retriever", "k": request.k, **_plain(request.query)}

    return WrappedRetriever(traced(retrying(search, patience), name=lambda _: name, asked=asked, told=_hits))


def _hits(hits: tuple[Hit, ...]) -> dict[str, Json]:
    return {"hits": [_hit(hit) for hit in hits]}


def _hit(hit: Hit) -> dict[str, Json]:
    """Where the passage stands, without its text, and its scores; `parts`: one for each probe, or none."""
    passage = hit.passage
    return {
        "passage": passage.id,
        "title": passage.title,
        "source": passage.source,
        "heading": passage.heading,
        "page": passage.page,
        "start": passage.start,
        "end": passage.end,
        "rank": hit.rank,
        **_score(hit.score),
        "parts": [part.value for part in hit.parts],
    }


def _score(score: Score) -> dict[str, Json]:
    return {"score": score.value, "scale": score.scale, "by": score.name}


# ── scorers ──────────────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, slots=True)
class ScorerRequest:
    """The arguments of `Scorer.score`."""

    query: str
    passage: Passage


@final
@dataclass(frozen=True, slots=True)
class WrappedScorer:
    """A `Scorer` over a function of its request."""

    call: Callable[[ScorerRequest], Awaitable[Score]]

    async def score(self, query: str, passage: Passage) -> Score:
        """The score of `passage` for `query`. Raises `BackendError`."""
        return await self.call(ScorerRequest(query, passage))


def wrap_scorer(scorer: Scorer, *, name: str, patience: Patience = PATIENT) -> Scorer:
    """``Traced(Retrying(scorer))``; traces call it `name`."""

    async def score(request: ScorerRequest) -> Score:
        return await scorer.score(request.query, request.passage)

    def asked(request: ScorerRequest) -> dict[str, Json]:
        return {"port": "scorer", "query": request.query, "passage": request.passage.id}

    return WrappedScorer(traced(retrying(score, patience), name=lambda _: name, asked=asked, told=_score))


# ── embedders ────────────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, slots=True)
class EmbedderRequest:
    """The arguments of `Embedder.embed`."""

    text: str
    role: Role


@final
@dataclass(frozen=True, slots=True)
class WrappedEmbedder:
    """An `Embedder` over a function of its request."""

    call: Callable[[EmbedderRequest], Awaitable[Vector]]

    async def embed(self, text: str, role: Role) -> Vector:
        """The L2-normalised vector of `text`, shape (dimension,). Raises `BackendError`."""
        return await self.call(EmbedderRequest(text, role))


def wrap_embedder(embedder: Embedder, *, name: str, patience: Patience = PATIENT) -> Embedder:
    """``Traced(Retrying(embedder))``; traces call it `name`, and hold no vectors."""

    async def embed(request: EmbedderRequest) -> Vector:
        return await embedder.embed(request.text, request.role)

    def asked(request: EmbedderRequest) -> dict[str, Json]:
        return {"port": "embedder", "text": request.text, "role": request.role}

    return WrappedEmbedder(
        traced(retrying(embed, patience), name=lambda _: name, asked=asked, told=lambda _: {})
    )
