"""Search with the question and other wordings of it, and fuse what is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.prompts.expanding import VARIANTS_SCHEMA, read_variants, variants
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Query, Question
from distinguo.stages.ask import ask
from distinguo.stages.read import read
from distinguo.stages.search import search_each
from distinguo.text.sameness import essence
from distinguo.trace import span


@final
@dataclass(frozen=True, slots=True)
class MultiQuery:
    """Multi-query expansion: the question and three other wordings of it, their rankings fused.

    A module of AutoRAG, which gives each wording an equal part of the places; reciprocal rank fusion is ours.
    Wordings of the same words are searched once.
    """

    llm: LLM
    writer: LLM
    retriever: Annotated[Retriever, "hybrid"]
    k: int = 5

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"'k' is {self.k!r}; expected 1 or more passages")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages over all wordings."""
        with span("expand"):
            others = await ask(self.writer, variants(question.text), read_variants, schema=VARIANTS_SCHEMA)
        with span("search"):
            different = {essence(text): Query.of(text) for text in (*others, question.text)}
            return await search_each(self.retriever, different.values(), self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)
