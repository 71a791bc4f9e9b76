"""Search with a question and a passage written after examples (query2doc)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, final

from distinguo.errors import ConfigError
from distinguo.prompts.expanding import passage_like, read_passage
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Probe, Query, Question
from distinguo.stages.expand import draw
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.trace import span

_REPEATED = 5.0  # section 2: the question stands five times in a sparse query; here it is heavier instead


@final
@dataclass(frozen=True, slots=True)
class Query2doc:
    """query2doc (Wang, Yang & Wei 2023, arXiv 2303.07678), prompted only.

    The authors draw at temperature 1, and for dense search train the encoder on such texts; ours is greedy.

    Attributes:
        llm: reads the passages.
        writer: writes the passage, after four examples.
        retriever: lexical search for the sparse form, dense search for the dense one.
        form: *sparse*: the question, five times as heavy, and the passage; *dense*: one text of both.
        tokens: the longest passage, in tokens of the writer, its thinking included.
        k: passages that are read.
    """

    llm: LLM
    writer: LLM
    retriever: Retriever
    form: Literal["sparse", "dense"]
    tokens: int = 128
    k: int = 5

    def __post_init__(self) -> None:
        for name, value in (("tokens", self.tokens), ("k", self.k)):
            if value < 1:
                raise ConfigError(f"{name!r} is {value!r}; expected 1 or more")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages for the question and the passage."""
        with span("expand"):
            prompt = passage_like(question.text)
            (written,) = await draw(self.writer, prompt, read_passage, seeds=range(1), tokens=self.tokens)
        with span("search"):
            return await search(self.retriever, Query(self._probes(question.text, written)), self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)

    def _probes(self, question: str, written: str) -> tuple[Probe, ...]:
        match self.form:
            case "sparse":
                return (Probe(question, _REPEATED), Probe(written, 1.0, "expansion"))
            case "dense":
                return (Probe(f"{question} [SEP] {written}"),)


def query2doc(
    llm: LLM, writer: LLM, retriever: Annotated[Retriever, "lexical"], tokens: int = 128, k: int = 5
) -> Query2doc:
    """query2doc for lexical search: the question, five times as heavy, and a passage written by example."""
    return Query2doc(llm, writer, retriever, "sparse", tokens, k)


def query2doc_dense(
    llm: LLM, writer: LLM, retriever: Annotated[Retriever, "dense"], tokens: int = 128, k: int = 5
) -> Query2doc:
    """query2doc for dense search: question and made-up passage as one text; its authors train an encoder."""
    return Query2doc(llm, writer, retriever, "dense", tokens, k)
