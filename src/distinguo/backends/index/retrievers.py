"""Search an index by words, by meaning, or by both: hits are of different texts, each in its best place."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from distinguo.backends.index.index import Index, Scored
from distinguo.concurrently import each
from distinguo.errors import ConfigError
from distinguo.protocols import Embedder
from distinguo.records import Bm25, Hit, Query, ReciprocalRank, Score, Similarity
from distinguo.trace import note

if TYPE_CHECKING:
    from distinguo.protocols import Vector

_NOTHING: Final = 1e-6  # a sum of unit vectors this short has no direction but rounding error


@final
@dataclass(frozen=True, slots=True)
class Lexical:
    """BM25. Probes of positive weight find a pool; all probes, negative ones too, score it by a sum."""

    index: Index

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """At most `k` hits; none when no passage shares a term with a probe of positive weight."""
        _check(query, k)
        scored = await asyncio.to_thread(self.index.lexical, _probes(query), k, where=query.where)
        if not scored:
            note("no passage shares a term with the query", retriever="bm25")
        return _hits(scored, Bm25, "bm25")


@final
@dataclass(frozen=True, slots=True)
class Dense:
    """One search with the sum of the probes' unit vectors times their weights: negative probes push away."""

    index: Index
    embedder: Embedder

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """At most `k` hits. Raises `ConfigError` when the probes cancel each other out."""
        _check(query, k)
        vector = await _sum(self.embedder, query)
        scored = await asyncio.to_thread(self.index.dense, vector, k, where=query.where)
        return _hits(scored, Similarity, "dense")


@final
@dataclass(frozen=True, slots=True)
class Hybrid:
    """Both, by reciprocal rank fusion of their lists of at least `depth` hits."""

    index: Index
    embedder: Embedder
    depth: int = 100

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """At most `k` hits. Raises `ConfigError` when the probes cancel each other out."""
        _check(query, k)
        if self.depth < 1:
            raise ConfigError(f"hybrid: 'depth' is {self.depth!r}; expected 1 or more")
        vector = await _sum(self.embedder, query)
        scored = await asyncio.to_thread(
            self.index.hybrid, _probes(query), vector, k, depth=max(k, self.depth), where=query.where
        )
        return _hits(scored, ReciprocalRank, "hybrid")


async def _sum(embedder: Embedder, query: Query) -> Vector:
    """The probes' vectors times their weights, added up."""
    import numpy as np

    vectors = await each(lambda probe: embedder.embed(probe.text, "query"), query.probes)
    weights = np.array([probe.weight for probe in query.probes], dtype=np.float32)
    vector = weights @ np.stack(vectors).astype(np.float32)
    if float(np.linalg.norm(vector)) < _NOTHING:
        raise ConfigError(
            "the probes of the query cancel each other out: their weighted vectors sum to nothing; "
            f"expected texts or weights that differ, got {[(p.text, p.weight) for p in query.probes]!r}"
        )
    return vector


def _probes(query: Query) -> list[tuple[str, float]]:
    return [(probe.text, probe.weight) for probe in query.probes]


def _check(query: Query, k: int) -> None:
    if k < 1:
        raise ConfigError(f"'k' is {k!r}; expected 1 or more passages")
    if not query.probes:
        raise ConfigError("the query has no probes; expected at least one text to search with")
    for probe in query.probes:
        if not probe.text.strip():
            raise ConfigError(f"a probe's text is {probe.text!r}; expected words to search with")


def _hits(scored: Scored, scale: type[Score], name: str) -> tuple[Hit, ...]:
    return tuple(Hit(passage, scale(score, name), rank) for rank, (passage, score) in enumerate(scored, 1))
