"""Retrieve with the question, and answer nothing: how good a search is, apart from any reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from distinguo.errors import ConfigError
from distinguo.protocols import Retriever
from distinguo.records import Abstention, Answer, Evidence, Outcome, Query, Question


@final
@dataclass(frozen=True, slots=True)
class Retrieve:
    """The best `k` passages as evidence of an empty answer; no model is called."""

    retriever: Annotated[Retriever, "hybrid"]
    k: int = 10

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"'k' is {self.k!r}; expected 1 or more passages")

    async def answer(self, question: Question) -> Outcome:
        """What was found, or an abstention where nothing was."""
        hits = await self.retriever.search(Query.of(question.text), self.k)
        if not hits:
            return Abstention.because("no passage was found")
        return Answer("", evidence=tuple(Evidence(hit.passage, hit.score) for hit in hits))
