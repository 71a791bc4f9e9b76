"""Turn how a question ended into the row that its result file keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from distinguo.records import Abstention, Answer, Evidence, Failure, Result, Unreadable
from distinguo.results.rows import Row, Weighed
from distinguo.trace import Json, Trace


def row_of(result: Result, trace: Trace, *, with_texts: bool = True, is_traced: bool = True) -> Row:
    """The row of `result`, with what its `trace` says that it cost.

    Without texts the question's own is left out; passages' texts never are in. Where the trace is not kept,
    the row does not name it.
    """
    answer = reason = raw = ""
    citations: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    match result.outcome:
        case Answer():
            answer, citations = result.outcome.text, result.outcome.citations
            evidence = result.outcome.evidence
        case Abstention():
            reason, evidence = result.outcome.reason, result.outcome.evidence
        case Unreadable():
            reason, raw = result.outcome.reason, result.outcome.raw
        case Failure():
            reason = f"{result.outcome.error}: {result.outcome.reason}"
    cost = cost_of(trace)
    return Row(
        id=result.question.id,
        state=result.state,
        question=result.question.text if with_texts else "",
        answer=answer,
        reason=reason,
        raw=raw,
        citations=citations,
        evidence=tuple(_weighed(item, citations) for item in evidence),
        calls=cost.calls,
        cached_calls=cost.cached_calls,
        prompt_tokens=cost.prompt_tokens,
        completion_tokens=cost.completion_tokens,
        cached_tokens=cost.cached_tokens,
        cached_vectors=cost.cached_vectors,
        seconds=round(result.seconds, 4),
        notes=tuple(dict.fromkeys(_noted(trace))),
        trace=result.trace if is_traced else "",
    )


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """What a question cost; see `Row`."""

    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cached_vectors: int = 0


def cost_of(trace: Trace) -> Cost:
    """What the calls in `trace` cost. A call that failed was made, and its tokens are not known."""
    fields = [event.fields for event in trace.events if event.kind == "call"]
    made = [call for call in fields if call.get("port") == "llm" and not call.get("is_cached")]
    kept = [call for call in fields if call.get("port") == "llm" and call.get("is_cached")]
    return Cost(
        len(made),
        len(kept),
        sum(_tokens(made, "prompt_tokens")),
        sum(_tokens(made, "completion_tokens")),
        sum((*_tokens(kept, "prompt_tokens"), *_tokens(kept, "completion_tokens"))),
        sum(call.get("port") == "embedder" and call.get("is_cached") is True for call in fields),
    )


def _noted(trace: Trace) -> Iterator[str]:
    for event in trace.in_order():
        if event.kind == "note":
            status = event.fields.get("status")
            yield f"{event.name}: {status}" if isinstance(status, str) else event.name


def _tokens(calls: list[dict[str, Json]], name: str) -> Iterator[int]:
    return (tokens for call in calls if isinstance(tokens := call.get(name), int))


def _weighed(item: Evidence, cited: tuple[str, ...]) -> Weighed:
    score = float(f"{item.score.value:.7g}")  # as exact as the float32 values that engines give
    passage = item.passage
    return Weighed(
        passage.id, passage.document, score, item.score.scale, item.score.name, passage.id in cited
    )
