"""Search with the question as a model rewrites it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.prompts.expanding import REWRITE_SCHEMA, read_rewrite, rewrite
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Query, Question
from distinguo.stages.ask import ask
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.trace import note, span


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """Query rewriting: one call words the question as a search query.

    With `multi_query` among the modules that AutoRAG chooses from on a development set.
    """

    llm: LLM
    writer: LLM
    retriever: Annotated[Retriever, "hybrid"]
    k: int = 5

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"'k' is {self.k!r}; expected 1 or more passages")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages for the rewritten question."""
        with span("expand"):
            query = await ask(self.writer, rewrite(question.text), read_rewrite, schema=REWRITE_SCHEMA)
            note("query", text=query)
        with span("search"):
            return await search(self.retriever, Query.of(query), self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)
