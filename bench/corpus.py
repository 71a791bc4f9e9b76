"""Many passages made by a seed from real ones, with vectors to match, and real questions to ask of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distinguo.protocols import Encoder
from distinguo.records import Document, Role
from distinguo.text.sentences import sentences

if TYPE_CHECKING:
    from distinguo.protocols import Vector

SETS = ("nq_open", "squad", "popqa", "hotpotqa")
BASE = 3_000
"""Real passages that are cut in halves; any two halves of two of them make a passage."""
NOISE = 0.3
"""Length of the random part of a vector, so that no two of them are the same sum."""


@dataclass(frozen=True, slots=True)
class Halves:
    """Real passages, each cut in two at the sentence nearest its middle, and the vectors of the halves."""

    texts: Sequence[tuple[str, str]]
    vectors: NDArray[np.float32]  # (passages, 2, dimension)


def halves(data: Path, encoder: Encoder, *, seed: int) -> Halves:
    """`BASE` passages of the public sets under `data`, halved and embedded."""
    texts = [row["text"] for name in SETS for row in _rows(data / name / "corpus.jsonl")]
    chosen = [_halved(text) for text in Random(seed).sample(texts, BASE)]
    flat = [half for pair in chosen for half in pair]
    vectors = np.stack(encode(encoder, flat)).reshape(BASE, 2, -1)
    return Halves(chosen, vectors)


def documents(real: Halves, count: int, *, seed: int) -> Iterator[Document]:
    """`count` documents of one passage each, all different."""
    for number, (one, two) in enumerate(_pairs(len(real.texts), count, seed)):
        yield Document(f"p{number:06}", f"{real.texts[one][0]} {real.texts[two][1]}", source=f"p{number:06}")


def vectors(real: Halves, count: int, *, seed: int) -> NDArray[np.float32]:
    """Their vectors, shape (count, dimension): the halves' sum and some noise, of length 1."""
    pairs = np.array(list(_pairs(len(real.texts), count, seed)))
    made = real.vectors[pairs[:, 0], 0] + real.vectors[pairs[:, 1], 1]
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    noise = np.random.default_rng(seed).standard_normal(made.shape, dtype=np.float32)
    made += NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def questions(data: Path, count: int, *, seed: int) -> list[str]:
    """Real questions of the first set."""
    rows = [row["question"] for row in _rows(data / SETS[0] / "questions.jsonl")]
    return Random(seed).sample(rows, count)


def encode(
    encoder: Encoder, texts: Sequence[str], role: Role = "passage", *, batch: int = 64
) -> list[Vector]:
    """`texts` in batches of like length, as indexing does it; in their order."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    found: dict[int, Vector] = {}
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        found |= dict(zip(places, encoder.encode([texts[place] for place in places], role), strict=True))
    return [found[place] for place in range(len(texts))]


@dataclass(slots=True)
class Known:
    """An encoder that has all vectors already: what a build costs beside its embedder."""

    encoder: Encoder
    by_text: dict[str, Vector]

    @property
    def fingerprint(self) -> str:
        """The real encoder's: the vectors are in its space."""
        return self.encoder.fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.encoder.dimension

    def encode(self, texts: Sequence[str], role: Role) -> Sequence[Vector]:
        """The vectors of `texts`."""
        return [self.by_text[text] for text in texts]


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _halved(text: str) -> tuple[str, str]:
    cut = min((start for start, _ in sentences(text)), key=lambda start: abs(start - len(text) // 2))
    cut = cut or text.rfind(" ", 0, len(text) // 2 + 1) + 1
    return text[:cut].strip(), text[cut:].strip()


def _pairs(base: int, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Different pairs of places below `base`."""
    yield from (divmod(pair, base) for pair in Random(seed).sample(range(base * base), count))
