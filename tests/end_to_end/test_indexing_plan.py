"""What a dry run foretells comes true."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from distinguo.backends.index.index import Index
from distinguo.documents.chunking import Chunking
from distinguo.indexing.build import Recipe
from distinguo.indexing.plan import SAMPLE, plan
from distinguo.indexing.sorting import Known
from distinguo.indexing.sources import Sources
from distinguo.indexing.update import update
from distinguo.records import Role
from distinguo.testing import WordTokeniser

DIMENSION = 384


class Dense:
    """An encoder whose vectors are as dense as those of real ones; it remembers how much it was asked."""

    fingerprint, dimension = "dense", DIMENSION

    def __init__(self) -> None:
        self.asked: list[int] = []

    def encode(self, texts: Sequence[str], role: Role):
        self.asked.append(len(texts))
        rng = np.random.default_rng(len(texts[0]))
        vectors = rng.standard_normal((len(texts), DIMENSION)).astype("f4")
        return list(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """2,400 documents of 30 to 90 words, as frequent as those of a language; every tenth is a twin."""
    folder, rng = tmp_path / "corpus", random.Random(3)
    folder.mkdir()
    text = ""
    for n in range(2400):
        if n % 10 != 9:
            words = [f"word{int(1 / (rng.random() + 0.0002))}" for _ in range(rng.randint(30, 90))]
            text = f"{n} {' '.join(words)}."
        (folder / f"{n:04}.txt").write_text(text, encoding="utf-8")
    return folder


def test_a_plan_foretells_counts_and_the_room_on_the_disk(corpus: Path, tmp_path: Path) -> None:
    recipe = Recipe(Dense(), WordTokeniser(), Chunking(100, 0))
    foretold = plan(Sources([str(corpus)], Known()), recipe)
    assert recipe.encoder.asked == [1, SAMPLE]
    assert foretold.memory > 2**20

    folder = tmp_path / "index"
    report = update(
        lambda: Index.make(folder, recipe.fingerprint),
        lambda known: Sources([str(corpus)], known),
        recipe,
        is_new=True,
    )
    assert sum(recipe.encoder.asked[2:]) == report.embedded == foretold.embedded
    assert (report.added, report.passages) == (foretold.added, foretold.passages) == (2160, 2160)
    assert report.folded == foretold.folded
    taken = sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file())
    assert foretold.size == pytest.approx(taken, rel=0.25)
    with Index.open(folder, encoder="dense") as index:
        again = plan(Sources([str(corpus)], Known.of(index)), recipe, unknown=index.unknown)
    assert (again.unchanged, again.passages, again.embedded, again.size) == (2160, 0, 0, 0)
