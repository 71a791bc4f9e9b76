"""Tell the question from a near one with another answer, before the search and after it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.protocols import LLM, Embedder, Retriever
from distinguo.records import Abstention, Evidence, Outcome, Probability, Probe, Query, Question
from distinguo.stages.contrast import Band, Contrast, Form, contrast, enrich
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.stages.weigh import Otherwise, Relevance, above, best, weigh
from distinguo.trace import span


@final
@dataclass(frozen=True, slots=True)
class Racot:
    """RaCoT (arXiv 2510.22710): search with what sets a question apart from a near one; filter.

    Attributes:
        llm: M_RaCoT and M_gen: writes Q*, weighs passages, answers.
        teacher: writes near questions.
        embedder: tells how like two questions are (Eq. 2).
        retriever: both searches, their first 20 each, fused and cut to `pool` (App. B).
        candidates: near questions that are written; 1: the first, whatever the band says; 0: none, and the
            question itself is searched with.
        low, high: the band, as cosines, both ends in it.
        form: what Q* is; see `distinguo.stages.contrast.enrich`.
        question_weight: the question itself as a second probe beside Q*; the paper has none.
        pool: K, passages that are weighed.
        filters: whether they are weighed at all; if not, the first `k` are read, whatever `pool` is.
        uses_difference: whether Δ stands in what is asked of passages and of the answer.
        threshold: τ; a passage stays whose probability is greater.
        otherwise: what is read if none is: the best one, as the authors' code does, or none, which abstains.
        k: passages that are read at most, the most relevant first; the paper reads all that stay.
    """

    llm: LLM
    teacher: LLM
    embedder: Embedder
    retriever: Annotated[Retriever, {"name": "hybrid", "depth": 20}]
    candidates: int = 3
    low: float = 0.80
    high: float = 0.95
    form: Form = "sketch"
    question_weight: float = 0.0
    pool: int = 20
    filters: bool = True
    uses_difference: bool = True
    threshold: float = 0.7
    otherwise: Otherwise = "best"
    k: int = 20

    def __post_init__(self) -> None:
        for name, value, least in (
            ("candidates", self.candidates, 0),
            ("pool", self.pool, 1),
            ("k", self.k, 1),
        ):
            if value < least:
                raise ConfigError(f"{name!r} is {value!r}; expected {least} or more")
        if not -1 <= self.low <= self.high <= 1:
            raise ConfigError(
                f"the band is from 'low' {self.low!r} to 'high' {self.high!r}; expected cosines, low ≤ high"
            )
        if not 0 <= self.question_weight < inf:
            raise ConfigError(f"'question_weight' is {self.question_weight!r}; expected 0 or more")
        if not 0 <= self.threshold <= 1:
            raise ConfigError(f"'threshold' is {self.threshold!r}; expected a probability, 0 to 1")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The passages that stay, at most `k`, the most relevant first; unweighed, in the search's order."""
        found = await self._contrast(question)
        return await self._kept(question, found, await self._pool(question, found))

    async def answer(self, question: Question) -> Outcome:
        """Answer from them with Δ in mind (Eq. 7), or abstain."""
        found = await self._contrast(question)
        pool = await self._pool(question, found)
        kept = await self._kept(question, found, pool)
        if pool and not kept:
            return Abstention.because("none of the passages found is relevant enough", pool)
        with span("read"):
            return await read(self.llm, question, kept, difference=self._difference(found))

    async def _contrast(self, question: Question) -> Contrast:
        with span("contrast"):
            band = Band(self.low, self.high)
            return await contrast(
                self.teacher, self.embedder, question.text, candidates=self.candidates, band=band
            )

    async def _pool(self, question: Question, found: Contrast) -> tuple[Evidence, ...]:
        with span("sketch"):
            sketch = await enrich(self.llm, question.text, found, form=self.form)
        probes = [Probe(sketch)]
        if self.question_weight and sketch != question.text:
            probes.append(Probe(question.text, self.question_weight))
        with span("search"):
            return await search(self.retriever, Query(tuple(probes)), self.pool if self.filters else self.k)

    async def _kept(
        self, question: Question, found: Contrast, pool: tuple[Evidence, ...]
    ) -> tuple[Evidence, ...]:
        if not self.filters:
            return pool
        with span("weigh"):
            scorer = Relevance(self.llm, self._difference(found))
            weighed = await weigh(scorer, question.text, pool)
            threshold = Probability(self.threshold)
            return best(above(weighed, threshold, otherwise=self.otherwise), self.k)

    def _difference(self, found: Contrast) -> str:
        return found.difference if self.uses_difference else ""
