"""Search, quote from what was found, and search with the quotations too (CSQE)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.prompts.expanding import QUOTES_SCHEMA, passage, quotes, read_quotes
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Passage, Probe, Query, Question
from distinguo.stages.expand import ask_each, draw
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.trace import note, span

_FOUND, _WORDS = 10, 128  # Yibin-Lei/CSQE: passages of the first search, and how much of each is shown


@final
@dataclass(frozen=True, slots=True)
class Csqe:
    """Corpus-Steered Query Expansion (Lei et al. 2024, arXiv 2402.18031): nothing is trained.

    The authors draw at temperature 1 and repeat the question; ours draws at 0.7 and weighs it. Only sentences
    that stand in a passage count as quotations.

    Attributes:
        llm: reads the passages.
        writer: writes passages and quotes.
        retriever: searches twice.
        samples: passages that are written (KEQE), and times that the writer quotes.
        quotes_corpus: whether it quotes at all; if not, this is KEQE, with which the authors take 5 samples.
        k: passages that are read.
    """

    llm: LLM
    writer: LLM
    retriever: Annotated[Retriever, "lexical"]
    samples: int = 2
    quotes_corpus: bool = True
    k: int = 5

    def __post_init__(self) -> None:
        for name, value in (("samples", self.samples), ("k", self.k)):
            if value < 1:
                raise ConfigError(f"{name!r} is {value!r}; expected 1 or more")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages of the second search."""
        with span("expand"):
            written = await draw(self.writer, passage(question.text), self.samples)
        quoted = await self._quoted(question.text) if self.quotes_corpus else ()
        with span("search"):
            asked = Probe(question.text, float(self.samples))
            added = (Probe(text, 1.0, "expansion") for text in (*written, *quoted))
            return await search(self.retriever, Query((asked, *added)), self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)

    async def _quoted(self, question: str) -> tuple[str, ...]:
        """Key sentences of the first search's passages."""
        with span("first search"):
            found = await search(self.retriever, Query.of(question), _FOUND)
        if not found:
            return ()
        shown = [_cut(item.passage) for item in found]
        with span("quote"):
            prompt, seeds = quotes(question, shown), range(self.samples)
            replies = await ask_each(self.writer, prompt, read_quotes, schema=QUOTES_SCHEMA, seeds=seeds)
        texts = [_plain(item.text) for item in shown]
        said = [quote for reply in replies for quote in reply]
        true = tuple(quote for quote in said if any(_plain(quote) in text for text in texts))
        if len(true) < len(said):
            note("quotations dropped", count=len(said) - len(true), reason="they stand in no passage shown")
        note("quotations", quotes=list(true))
        return true


def _cut(passage: Passage) -> Passage:
    return replace(passage, text=" ".join(passage.text.split()[:_WORDS]))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
