"""What a search engine over the truth must do, embedded or on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

if TYPE_CHECKING:
    from distinguo.protocols import Vector

Scores = dict[int, float]
"""Passage numbers and their scores, best first."""


@final
@dataclass(frozen=True, slots=True)
class Point:
    """What an engine holds of a passage; `vector` is little-endian float32."""

    number: int
    text: str
    vector: bytes


class Engine(Protocol):
    """Ranks passages by words and by vectors.

    Every method raises `DataError` when the engine fails, and `BackendError` when it cannot be reached.

    To apply a change twice does no harm. It knows nothing of metadata: the truth says which passages meet a
    filter, and they are ranked alone.
    """

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points, in place of those with the same numbers."""
        ...

    def delete(self, numbers: Iterable[int]) -> None:
        """Remove points; those that are not there are no error."""
        ...

    def flush(self) -> None:
        """Make all changes durable."""
        ...

    def numbers(self) -> set[int]:
        """The numbers of all points."""
        ...

    def count(self) -> int:
        """How many points there are."""
        ...

    def lexical(self, text: str, k: int, *, among: Iterable[int] | None = None) -> Scores:
        """The `k` best by Okapi BM25 over the terms of `text`, and all that tie with the last; may be empty.

        Passages without a common term have no score. `among` scores these passages alone; how rare a term is
        counts over all passages still, so that scores agree with those of an open search.
        """
        ...

    def dense(self, vector: Vector, k: int, *, among: Iterable[int] | None = None) -> Scores:
        """The `k` best by inner product with `vector`, and all that tie with the last; `among` as above."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


Connect = Callable[[str, int], Engine]
"""Reaches the engine that all processes of an index share: of the truth of an identity, for a dimension."""
