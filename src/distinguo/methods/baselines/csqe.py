"""Search, quote from what was found, and search with the quotations too (CSQE)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.prompts.expanding import passage, quotes, read_passage, read_quotes
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Passage, Probe, Query, Question
from distinguo.stages.expand import draw
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.text.pieces import Pieces
from distinguo.trace import note, span

_FOUND, _SHOWN = 10, 128  # Yibin-Lei/CSQE: passages of the first search, and tokens of each that are shown


@final
@dataclass(frozen=True, slots=True)
class Csqe:
    """CSQE (Lei et al. 2024, arXiv 2402.18031): made-up passages, and key sentences of a first search.

    Nothing is trained. The authors draw at temperature 1 up to 1024 tokens, and repeat the question; ours
    draws shorter replies at 0.7, and weighs it. They take what stands in quotation marks; ours must stand
    in a passage shown.

    Attributes:
        llm: reads the passages.
        writer: writes passages and quotes.
        retriever: searches before and after quoting.
        passages: how many are written, and how heavy the question is beside them.
        quotings: how often the first search's passages are quoted from; 0: not at all, which is KEQE.
        tokens: the longest passage, in tokens of the writer, its thinking included.
        quoting_tokens: the same for the quotations of one quoting.
        k: passages that are read.
    """

    llm: LLM
    writer: LLM
    retriever: Annotated[Retriever, "lexical"]
    passages: int = 2
    quotings: int = 2
    tokens: int = 128
    quoting_tokens: int = 512
    k: int = 5

    def __post_init__(self) -> None:
        for name, value, least in (
            ("passages", self.passages, 1),
            ("quotings", self.quotings, 0),
            ("tokens", self.tokens, 1),
            ("quoting_tokens", self.quoting_tokens, 1),
            ("k", self.k, 1),
        ):
            if value < least:
                raise ConfigError(f"{name!r} is {value!r}; expected {least} or more")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages for the question, the passages written and the quotations."""
        with span("expand"):
            prompt, seeds = passage(question.text), range(self.passages)
            written = await draw(self.writer, prompt, read_passage, seeds=seeds, tokens=self.tokens)
        quoted = await self._quoted(question.text) if self.quotings else ()
        with span("search"):
            asked = Probe(question.text, float(self.passages))
            added = (Probe(text, 1.0, "expansion") for text in (*written, *quoted))
            return await search(self.retriever, Query((asked, *added)), self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)

    async def _quoted(self, question: str) -> tuple[str, ...]:
        """Key sentences of the first search's passages, as often as they are quoted."""
        with span("first search"):
            found = await search(self.retriever, Query.of(question), _FOUND)
        if not found:
            return ()
        shown = [_cut(item.passage) for item in found]
        with span("quote"):
            prompt, seeds = quotes(question, shown), range(self.quotings)
            tokens = self.quoting_tokens
            replies = await draw(self.writer, prompt, read_quotes, seeds=seeds, tokens=tokens)
        return _true([quote for reply in replies for quote in reply], shown)


def keqe(
    llm: LLM,
    writer: LLM,
    retriever: Annotated[Retriever, "lexical"],
    passages: int = 5,
    tokens: int = 128,
    k: int = 5,
) -> Csqe:
    """KEQE, which is CSQE without the corpus: the question and five made-up passages."""
    return Csqe(llm, writer, retriever, passages, quotings=0, tokens=tokens, k=k)


def _cut(passage: Passage) -> Passage:
    spans = Pieces().spans(passage.text)
    return replace(passage, text=passage.text[: spans[_SHOWN - 1][1]]) if len(spans) > _SHOWN else passage


def _true(quotations: list[str], shown: list[Passage]) -> tuple[str, ...]:
    """Those that stand in a passage, whatever their case and line breaks; the trace tells the others."""
    texts = [_plain(passage.text) for passage in shown]
    true = tuple(quote for quote in quotations if any(_plain(quote) in text for text in texts))
    for quote in quotations:
        if quote not in true:
            note("quotation dropped", text=quote, reason="it stands in no passage shown")
    return true


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
