"""Say in a question's trace what its encoder cuts off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from distinguo.protocols import Embedder, Tokeniser
from distinguo.records import Role
from distinguo.trace import note

if TYPE_CHECKING:
    from distinguo.protocols import Vector


@final
@dataclass(frozen=True, slots=True)
class NotedCuts:
    """An `Embedder` over one whose encoder, which runs outside the trace, reads `limit` tokens."""

    embedder: Embedder
    tokeniser: Tokeniser
    limit: int

    async def embed(self, text: str, role: Role) -> Vector:
        """The vector of `text`, shape (dimension,); a text of more than `limit` tokens is noted."""
        tokens = len(self.tokeniser.spans(text))
        if tokens > self.limit:
            note("text cut", tokens=tokens, kept=self.limit)
        return await self.embedder.embed(text, role)
