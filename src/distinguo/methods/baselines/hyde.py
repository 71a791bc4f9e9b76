"""Search with passages that a model made up as answers (HyDE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.prompts.expanding import passage, read_passage
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Probe, Query, Question
from distinguo.stages.expand import draw
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.trace import span


@final
@dataclass(frozen=True, slots=True)
class Hyde:
    """HyDE (Gao et al. 2022, arXiv 2212.10496): the question and passages that a model makes up as answers.

    Nothing is trained. The authors let passages grow to 512 tokens and take unnormalised vectors; ours are of
    unit length.

    Attributes:
        llm: reads the passages.
        writer: writes passages.
        retriever: dense search takes the mean direction of all probes.
        passages: how many are written: one greedily, several drawn at temperature 0.7.
        includes_question: whether the question is one of the probes, as in the paper; libraries often call
            one passage without the question HyDE.
        tokens: the longest passage, in tokens of the writer, its thinking included.
        k: passages that are read.
    """

    llm: LLM
    writer: LLM
    retriever: Annotated[Retriever, "dense"]
    passages: int = 8
    includes_question: bool = True
    tokens: int = 128
    k: int = 5

    def __post_init__(self) -> None:
        for name, value in (("passages", self.passages), ("tokens", self.tokens), ("k", self.k)):
            if value < 1:
                raise ConfigError(f"{name!r} is {value!r}; expected 1 or more")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages for the question and what might answer it."""
        with span("expand"):
            prompt, seeds = passage(question.text), range(self.passages)
            written = await draw(self.writer, prompt, read_passage, seeds=seeds, tokens=self.tokens)
        asked = (Probe(question.text),) if self.includes_question else ()
        with span("search"):
            query = Query((*asked, *(Probe(text, 1.0, "expansion") for text in written)))
            return await search(self.retriever, query, self.k)

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)
