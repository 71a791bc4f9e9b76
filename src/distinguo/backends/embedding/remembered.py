"""Remember the vectors of texts that are asked for again, as methods that are compared on one set do."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from distinguo.records import Role
from distinguo.trace import call

if TYPE_CHECKING:
    from distinguo.protocols import Embedder, Vector


@final
class Remembered:
    """An `Embedder` that asks `embedder` once for each of the last `size` texts; traces say `is_cached`."""

    def __init__(self, embedder: Embedder, *, size: int = 10_000) -> None:
        self._embedder, self._size = embedder, size
        self._vectors: dict[tuple[str, Role], Vector] = {}

    async def embed(self, text: str, role: Role) -> Vector:
        """The L2-normalised vector of `text`, shape (dimension,). Raises `BackendError`."""
        if (known := self._vectors.get((text, role))) is not None:
            with call("embed", port="embedder", text=text, role=role, is_cached=True):
                return known
        vector = await self._embedder.embed(text, role)
        self._vectors[text, role] = vector
        if len(self._vectors) > self._size:
            del self._vectors[next(iter(self._vectors))]
        return vector
