"""Search with a question and a passage written after examples (query2doc)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.prompts.expanding import passage_like
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Probe, Query, Question
from distinguo.stages.expand import draw
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.trace import span

_REPEATED = 5.0  # Wang et al. 2023, section 2: the question stands five times in a sparse query


@final
@dataclass(frozen=True, slots=True)
class Query2doc:
    """query2doc (Wang, Yang & Wei 2023, arXiv 2303.07678), prompted; the authors also train on it.

    They draw at temperature 1; ours is greedy. The weight of a probe stands for repetition.
    """

    llm: LLM
    writer: LLM
    retriever: Retriever
    is_dense: bool
    k: int = 5

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"'k' is {self.k!r}; expected 1 or more passages")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages for the question and the passage."""
        with span("expand"):
            (written,) = await draw(self.writer, passage_like(question.text), 1)
        with span("search"):
            return await search(self.retriever, Query(self._probes(question.text, written)), self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)

    def _probes(self, question: str, written: str) -> tuple[Probe, ...]:
        if self.is_dense:
            return (Probe(f"{question} [SEP] {written}"),)
        return (Probe(question, _REPEATED), Probe(written, 1.0, "expansion"))


def query2doc(llm: LLM, writer: LLM, retriever: Annotated[Retriever, "lexical"], k: int = 5) -> Query2doc:
    """The sparse form: the question, five times as heavy, and the passage."""
    return Query2doc(llm, writer, retriever, is_dense=False, k=k)


def query2doc_dense(llm: LLM, writer: LLM, retriever: Annotated[Retriever, "dense"], k: int = 5) -> Query2doc:
    """The dense form: one text of both."""
    return Query2doc(llm, writer, retriever, is_dense=True, k=k)
