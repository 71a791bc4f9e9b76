"""Brings documents into an index: what is new or changed is cut, embedded and committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, final

from distinguo.backends.index.edge import ANALYSER
from distinguo.backends.index.fingerprint import Fingerprint
from distinguo.backends.index.index import Index
from distinguo.backends.index.rows import Change, content_of, searchable
from distinguo.documents.chunking import Chunking, chunk
from distinguo.documents.found import Read, Skipped
from distinguo.errors import BackendError, ConfigError
from distinguo.indexing.selftest import verify
from distinguo.indexing.sorting import Folded, Known, Lost, Sorter
from distinguo.protocols import Encoder, Tokeniser
from distinguo.records import Document, Passage

Progress = Callable[[str, int, int], None]
"""Is told what is under way ("indexing" documents, "optimising" passages), how much of it is done, and of how
much; 0 while that is not known."""


@final
@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents become passages and vectors.

    Attributes:
        encoder: makes the vectors.
        tokeniser: counts a passage's tokens; the encoder's own, best.
        chunking: how long passages are.
        batch: how many passages are embedded and committed together, and so what a kill can lose.
    """

    encoder: Encoder
    tokeniser: Tokeniser
    chunking: Chunking = field(default_factory=Chunking)
    batch: int = 64

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ConfigError(f"'batch' is {self.batch!r}; expected 1 or more passages")

    @property
    def fingerprint(self) -> Fingerprint:
        """What an index made by this recipe is made with."""
        return Fingerprint(
            encoder=self.encoder.fingerprint,
            dimension=self.encoder.dimension,
            tokeniser=self.tokeniser.fingerprint,
            chunking=f"{self.chunking.tokens} tokens, overlap {self.chunking.overlap}",
            analyser=ANALYSER,
        )

    def cut(self, document: Document) -> tuple[Passage, ...]:
        """The passages of `document`."""
        return chunk(document, self.chunking, self.tokeniser)


@final
@dataclass(frozen=True, slots=True)
class Report:
    """What a build did.

    Attributes:
        added, changed, unchanged, deleted: numbers of documents.
        passages: passages of the added and changed documents.
        embedded: texts that the encoder was asked for; the others' vectors were known.
        skipped: what did not become a document, and why.
        folded: documents that are the same words as another one, which stands for them.
        stale: ids of documents that stay as they were, because their files could not be read again.
        missing: ids of documents that stay although their files are gone.
        seconds: how long it took.
    """

    added: int
    changed: int
    unchanged: int
    deleted: int
    passages: int
    embedded: int
    skipped: tuple[Skipped, ...]
    folded: tuple[Folded, ...]
    seconds: float
    stale: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def documents(self) -> int:
        """The documents that were read and are in the index."""
        return self.added + self.changed + self.unchanged


def build(
    index: Index,
    documents: Iterable[Read],
    recipe: Recipe,
    *,
    missing: Literal["keep", "delete"] = "keep",
    progress: Progress = lambda what, done, total: None,
) -> Report:
    """Add `documents` to `index`, each in place of that of its id; those that are unchanged cost nothing.

    Of documents that are the same words, those of the index included, one is kept: the first by id. With
    `missing` "delete", documents of the index that are not among `documents` are removed at the end.
    Every batch is committed as it is done: after a kill, the same call goes on where it was and embeds
    nothing twice. At the end, some of what was written is searched for.
    Raises `BackendError` when the encoder fails, and `DataError` when the disk does or that is not found.
    """
    lost: Lost = set if missing == "delete" else lambda unmet: set()
    total = len(documents) if isinstance(documents, Sized) else 0
    known = Known.of(index)
    return bring(index, documents, recipe, known=known, lost=lost, progress=of(total, progress))


def bring(
    index: Index,
    documents: Iterable[Read],
    recipe: Recipe,
    *,
    known: Known,
    lost: Lost,
    progress: Progress,
) -> Report:
    """`build`, where `known` is what `index` has, and `lost` says what is to go of that which was not met."""
    began = time.monotonic()
    sorter = Sorter(known, recipe.cut)
    embedded = passages = 0
    for group in chain(_groups(sorter.changes(_told(documents, progress), lost), recipe.batch), ([],)):
        changes = [change for change in group if change.document.id not in sorter.gone]
        embedded += _embed(index, changes, recipe)
        if changes:
            index.replace(changes)
        if sorter.gone:
            index.delete(sorter.gone)
            sorter.gone.clear()
        passages += sum(len(change.passages) for change in changes)
    index.sweep()
    index.settle(lambda done, total: progress("optimising", done, total))
    verify(index, sorter.in_state("added", "changed"))
    return Report(
        added=sorter.count("added"),
        changed=sorter.count("changed"),
        unchanged=sorter.count("unchanged"),
        deleted=sorter.deleted,
        passages=passages,
        embedded=embedded,
        skipped=tuple(sorter.skipped),
        folded=sorter.folded,
        seconds=time.monotonic() - began,
    )


def of(count: int, progress: Progress) -> Progress:
    """`progress`, told that there are `count` documents."""
    return lambda what, done, total: progress(what, done, count if what == "indexing" else total)


def _told(documents: Iterable[Read], progress: Progress) -> Iterator[Read]:
    for done, item in enumerate(documents, 1):
        yield item
        progress("indexing", done, 0)


def _groups(changes: Iterable[Change], size: int) -> Iterator[list[Change]]:
    """Whole documents, together until they have `size` passages."""
    group: list[Change] = []
    for change in changes:
        group.append(change)
        if sum(len(each.passages) for each in group) >= size:
            yield group
            group = []
    if group:
        yield group


def _embed(index: Index, changes: Sequence[Change], recipe: Recipe) -> int:
    """Commit the vectors that `changes` still need, a batch at a time; how many they were."""
    texts = {content_of(passage): searchable(passage) for change in changes for passage in change.passages}
    wanted = sorted(index.unknown(texts), key=lambda content: (len(texts[content]), content))
    for start in range(0, len(wanted), recipe.batch):
        batch = wanted[start : start + recipe.batch]
        vectors = recipe.encoder.encode([texts[content] for content in batch], "passage")
        if len(vectors) != len(batch):
            raise BackendError(
                f"the encoder {recipe.encoder.fingerprint!r} gave {len(vectors)} vectors "
                f"for {len(batch)} texts; expected one each"
            )
        index.keep_vectors(list(zip(batch, vectors, strict=True)))
    return len(wanted)
