"""Search an index by words, by meaning, or by both: hits are of different texts, each in its best place."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from distinguo.backends.index.fusion import fuse, interleave
from distinguo.backends.index.index import Index, Scored
from distinguo.backends.index.probes import settled, without_negative
from distinguo.concurrently import each
from distinguo.errors import ConfigError, DataError
from distinguo.protocols import Embedder
from distinguo.records import Bm25, Hit, Query, ReciprocalRank, Score, Similarity
from distinguo.trace import note

if TYPE_CHECKING:
    from distinguo.protocols import Vector

_NOTHING: Final = 1e-4  # a sum of unit vectors this short has no direction but rounding error

Fusion = Literal["rrf", "merge"]
_COMBINE: Final = {"rrf": fuse, "merge": interleave}


@final
@dataclass(frozen=True, slots=True)
class Lexical:
    """BM25. Probes of positive weight find a pool; all probes, negative ones too, score it by a sum."""

    index: Index

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """At most `k` hits; none when no passage shares a term with a probe of positive weight."""
        query = settled(query, k)
        scored = await asyncio.to_thread(self.index.lexical, _probes(query), k, where=query.where)
        if not scored:
            note("no passage shares a term with the query", retriever="bm25")
        return _hits(scored, Bm25, "bm25")


@final
@dataclass(frozen=True, slots=True)
class Dense:
    """One search with the sum of the probes' unit vectors times their weights: negative probes push away.

    That ranks as the same sum of the probes' own similarities does, which are the `parts` of the hits.
    """

    index: Index
    embedder: Embedder

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """At most `k` hits. Where the probes cancel each other out, those of negative weight are left out."""
        sought = settled(query, k)
        vectors = await _vectors(self.embedder, sought)
        _, vector = _summed(sought, vectors)
        scored = await asyncio.to_thread(self.index.dense, vector, k, where=query.where)
        if sought != query:
            vectors = await _vectors(self.embedder, query)
        parts = await asyncio.to_thread(self._parts, scored, vectors) if len(vectors) > 1 else None
        return _hits(scored, Similarity, "dense", parts)

    def _parts(self, scored: Scored, vectors: Sequence[Vector]) -> Sequence[Sequence[float]] | None:
        """What each probe alone would score; None if a passage has gone since it was found."""
        import numpy as np

        try:
            found = self.index.vectors([passage.id for passage, _ in scored])
        except DataError:
            return None
        return (np.stack(found) @ np.stack(vectors).T).tolist() if found else []


@final
@dataclass(frozen=True, slots=True)
class Hybrid:
    """Both: their `depth` best hits at least, by reciprocal rank, or merged by turns (the lexical first)."""

    index: Index
    embedder: Embedder
    depth: int = 100
    fusion: Fusion = "rrf"

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ConfigError(f"hybrid: 'depth' is {self.depth!r}; expected 1 or more")

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """At most `k` hits; probes that cancel each other out as in `Dense`."""
        query = settled(query, k)
        query, vector = _summed(query, await _vectors(self.embedder, query))
        scored = await asyncio.to_thread(
            self.index.hybrid,
            _probes(query),
            vector,
            k,
            depth=max(k, self.depth),
            combine=_COMBINE[self.fusion],
            where=query.where,
        )
        return _hits(scored, ReciprocalRank, "hybrid")


async def _vectors(embedder: Embedder, query: Query) -> list[Vector]:
    """The probes' vectors, each of length 1: a hypothesis's own length is no part of its weight."""
    import numpy as np

    vectors = await each(lambda probe: embedder.embed(probe.text, "query"), query.probes)
    return [vector / max(float(np.linalg.norm(vector)), _NOTHING) for vector in vectors]


def _summed(query: Query, vectors: Sequence[Vector]) -> tuple[Query, Vector]:
    """`query` and its vectors times their weights, added up: without negative ones if nothing is left."""
    import numpy as np

    weights = np.array([probe.weight for probe in query.probes], dtype=np.float32)
    vector = weights @ np.stack(vectors).astype(np.float32)
    if float(np.linalg.norm(vector)) >= _NOTHING:
        return query, vector
    return without_negative(query), np.maximum(weights, 0) @ np.stack(vectors).astype(np.float32)


def _probes(query: Query) -> list[tuple[str, float]]:
    return [(probe.text, probe.weight) for probe in query.probes]


def _hits(
    scored: Scored, scale: type[Score], name: str, parts: Sequence[Sequence[float]] | None = None
) -> tuple[Hit, ...]:
    return tuple(
        Hit(
            passage,
            scale(score, name),
            rank,
            tuple(scale(part, name) for part in parts[rank - 1]) if parts else (),
        )
        for rank, (passage, score) in enumerate(scored, 1)
    )
