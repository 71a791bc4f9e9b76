"""Answer without looking anything up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from distinguo.protocols import LLM
from distinguo.records import Outcome, Question
from distinguo.stages.read import recall


@final
@dataclass(frozen=True, slots=True)
class ClosedBook:
    """The model's own knowledge, no passages: the row that shows what retrieval adds."""

    llm: LLM

    async def answer(self, question: Question) -> Outcome:
        """Answer from memory, or abstain where the model says that it does not know."""
        return await recall(self.llm, question)
