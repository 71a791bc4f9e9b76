"""Ask a model of each passage whether it is relevant, and read the most relevant (RankRAG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Query, Question
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.stages.weigh import Relevance, best, weigh
from distinguo.trace import span


@final
@dataclass(frozen=True, slots=True)
class Rankrag:
    """RankRAG (Yu et al. 2024, arXiv 2407.02485), prompted; the authors train the model for both parts.

    Attributes:
        llm: weighs and reads.
        retriever: finds what is weighed.
        pool: passages that are weighed; the authors weigh 30 to 100.
        k: passages that are read.
    """

    llm: LLM
    retriever: Annotated[Retriever, "dense"]
    pool: int = 20
    k: int = 5

    def __post_init__(self) -> None:
        for name, value in (("pool", self.pool), ("k", self.k)):
            if value < 1:
                raise ConfigError(f"{name!r} is {value!r}; expected 1 or more")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` most relevant passages of the pool."""
        with span("search"):
            found = await search(self.retriever, Query.of(question.text), self.pool)
        with span("weigh"):
            return best(await weigh(Relevance(self.llm), question.text, found), self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)
