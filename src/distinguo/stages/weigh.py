"""Weigh passages one by one, all at once, and keep those that are worth reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Final, Literal, final

from distinguo.concurrently import each
from distinguo.errors import ParseError
from distinguo.prompts.relevance import (
    NO,
    PERCENT_SCHEMA,
    YES,
    is_relevant,
    percent_relevant,
    read_percent,
)
from distinguo.protocols import LLM, Scorer
from distinguo.records import Completion, Evidence, Passage, Probability, Sampling
from distinguo.stages.ask import ask
from distinguo.trace import note

Otherwise = Literal["best", "none"]

_ONE_WORD: Final = Sampling(max_tokens=1, first_token=(YES, NO))


@final
@dataclass(frozen=True, slots=True)
class Relevance:
    """A `Scorer`: p(Relevant | passage, question, Δ) by a language model (RaCoT, Eq. 5).

    It is p(Yes) / (p(Yes) + p(No)) as the reply's first token. Where a backend tells neither, the model is
    asked for a number instead, and the trace says so.
    """

    llm: LLM
    difference: str = ""

    async def score(self, query: str, passage: Passage) -> Probability:
        """The probability that `passage` helps to answer `query`. Raises `BackendError` or `ParseError`."""
        prompt = is_relevant(query, passage, difference=self.difference)
        match _told(await self.llm.complete(prompt, _ONE_WORD)):
            case float() as yes, float() as no:
                share = yes / (yes + no) if yes + no else 0.0
            case float() as yes, None:
                share = yes
            case None, float() as no:
                share = 1.0 - no
            case _:
                note("no first-token probabilities", passage=passage.id, instead="a number in words")
                asked = percent_relevant(query, passage, difference=self.difference)
                share = await ask(self.llm, asked, read_percent, schema=PERCENT_SCHEMA)
        return Probability(min(1.0, max(0.0, share)), "relevance")


async def weigh(scorer: Scorer, query: str, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """`evidence` in its order, each with its score by `scorer` in place of its own; all are scored at once.

    A passage for which no score can be read is dropped, and the trace says so.
    """
    weighed = await each(lambda item: _weighed(scorer, query, item), evidence)
    return tuple(item for item in weighed if item)


def above(weighed: Sequence[Evidence], threshold: float, *, otherwise: Otherwise) -> tuple[Evidence, ...]:
    """Those of `weighed` that score more than `threshold`, in their order; equal is not enough (Eq. 6).

    The trace tells each that is dropped. Where none is left: the *best* one alone, the earlier of equals, or
    *none*; the trace tells that too.
    """
    kept = tuple(item for item in weighed if item.score.value > threshold)
    if not kept and weighed and otherwise == "best":
        kept = (max(weighed, key=lambda item: item.score.value),)
        note("nothing passes", kept=kept[0].passage.id, score=kept[0].score.value, threshold=threshold)
    elif not kept:
        note("nothing passes", threshold=threshold)
    for item in weighed:
        if item not in kept:
            note(
                "passage dropped",
                passage=item.passage.id,
                score=item.score.value,
                threshold=threshold,
                reason="not above the threshold",
            )
    return kept


def best_first(weighed: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """`weighed` by score; equals stay in their order."""
    return tuple(sorted(weighed, key=lambda item: -item.score.value))


def _told(completion: Completion) -> tuple[float | None, float | None]:
    """The probabilities of Yes and No; None for one that the backend did not tell."""
    likely = dict(completion.first_token)
    yes, no = (exp(likely[word]) if word in likely else None for word in (YES, NO))
    return yes, no


async def _weighed(scorer: Scorer, query: str, item: Evidence) -> Evidence | None:
    try:
        return replace(item, score=await scorer.score(query, item.passage))
    except ParseError as error:
        note("passage dropped", passage=item.passage.id, reason=f"its relevance cannot be read: {error}")
        return None
