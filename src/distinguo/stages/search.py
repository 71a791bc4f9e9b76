"""Search, and take what was found as evidence."""

from __future__ import annotations

from collections.abc import Iterable

from distinguo.backends.index.fusion import fuse
from distinguo.concurrently import each
from distinguo.protocols import Retriever
from distinguo.records import Evidence, Passage, Query, ReciprocalRank
from distinguo.text.sameness import essence
from distinguo.text.scripts import scripts
from distinguo.trace import note


def tell_other_script(question: str, written: str) -> None:
    """Note that `written`, which is to be searched with, has letters, but of no script of `question`."""
    asked, sought = scripts(question), scripts(written)
    if asked and sought and not asked & sought:
        note("query in another script", question=question, text=written)


async def search(retriever: Retriever, query: Query, k: int) -> tuple[Evidence, ...]:
    """The `k` best passages for `query`, with the retriever's own scores. Raises `ConfigError` if k < 1."""
    return tuple(Evidence(hit.passage, hit.score) for hit in await retriever.search(query, k))


async def search_each(retriever: Retriever, queries: Iterable[Query], k: int) -> tuple[Evidence, ...]:
    """The `k` best passages of several searches for `k` each, by reciprocal rank fusion; ties by passage id.

    Equal queries are searched once. Passages of the same words count as one, that of the first id.
    """
    rankings = await each(lambda query: retriever.search(query, k), tuple(dict.fromkeys(queries)))
    found = sorted((hit.passage for hits in rankings for hit in hits), key=lambda passage: passage.id)
    passages: dict[bytes, Passage] = {}
    for passage in found:
        passages.setdefault(essence(passage.text), passage)
    scores = fuse([essence(hit.passage.text) for hit in hits] for hits in rankings)
    best = sorted(passages, key=lambda words: (-scores[words], passages[words].id))[:k]
    return tuple(Evidence(passages[words], ReciprocalRank(scores[words], "fused")) for words in best)
