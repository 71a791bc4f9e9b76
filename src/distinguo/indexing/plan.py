"""Says what an update would do and need, and does nothing."""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

from distinguo.backends.index.rows import Change, content_of, searchable
from distinguo.documents.found import Skipped
from distinguo.indexing.build import Recipe
from distinguo.indexing.sorting import Folded, Sorter
from distinguo.indexing.sources import Sources
from distinguo.indexing.update import demanded
from distinguo.protocols import Encoder

SAMPLE: Final = 32
"""Texts that are embedded to tell how fast that goes."""

# Measured on indexes of 4,000, 13,500 and 54,000 passages of 384 dimensions, a generation of the engine
# included: within 6 %. What readers copy while they search is not counted.
_VECTORS: Final = 2  # one in the truth, one in the engine
_TEXTS: Final = 3  # as it is, its terms, and the text again in the engine
_ROW: Final = 900  # bytes of a passage beside these
_COMMIT: Final = 0.0015  # seconds to commit a passage, and to bring it into the engine
_CHILD: Final = 125 * 2**20  # bytes of the process that builds a generation, and what it and this one
_HELD: Final = 13_000  # need for every passage of the index
_KEY: Final = 16  # bytes of a hash that tell texts apart
_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024

Unknown = Callable[[Iterable[str]], set[str]]
"""Which texts, by `content_of`, have no vector yet."""


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What an update would do and need.

    Attributes:
        added, changed, unchanged, deleted: numbers of documents.
        skipped, folded, stale, missing: as in a `Report`.
        passages: passages of the added and changed documents.
        embedded: texts that the encoder would be asked for.
        sample: how many of them it was asked for now.
        rate: texts that it embedded a second; 0 if there are none.
        seconds: that the update would take: to read as it took now, to embed at `rate`, and to commit.
        size: bytes that the passages take on the disk.
        memory: bytes that are needed at most: what this process needed so far, with the encoder at work, and
            what its engine and the one that optimises it grow to.
    """

    added: int
    changed: int
    unchanged: int
    deleted: int
    skipped: tuple[Skipped, ...]
    folded: tuple[Folded, ...]
    stale: tuple[str, ...]
    missing: tuple[str, ...]
    passages: int
    embedded: int
    sample: int
    rate: float
    seconds: float
    size: int
    memory: int


def plan(
    sources: Sources, recipe: Recipe, *, unknown: Unknown = set[str], there: int = 0, prune: bool = False
) -> Plan:
    """What `update` would do with `sources`, where the index has `there` passages; it holds only keys.

    Raises `DataError` if there is no document, and `BackendError` when the encoder fails.
    """
    began = time.monotonic()
    gone: set[str] = set()

    def lost(unmet: Mapping[str, str]) -> set[str]:
        gone.update(sources.lost(unmet))
        return gone if prune else set()

    sorter, needs = Sorter(sources.known, recipe.cut), _Needs(unknown)
    for change in sorter.changes(demanded(sources), lost):
        needs.add(change)
    reading = time.monotonic() - began
    rate = _rate(needs.sample, recipe.encoder)
    embedding = needs.embedded / rate if rate else 0.0
    return Plan(
        added=sorter.count("added"),
        changed=sorter.count("changed"),
        unchanged=sorter.count("unchanged"),
        deleted=sorter.deleted,
        skipped=tuple(sorter.skipped),
        folded=sorter.folded,
        stale=sources.stale,
        missing=tuple(sorted(() if prune else gone)),
        passages=needs.passages,
        embedded=needs.embedded,
        sample=len(needs.sample),
        rate=rate,
        seconds=reading + embedding + needs.passages * _COMMIT,
        size=needs.passages * (_ROW + 4 * recipe.encoder.dimension * _VECTORS) + needs.bytes * _TEXTS,
        memory=_peak() + _CHILD + _HELD * (there + needs.passages),
    )


@final
class _Needs:
    """Counts what changes need; of their texts it keeps keys, and a sample of those to embed."""

    def __init__(self, unknown: Unknown) -> None:
        self._unknown, self._random = unknown, random.Random(0)  # noqa: S311  nothing secret
        self._met: set[bytes] = set()
        self.passages = self.bytes = self.embedded = 0
        self.sample: list[str] = []

    def add(self, change: Change) -> None:
        """Count one change more."""
        self.passages += len(change.passages)
        self.bytes += sum(len(passage.text.encode()) for passage in change.passages)
        texts = {content_of(passage): searchable(passage) for passage in change.passages}
        keys = {content: bytes.fromhex(content)[:_KEY] for content in texts}
        fresh = sorted(self._unknown(content for content, key in keys.items() if key not in self._met))
        for content in fresh:
            self._met.add(keys[content])
            self._draw(texts[content])

    def _draw(self, text: str) -> None:
        """Every text comes into the sample with the same probability."""
        self.embedded += 1
        if len(self.sample) < SAMPLE:
            self.sample.append(text)
        elif (place := self._random.randrange(self.embedded)) < SAMPLE:
            self.sample[place] = text


def _peak() -> int:
    """Bytes that this process had in memory at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


def _rate(sample: list[str], encoder: Encoder) -> float:
    """Texts that are embedded a second; 0 for no texts."""
    if not sample:
        return 0.0
    encoder.encode(sample[:1], "passage")  # the first call of all may have to load a model
    began = time.monotonic()
    encoder.encode(sorted(sample, key=len), "passage")
    return len(sample) / max(time.monotonic() - began, 1e-9)
