"""Retrieve with the question, read the best passages: vanilla RAG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Query, Question
from distinguo.stages.read import read
from distinguo.stages.search import search


@final
@dataclass(frozen=True, slots=True)
class Vanilla:
    """Vanilla RAG over any retriever."""

    llm: LLM
    retriever: Retriever
    k: int = 3

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"'k' is {self.k!r}; expected 1 or more passages")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The top `k` passages for the question as it stands."""
        return await search(self.retriever, Query.of(question.text), self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        return await read(self.llm, question, await self.find(question))


def bm25(llm: LLM, retriever: Annotated[Retriever, "lexical"], k: int = 3) -> Vanilla:
    """Vanilla RAG on lexical search (Okapi BM25)."""
    return Vanilla(llm, retriever, k)


def dense(llm: LLM, retriever: Annotated[Retriever, "dense"], k: int = 3) -> Vanilla:
    """Vanilla RAG on dense search (inner product of embeddings)."""
    return Vanilla(llm, retriever, k)


def hybrid(llm: LLM, retriever: Annotated[Retriever, "hybrid"], k: int = 3) -> Vanilla:
    """Vanilla RAG on lexical and dense search, fused by reciprocal rank."""
    return Vanilla(llm, retriever, k)
