"""Qdrant Edge, the embedded search engine: the one file that knows it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, cast, final

from distinguo.backends.index.engine import Point, Scores
from distinguo.errors import DataError, DistinguoError
from distinguo.text import tokens

if TYPE_CHECKING:
    import qdrant_edge

    from distinguo.protocols import Vector

K1: Final = 1.2  # Robertson & Zaragoza 2009: 1.2 to 2; Lucene's default
B: Final = 0.75
ANALYSER: Final = f"{tokens.ANALYSER}, English stems"

GRAPH_FROM: Final = 50_000
"""From so many passages on, a graph (HNSW) makes dense search faster; to search 50,000 exactly takes 4 ms."""

EDGES: Final = 16
"""Edges of a passage in the graph."""

BREADTH: Final = 128
"""Candidates that are kept while a passage finds its place in the graph; twice as many double the time."""

WIDTH: Final = 256
"""Candidates that a search of the graph keeps. Of 100,000 passages it finds .999 of the ten best and .97 of
the hundred best, in a fifth of the time of exact search."""

_OFF: Final = 1e-3  # a text's own vector is of length 1, give or take rounding

_DENSE, _TERMS = "dense", "terms"


@final
class Edge:
    """BM25 and inner products over the passages, or over some of them.

    It knows nothing of metadata: SQLite says which passages meet a filter, and they are ranked alone. To name
    20,000 of them costs some 8 ms; the engine's own indexes cost minutes to make for 100 fields.

    Inner products are exact, but for those of a text's own vector with many passages (`GRAPH_FROM`). BM25 is
    exact too, but what is deleted after `optimise` still counts in how rare a term and how long a passage is.

    The engine holds the interpreter lock while it searches: let in one caller at a time, so that the rest of
    the program waits for one search at most. Nothing is durable before `flush`. Raises `DataError` when the
    engine fails.
    """

    def __init__(self, shard: qdrant_edge.EdgeShard) -> None:
        self._shard = shard

    @classmethod
    def create(cls, folder: Path, dimension: int) -> Self:
        """A new, empty engine in `folder`."""
        import qdrant_edge as engine

        with _translated(f"create the search engine in {str(folder)!r}"):
            folder.mkdir(mode=0o700)
            shard = engine.EdgeShard.create(str(folder), settings(dimension))
            shard.update(engine.UpdateOperation.create_field_index(_TERMS, terms_index()))
        return cls(shard)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The engine in `folder`."""
        import qdrant_edge as engine

        with _translated(f"load the search engine in {str(folder)!r}"):
            return cls(engine.EdgeShard.load(str(folder)))

    @staticmethod
    def optimise(folder: Path, dimension: int, count: int) -> None:
        """Make the engine of `count` passages in `folder` small, and quick to load and to search.

        All threads of the process stand still meanwhile, for a minute where there are 100,000 passages.
        """
        import qdrant_edge as engine

        with _translated(f"optimise the search engine in {str(folder)!r}"):
            shard = engine.EdgeShard.load(str(folder), settings(dimension, count))
            shard.optimize()
            shard.flush()
            shard.close()

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points, in place of those with the same numbers."""
        import numpy as np
        import qdrant_edge as engine

        with _translated("add passages to the search engine"):
            rows = [
                engine.Point(
                    point.number,
                    {_DENSE: cast("list[float]", np.frombuffer(point.vector, "<f4").tolist())},
                    {_TERMS: " ".join(tokens.terms(point.text))},
                )
                for point in points
            ]
            self._shard.update(engine.UpdateOperation.upsert_points(rows))

    def delete(self, numbers: Iterable[int]) -> None:
        """Remove points; those that are not there are no error."""
        import qdrant_edge as engine

        with _translated("delete passages from the search engine"):
            self._shard.update(engine.UpdateOperation.delete_points([*numbers]))

    def flush(self) -> None:
        """Make all changes durable."""
        with _translated("flush the search engine"):
            self._shard.flush()

    def numbers(self) -> set[int]:
        """The numbers of all points."""
        import qdrant_edge as engine

        with _translated("list the search engine's passages"):
            request = engine.ScrollRequest(limit=self.count() + 1, with_payload=False, with_vector=False)
            records, _ = self._shard.scroll(request)
            return {cast("int", record.id) for record in records}

    def count(self) -> int:
        """How many points there are."""
        import qdrant_edge as engine

        with _translated("count the search engine's passages"):
            return self._shard.count(engine.CountRequest())

    def lexical(self, text: str, k: int, *, among: Iterable[int] | None = None) -> Scores:
        """The `k` best by Okapi BM25 over the terms of `text`, and all that tie with the last; may be empty.

        Passages without a common term have no score. `among` scores these passages alone; how rare a term is
        counts over all passages still, so that scores agree with those of an open search.
        """
        import qdrant_edge as engine

        terms = " ".join(dict.fromkeys(tokens.terms(text)))
        if not terms:
            return {}
        query = engine.TextQuery(_TERMS, terms, engine.Bm25Params(k=K1, b=B))
        return self._search(query, k, among, exact=True)

    def dense(self, vector: Vector, k: int, *, among: Iterable[int] | None = None) -> Scores:
        """The `k` best by inner product with `vector`, and all that tie with the last; `among` as above."""
        import qdrant_edge as engine

        # The graph is of texts' own vectors; for sums of signed ones it finds only .988 of the ten best.
        is_sum = abs(float(vector @ vector) - 1.0) > _OFF
        query = engine.Query.Nearest(cast("list[float]", vector.tolist()), using=_DENSE)
        return self._search(query, k, among, exact=is_sum or among is not None)

    def close(self) -> None:
        """Let go of the files."""
        with _translated("close the search engine"):
            self._shard.close()

    def _search(
        self,
        query: qdrant_edge.Query | qdrant_edge.TextQuery,
        k: int,
        among: Iterable[int] | None,
        *,
        exact: bool,
    ) -> Scores:
        """The engine cuts ties anyhow, so look deeper until the last one found scores less than the k-th."""
        import qdrant_edge as engine

        chosen = None if among is None else engine.Filter(must=[engine.HasIdCondition({*among})])
        limit = k + 1
        with _translated("search"):
            while True:
                request = engine.QueryRequest(
                    limit=limit,
                    query=query,
                    filter=chosen,
                    params=engine.SearchParams(exact=exact, hnsw_ef=max(WIDTH, limit)),
                )
                found = self._shard.query(request)
                if len(found) < limit or found[-1].score < found[k - 1].score:
                    return {cast("int", point.id): point.score for point in found}
                limit *= 4


def settings(dimension: int, count: int = 0) -> qdrant_edge.EdgeConfig:
    """How an engine is made that is to hold `count` passages once it is optimised."""
    import qdrant_edge as engine

    edges = EDGES if count >= GRAPH_FROM else 0
    return engine.EdgeConfig(
        vectors={_DENSE: engine.EdgeVectorParams(size=dimension, distance=engine.Distance.Dot)},
        hnsw_config=engine.HnswIndexConfig(m=edges, ef_construct=BREADTH, full_scan_threshold=1),
        optimizers=engine.EdgeOptimizersConfig(indexing_threshold=1, default_segment_number=1),
        wal_enabled=False,  # SQLite is the log; the engine's own would double the disk
    )


def terms_index() -> qdrant_edge.TextIndexParams:
    """How the engine indexes terms."""
    import qdrant_edge as engine

    return engine.TextIndexParams(
        tokenizer=engine.TokenizerType.Whitespace,
        lowercase=False,
        stemmer=engine.SnowballParams(engine.SnowballLanguage.English),
        enable_hnsw=False,  # a graph for every frequent term takes three times as long to build
        scoring=True,
    )


@contextmanager
def _translated(doing: str) -> Generator[None]:
    """The engine raises bare `Exception`s, and panics that are none."""
    try:
        yield
    except DistinguoError:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise DataError(f"cannot {doing}: {error}") from error
        raise
