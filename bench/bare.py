"""The parts by themselves: the search engine without our house around it, BM25S, and a flat FAISS index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distinguo.records import Document

if TYPE_CHECKING:
    from distinguo.protocols import Vector

BATCH = 512
DEPTH = 100
"""Hits of each list that a hybrid search fuses, in both houses."""

Search = Callable[[str, "Vector", int], Sequence[object]]
"""The `k` best for a question and its vector, with their texts."""


class BareEngine:
    """Qdrant Edge as its own user would have it: the text lies in the payload, and its own fusion ranks."""

    def __init__(self, shard: Any) -> None:  # noqa: ANN401  the engine ships without some of its types
        self._shard = shard

    @classmethod
    def build(cls, folder: Path, documents: Sequence[Document], vectors: NDArray[np.float32]) -> BareEngine:
        """All documents, indexed and optimised with the settings that we use."""
        import qdrant_edge as engine

        from distinguo.backends.index.edge import settings

        folder.mkdir(parents=True)
        shard = engine.EdgeShard.create(str(folder), settings(vectors.shape[1], len(documents)))
        words = engine.TextIndexParams(
            tokenizer=engine.TokenizerType.Word,
            lowercase=True,
            stemmer=engine.SnowballParams(engine.SnowballLanguage.English),
            enable_hnsw=False,
            scoring=True,
        )
        shard.update(engine.UpdateOperation.create_field_index("text", words))
        for start in range(0, len(documents), BATCH):
            rows = [
                engine.Point(start + place, {"dense": vectors[start + place].tolist()}, {"text": one.text})
                for place, one in enumerate(documents[start : start + BATCH])
            ]
            shard.update(engine.UpdateOperation.upsert_points(rows))
        shard.optimize()
        shard.flush()
        return cls(shard)

    @classmethod
    def load(cls, folder: Path) -> BareEngine:
        """The engine that was built in `folder`."""
        import qdrant_edge as engine

        return cls(engine.EdgeShard.load(str(folder)))

    def lexical(self, question: str, vector: Vector, k: int) -> Sequence[object]:
        """BM25 by the engine's own analysis."""
        return self._query(query=self._words(question), limit=k)

    def dense(self, question: str, vector: Vector, k: int) -> Sequence[object]:
        """Inner product, by the graph as widely as we search it."""
        return self._query(query=self._nearest(vector), params=_width(), limit=k)

    def hybrid(self, question: str, vector: Vector, k: int) -> Sequence[object]:
        """Both, fused by the engine."""
        import qdrant_edge as engine

        parts = [self._words(question), self._nearest(vector)]
        prefetches = [engine.Prefetch(limit=DEPTH, query=part, params=_width()) for part in parts]
        return self._query(query=engine.Fusion.Rrf(k=60), prefetches=prefetches, limit=k)

    def close(self) -> None:
        """Let go of the files."""
        self._shard.close()

    def _query(self, **request: Any) -> Sequence[object]:  # noqa: ANN401
        import qdrant_edge as engine

        return self._shard.query(engine.QueryRequest(with_payload=True, **request))

    def _words(self, question: str) -> Any:  # noqa: ANN401
        import qdrant_edge as engine

        return engine.TextQuery("text", question, engine.Bm25Params(k=1.2, b=0.75))

    def _nearest(self, vector: Vector) -> Any:  # noqa: ANN401
        import qdrant_edge as engine

        return engine.Query.Nearest(vector.tolist(), using="dense")


def _width() -> Any:  # noqa: ANN401
    import qdrant_edge as engine

    from distinguo.backends.index.edge import WIDTH

    return engine.SearchParams(hnsw_ef=WIDTH)


def bm25s_search(texts: Sequence[str]) -> Search:
    """BM25S over `texts`, with its own analysis."""
    import bm25s

    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(list(texts), show_progress=False), show_progress=False)

    def search(question: str, vector: Vector, k: int) -> Sequence[object]:
        tokens = bm25s.tokenize([question], show_progress=False)
        found, _ = retriever.retrieve(tokens, k=k, show_progress=False)
        return [texts[place] for place in found[0]]

    return search


def faiss_search(texts: Sequence[str], vectors: NDArray[np.float32]) -> Search:
    """An exact FAISS index over `vectors`."""
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)

    def search(question: str, vector: Vector, k: int) -> Sequence[object]:
        _, found = index.search(vector[None, :], k)
        return [texts[place] for place in found[0]]

    return search
