"""Search for what supports the likely answer, and away from what supports its best mimic."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Probe, Query, Question
from distinguo.stages.hypothesise import hypothesise
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.trace import span


@final
@dataclass(frozen=True, slots=True)
class Chr:
    """Contrastive Hypothesis Retrieval (arXiv 2604.04593): toward the likely answer, away from its mimic.

    S(d) = sim(d, H⁺) − λ·sim(d, H⁻), over the whole index.

    Attributes:
        llm: reads the passages.
        writer: writes the hypotheses.
        retriever: dense search takes the vector e(H⁺) − λ·e(H⁻), which ranks as S does.
        penalty: λ, from 0 (H⁺ alone) on. The default is ours, as is that of `k`.
        question_weight: the question itself as a third probe, which the formula has not. A small
            model's H⁺ is often wrong, and then the question keeps the search where it belongs.
        sees_options: whether the writer sees a question's options; a search has none to go by.
        k: passages that are read.
    """

    llm: LLM
    writer: LLM
    retriever: Annotated[Retriever, "dense"]
    penalty: float = 0.5
    question_weight: float = 0.0
    sees_options: bool = False
    k: int = 5

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"'k' is {self.k!r}; expected 1 or more passages")
        for name, value in (("penalty", self.penalty), ("question_weight", self.question_weight)):
            if not 0 <= value < inf:
                raise ConfigError(f"{name!r} is {value!r}; expected 0 or more")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages by S."""
        with span("hypothesise"):
            pair = await hypothesise(self.writer, question, with_options=self.sees_options)
        probes = (
            Probe(pair.target, 1.0, "positive"),
            Probe(pair.mimic, -self.penalty, "negative"),
            Probe(question.text, self.question_weight),
        )
        with span("search"):
            query = Query(tuple(probe for probe in probes if probe.text and probe.weight))
            return await search(self.retriever, query, self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)
