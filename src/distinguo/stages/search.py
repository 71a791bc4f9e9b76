"""Search, and take what was found as evidence."""

from __future__ import annotations

from collections.abc import Iterable

from distinguo.backends.index.fusion import fuse
from distinguo.concurrently import each
from distinguo.protocols import Retriever
from distinguo.records import Evidence, Query, ReciprocalRank


async def search(retriever: Retriever, query: Query, k: int) -> tuple[Evidence, ...]:
    """The `k` best passages for `query`, with the retriever's own scores. Raises `ConfigError` if k < 1."""
    return tuple(Evidence(hit.passage, hit.score) for hit in await retriever.search(query, k))


async def search_each(retriever: Retriever, queries: Iterable[Query], k: int) -> tuple[Evidence, ...]:
    """The `k` best passages of several searches for `k` each, by reciprocal rank fusion; ties by passage id.

    Equal queries are searched once.
    """
    rankings = await each(lambda query: retriever.search(query, k), tuple(dict.fromkeys(queries)))
    passages = {hit.passage.id: hit.passage for hits in rankings for hit in hits}
    scores = fuse([hit.passage.id for hit in hits] for hits in rankings)
    best = sorted(scores, key=lambda id_: (-scores[id_], id_))[:k]
    return tuple(Evidence(passages[id_], ReciprocalRank(scores[id_], "fused")) for id_ in best)
