"""What our house costs beside its parts: ``make bench``. Fails when a ratio is missed.

Passages are made by a seed from real ones (`bench.corpus`). Ratios are taken within one run, and the sides of
a search take turns, since the machine may be shared.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bench import corpus
from bench.bare import DEPTH, BareEngine, Search, bm25s_search, faiss_search
from bench.measures import ROUNDS, apart, disk, percentile, race
from distinguo.backends.embedding.minilm import MiniLM
from distinguo.backends.index.edge import Edge
from distinguo.backends.index.index import Index
from distinguo.backends.index.retrievers import Hybrid
from distinguo.backends.index.rows import searchable
from distinguo.config.places import Places
from distinguo.documents.chunking import Chunking
from distinguo.indexing.build import Recipe, build
from distinguo.methods.baselines.vanilla import Vanilla
from distinguo.models.store import Store
from distinguo.records import Document, Passage, Question, Role
from distinguo.running.attempt import attempt
from distinguo.running.traces import new_trace
from distinguo.testing import ScriptedLLM

if TYPE_CHECKING:
    from distinguo.protocols import Vector

SEED = 11
K = 10
QUESTIONS = 200
SAMPLE = 640
"""Passages that are embedded, to know what the embedder costs."""

BUILD, SEARCH, OWN = 1.10, 1.20, 5.0
"""At most: times the bare engine and embedder; times the bare engine; milliseconds a question."""

HELD = 100_000
"""Passages from which on the limits hold; below, what any search costs outweighs the engine's part."""


_ABOUT = f"""\
# What the house costs beside its parts

Made by `make bench`. The same passages (halves of real ones, joined by a seed), vectors and {QUESTIONS} real
questions go to our index and to the bare engine, with the same settings and its texts in its own payload;
{K} hits each. Of each question the fastest of {ROUNDS} turns counts; percentiles are over questions. A build
is the embedder's time (its rate is measured on {SAMPLE} passages) and the rest. Own time is that of hybrid
RAG without engine and models. Limits hold from {HELD:,} passages on (bold).
"""


@dataclass(slots=True)
class Table:
    """Rows of figures, and the limits that were missed."""

    rows: list[tuple[str, list[str]]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def add(self, name: str, column: int, figure: str) -> None:
        """`figure` in the row `name`."""
        row = next((figures for there, figures in self.rows if there == name), None)
        if row is None:
            row = []
            self.rows.append((name, row))
        row += [""] * (column + 1 - len(row))
        row[column] = figure

    def hold(self, name: str, column: int, value: float, limit: float, *, is_held: bool) -> None:
        """A figure that must not be above `limit`, if it is held to it."""
        if is_held and value > limit:
            self.missed.append(f"{name}: {value:.2f}, at most {limit:g}")
        self.add(f"{name} (≤ {limit:g})", column, f"**{value:.2f}**" if is_held else f"{value:.2f}")


@dataclass(frozen=True, slots=True)
class Asking:
    """An `Embedder` that knows the questions' vectors."""

    vectors: dict[str, Vector]

    async def embed(self, text: str, role: Role) -> Vector:
        """The vector of a question."""
        return self.vectors[text]


def main() -> int:
    """Measure, print the table, and say what was missed."""
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    options.add_argument("--out", type=Path, help="also write the table to this Markdown file")
    chosen = options.parse_args()
    here = Places.of(os.environ)
    if here.data is None:
        raise SystemExit("no data: set DISTINGUO_DATA to the folder of the sets nq_open and others")
    encoder = MiniLM(Store(here.models).get("all-minilm-l6-v2-int8"))
    real = corpus.halves(here.data, encoder, seed=SEED)
    questions = corpus.questions(here.data, QUESTIONS, seed=SEED)
    asking = Asking(dict(zip(questions, corpus.encode(encoder, questions, "query"), strict=True)))
    table = Table()
    for column, size in enumerate(chosen.sizes):
        folder = Path(tempfile.mkdtemp(prefix="distinguo-bench-"))
        try:
            _Size(folder, column, size, encoder, real, asking, table).measure()
        finally:
            shutil.rmtree(folder)
    page = _page(chosen.sizes, table)
    sys.stdout.write(page)
    if chosen.out:
        chosen.out.write_text(page, encoding="utf-8", newline="\n")
    for line in table.missed:
        sys.stderr.write(f"missed: {line}\n")
    return 1 if table.missed else 0


@dataclass(frozen=True, slots=True)
class _Size:
    folder: Path
    column: int
    size: int
    encoder: MiniLM
    real: corpus.Halves
    asking: Asking
    table: Table

    def measure(self) -> None:
        documents = list(corpus.documents(self.real, self.size, seed=SEED))
        vectors = corpus.vectors(self.real, self.size, seed=SEED)
        per_passage = self._embedder(documents)
        self.table.add("embedder, passages/s", self.column, f"{1 / per_passage:,.0f}")
        bare = self._builds(documents, vectors, per_passage)
        with Index.open(self.folder / "ours", encoder=self.encoder.fingerprint) as index:
            searches = self._searches(index, bare, documents, vectors)
            own = asyncio.run(self._own(index))
        bare.close()
        self._tell_searches(searches)
        self._hold("own time per question, ms, p50", percentile(own, 50), OWN)
        self._tell_room(documents)

    def _embedder(self, documents: list[Document]) -> float:
        """Seconds per passage."""
        step = max(1, len(documents) // SAMPLE)
        texts = [document.text for document in documents[::step]]
        began = time.perf_counter()
        corpus.encode(self.encoder, texts)
        return (time.perf_counter() - began) / len(texts)

    def _builds(
        self, documents: list[Document], vectors: NDArray[np.float32], per_passage: float
    ) -> BareEngine:
        by_text = {
            searchable(Passage("", document.text)): vector
            for document, vector in zip(documents, vectors, strict=True)
        }
        known = corpus.Known(self.encoder, by_text)
        recipe = Recipe(known, self.encoder.tokeniser, Chunking(10_000, 0))  # a document, a passage
        began = time.perf_counter()
        with Index.make(self.folder / "ours", recipe.fingerprint) as index:
            build(index, documents, recipe)
            index.settle()
        ours = time.perf_counter() - began
        began = time.perf_counter()
        engine = BareEngine.build(self.folder / "bare", documents, vectors)
        bare = time.perf_counter() - began
        embedding = per_passage * len(documents)
        self.table.add(
            "build beside the embedder, s: ours / bare engine", self.column, f"{ours:.0f} / {bare:.0f}"
        )
        ratio = (ours + embedding) / (bare + embedding)
        self._hold("build with the embedder, ours / bare", ratio, BUILD)
        return engine

    def _searches(
        self, index: Index, bare: BareEngine, documents: list[Document], vectors: NDArray[np.float32]
    ) -> dict[str, list[float]]:
        texts = [document.text for document in documents]

        def lexical(question: str, vector: Vector, k: int) -> Sequence[object]:
            return index.lexical([(question, 1.0)], k)

        def dense(question: str, vector: Vector, k: int) -> Sequence[object]:
            return index.dense(vector, k)

        def hybrid(question: str, vector: Vector, k: int) -> Sequence[object]:
            return index.hybrid([(question, 1.0)], vector, k, depth=DEPTH)

        runs: dict[str, dict[str, Search]] = {
            "lexical": {"ours": lexical, "bare": bare.lexical, "BM25S": bm25s_search(texts)},
            "dense": {"ours": dense, "bare": bare.dense, "FAISS flat": faiss_search(texts, vectors)},
            "hybrid": {"ours": hybrid, "bare": bare.hybrid},
        }
        asked = list(self.asking.vectors.items())
        seconds: dict[str, list[float]] = {}
        for kind, runners in runs.items():
            found = race(runners, asked, K)
            seconds |= {f"{kind}, {name}": times for name, times in found.items()}
        return seconds

    def _tell_searches(self, seconds: dict[str, list[float]]) -> None:
        for name, times in seconds.items():
            figures = f"{percentile(times, 50):.2f} / {percentile(times, 95):.2f}"
            self.table.add(f"{name}, ms: p50 / p95", self.column, figures)
        for kind in ("lexical", "dense", "hybrid"):
            for percent in (50, 95):
                ours, bare = (percentile(seconds[f"{kind}, {side}"], percent) for side in ("ours", "bare"))
                self._hold(f"{kind} search, ours / bare engine, p{percent}", ours / bare, SEARCH)

    async def _own(self, index: Index) -> list[float]:
        """Seconds per question of hybrid RAG that neither engine nor model (both known here) has spent."""
        reply = '{"is_stated": true, "answer": "yes", "citations": [1]}'
        method = Vanilla(ScriptedLLM(reply), Hybrid(index, self.asking, DEPTH), 3)
        own: list[float] = []
        with _Engine() as engine:
            for number, text in enumerate(self.asking.vectors):
                question = Question(str(number), text)
                engine.seconds = 0.0
                began = time.perf_counter()
                result = await attempt(method, question, new_trace(question))
                own.append(time.perf_counter() - began - engine.seconds)
                if result.state != "answered":
                    raise SystemExit(f"the question {text!r} ended {result.state}: {result.outcome}")
        return own

    def _hold(self, name: str, value: float, limit: float) -> None:
        self.table.hold(name, self.column, value, limit, is_held=self.size >= HELD)

    def _tell_room(self, documents: list[Document]) -> None:
        texts = sum(len(document.text.encode()) for document in documents)
        self.table.add("text, MB", self.column, f"{texts / 1e6:.0f}")
        ours, bare = disk(self.folder / "ours"), disk(self.folder / "bare")
        self.table.add("disk, MB: ours / bare engine", self.column, f"{ours / 1e6:.0f} / {bare / 1e6:.0f}")
        dimension = str(self.encoder.dimension)
        peaks = [
            apart("bench.memory", side, str(self.folder / side), self.encoder.fingerprint, dimension)
            for side in ("ours", "bare")
        ]
        grown = " / ".join(f"{(found['peak'] - found['before']) / 1e6:.0f}" for found in peaks)
        self.table.add("memory that searching adds, MB: ours / bare engine", self.column, grown)


class _Engine:
    """Counts the seconds inside the search engine."""

    def __enter__(self) -> _Engine:
        self.seconds = 0.0
        self._kept = {name: getattr(Edge, name) for name in ("lexical", "dense")}
        for name, function in self._kept.items():
            setattr(Edge, name, self._timed(function))
        return self

    def __exit__(self, *_: object) -> None:
        for name, function in self._kept.items():
            setattr(Edge, name, function)

    def _timed(self, function):
        def run(*arguments: object, **named: object) -> object:
            began = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - began

        return run


def _page(sizes: list[int], table: Table) -> str:
    head = ["| passages |" + "".join(f" {size:,} |" for size in sizes), "|---|" + "---:|" * len(sizes)]
    rows = [f"| {name} | " + " | ".join(figures) + " |" for name, figures in table.rows]
    missed = [f"Missed: {line}." for line in table.missed]
    return "\n".join([_ABOUT, *head, *rows, "", *(missed or ["No limit was missed."])]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
