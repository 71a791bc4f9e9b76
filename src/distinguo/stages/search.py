"""Search, and take what was found as evidence."""

from __future__ import annotations

from distinguo.protocols import Retriever
from distinguo.records import Evidence, Query


async def search(retriever: Retriever, query: Query, k: int) -> tuple[Evidence, ...]:
    """The `k` best passages for `query`, with the retriever's own scores. Raises `ConfigError` if k < 1."""
    return tuple(Evidence(hit.passage, hit.score) for hit in await retriever.search(query, k))
