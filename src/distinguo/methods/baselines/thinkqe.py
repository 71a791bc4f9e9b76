"""Think about what was found, write a passage, search again, and so on (ThinkQE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.prompts.expanding import read_thought, thought
from distinguo.protocols import LLM, Retriever
from distinguo.records import Evidence, Outcome, Passage, Probe, Query, Question
from distinguo.stages.expand import draw
from distinguo.stages.read import read
from distinguo.stages.search import search
from distinguo.text.tokens import terms
from distinguo.trace import span

_SHOWN = 5  # Yibin-Lei/Think_QE: new passages of a round


@final
@dataclass(frozen=True, slots=True)
class Thinkqe:
    """ThinkQE (Lei et al. 2025, arXiv 2506.09260): think about what was found, write, search again.

    Nothing is trained, but the authors take reasoning models. Ours asks any model to think first, in its
    reply; neither that nor a reasoning model's thinking block is searched with. The question is heavier
    where the authors repeat it.

    Attributes:
        llm: reads the passages.
        writer: thinks and writes.
        retriever: searches before the first round and after each.
        rounds: how often passages are written; 0: the question alone is searched with.
        samples: passages that are written in a round: one greedily, several drawn at temperature 0.7.
        tokens: the longest reply, in tokens of the writer; reasoning models, as the authors', need thousands.
        k: passages that are read.
    """

    llm: LLM
    writer: LLM
    retriever: Annotated[Retriever, "lexical"]
    rounds: int = 3
    samples: int = 2
    tokens: int = 512
    k: int = 5

    def __post_init__(self) -> None:
        if self.rounds < 0:
            raise ConfigError(f"'rounds' is {self.rounds!r}; expected 0 or more")
        for name, value in (("samples", self.samples), ("tokens", self.tokens), ("k", self.k)):
            if value < 1:
                raise ConfigError(f"{name!r} is {value!r}; expected 1 or more")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The `k` best passages of the last search."""
        written: list[str] = []
        seen: set[str] = set()
        found = await self._search(question.text, written)
        for number in range(1, self.rounds + 1):
            new = [item.passage for item in found if item.passage.id not in seen][:_SHOWN]
            seen |= {passage.id for passage in new}
            with span(f"round {number}"):
                written += await self._written(question.text, new, number)
            found = await self._search(question.text, written)
        return found[: self.k]

    async def answer(self, question: Question) -> Outcome:
        """Answer from them, or abstain."""
        found = await self.find(question)
        with span("read"):
            return await read(self.llm, question, found)

    async def _written(self, question: str, new: list[Passage], number: int) -> tuple[str, ...]:
        seeds = range((number - 1) * self.samples, number * self.samples)
        prompt = thought(question, new)
        return await draw(self.writer, prompt, read_thought, seeds=seeds, tokens=self.tokens)

    async def _search(self, question: str, written: list[str]) -> tuple[Evidence, ...]:
        """As many passages as are read, and enough for each round to see new ones."""
        with span("search"):
            asked = Probe(question, _weight(question, written))
            added = (Probe(text, 1.0, "expansion") for text in written)
            return await search(self.retriever, Query((asked, *added)), max(self.k, _SHOWN * self.rounds))


def _weight(question: str, written: list[str]) -> float:
    """How often the authors' query has the question: until it is a third as long as all that was written."""
    words = sum(len(terms(text)) for text in written)
    return float(max(1, words // (3 * max(1, len(terms(question))))))
