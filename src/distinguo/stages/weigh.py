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
from distinguo.records import Completion, Evidence, Passage, Probability, Sampling, Score
from distinguo.stages.ask import ask
from distinguo.trace import note

Otherwise = Literal["best", "none"]

_CERTAIN: Final = 1e-3  # a log-probability is 0 at most, but for rounding; more, or NaN, is none
_DIGITS: Final = 9  # what lies behind is rounding, and would order passages that are equally likely
_ONE_WORD: Final = Sampling(max_tokens=1, first_token=(YES, NO))


@final
@dataclass(frozen=True, slots=True)
class Relevance:
    """A `Scorer`: p(Relevant | passage, question, Δ) by a language model (RaCoT, Eq. 5).

    It is p(Yes) / (p(Yes) + p(No)) as the reply's first token. A backend that tells one of them alone holds
    the other for less likely, and what the first leaves is all it can have. Where both together have less
    than half, their ratio says nothing: the model is asked for a number instead, and the trace says so.
    """

    llm: LLM
    difference: str = ""

    async def score(self, query: str, passage: Passage) -> Probability:
        """The probability that `passage` helps to answer `query`. Raises `BackendError` or `ParseError`."""
        prompt = is_relevant(query, passage, difference=self.difference)
        share = _share(await self.llm.complete(prompt, _ONE_WORD))
        name = "relevance"
        if share is None:
            name = "relevance in words"
            note("no first-token probabilities", passage=passage.id, instead="a number in words")
            asked = percent_relevant(query, passage, difference=self.difference)
            share = await ask(self.llm, asked, read_percent, schema=PERCENT_SCHEMA)
        return Probability(share, name)


async def weigh(scorer: Scorer, query: str, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """`evidence` in its order, each with its score by `scorer` in place of its own; all are scored at once.

    A passage whose score cannot be read is dropped, and the trace says so. Raises `ParseError` if all are.
    """
    weighed = await each(lambda item: _weighed(scorer, query, item), evidence)
    read = tuple(item for item in weighed if isinstance(item, Evidence))
    if not read and weighed:
        raise next(item for item in weighed if isinstance(item, ParseError))
    return read


def above(weighed: Sequence[Evidence], threshold: Score, *, otherwise: Otherwise) -> tuple[Evidence, ...]:
    """Those of `weighed` that score more than `threshold`, in their order; equal is not enough (Eq. 6).

    The trace tells each that is dropped. Where none is left: the *best* one alone, the earlier of equals, or
    *none*; the trace tells that too. Raises `ScaleError` for scores of another scale than the threshold's.
    """
    kept = tuple(item for item in weighed if item.score > threshold)
    if not kept and weighed and otherwise == "best":
        kept = (max(weighed, key=lambda item: item.score.value),)
        note("nothing passes", kept=kept[0].passage.id, score=kept[0].score.value, threshold=threshold.value)
    elif weighed and not kept:
        note("nothing passes", threshold=threshold.value)
    for item in weighed:
        if item not in kept:
            _note_dropped(item, threshold=threshold.value, reason="not above the threshold")
    return kept


def best(weighed: Sequence[Evidence], k: int) -> tuple[Evidence, ...]:
    """The `k` of `weighed` that score most, best first, equals in their order; the trace tells the others."""
    ranked = sorted(weighed, key=lambda item: -item.score.value)
    for item in ranked[k:]:
        _note_dropped(item, reason=f"not among the best {k}")
    return tuple(ranked[:k])


def _share(completion: Completion) -> float | None:
    """What Yes has of the probability of Yes and No; None where these are not what the model would say."""
    likely = {word: exp(min(logprob, 0.0)) for word, logprob in completion.first_token if logprob < _CERTAIN}
    if not any(likely.values()):
        return None
    yes, no = (
        likely[word] if word in likely else min(likely[other], 1 - likely[other])
        for word, other in ((YES, NO), (NO, YES))
    )
    return round(yes / (yes + no), _DIGITS) if yes + no >= 0.5 else None


async def _weighed(scorer: Scorer, query: str, item: Evidence) -> Evidence | ParseError:
    try:
        return replace(item, score=await scorer.score(query, item.passage))
    except ParseError as error:
        note("passage dropped", passage=item.passage.id, reason=f"its relevance cannot be read: {error}")
        return error


def _note_dropped(item: Evidence, **told: float | str) -> None:
    note("passage dropped", passage=item.passage.id, score=item.score.value, **told)
