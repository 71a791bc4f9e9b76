"""Find evidence, and answer nothing: how good a search is, apart from any reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.protocols import Finder, Retriever
from distinguo.records import Abstention, Answer, Evidence, Outcome, Query, Question
from distinguo.stages.search import search


@final
@dataclass(frozen=True, slots=True)
class Retrieve:
    """What `finder` finds, as evidence of an empty answer; nothing is read."""

    finder: Finder

    async def answer(self, question: Question) -> Outcome:
        """What was found and kept, or an abstention where nothing was."""
        found = await self.finder.find(question)
        return (
            Answer("", evidence=found)
            if found
            else Abstention.because("no passage was found, or none was kept")
        )


@final
@dataclass(frozen=True, slots=True)
class AsAsked:
    """The `k` best passages for the question as it stands; no model is called."""

    retriever: Retriever
    k: int = 10

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"'k' is {self.k!r}; expected 1 or more passages")

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The passages, best first."""
        return await search(self.retriever, Query.of(question.text), self.k)


def retrieve(retriever: Annotated[Retriever, "hybrid"], k: int = 10) -> Retrieve:
    """Search with the question, and answer nothing."""
    return Retrieve(AsAsked(retriever, k))
