"""Brings documents into an index: what is new or changed is cut, embedded and committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, final

from distinguo.backends.index.edge import ANALYSER
from distinguo.backends.index.fingerprint import Fingerprint
from distinguo.backends.index.index import Index
from distinguo.backends.index.truth import Change, content_of, hash_of, searchable
from distinguo.documents.chunking import Chunking, chunk
from distinguo.documents.readers import Read, Skipped, once, usable
from distinguo.errors import BackendError, ConfigError
from distinguo.protocols import Encoder, Tokeniser
from distinguo.records import Document

Progress = Callable[[int, int], None]
"""Is told how many documents are done, and of how many; 0 while their number is not known."""


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


@final
@dataclass(frozen=True, slots=True)
class Report:
    """What a build did.

    Attributes:
        added, changed, unchanged, deleted: numbers of documents.
        passages: passages of the added and changed documents.
        embedded: texts that the encoder was asked for; the others' vectors were known.
        skipped: what did not become a document, and why.
        seconds: how long it took.
    """

    added: int
    changed: int
    unchanged: int
    deleted: int
    passages: int
    embedded: int
    skipped: tuple[Skipped, ...]
    seconds: float

    @property
    def documents(self) -> int:
        """The documents that were read."""
        return self.added + self.changed + self.unchanged


def build(
    index: Index,
    documents: Iterable[Read],
    recipe: Recipe,
    *,
    missing: Literal["keep", "delete"] = "keep",
    progress: Progress = lambda done, total: None,
) -> Report:
    """Add `documents` to `index`, each in place of that of its id; those that are unchanged cost nothing.

    Every batch is committed as it is done: after a kill, the same call goes on where it was and embeds
    nothing twice. With `missing` "delete", documents of the index that are not among `documents` are removed
    at the end. With "keep", a file whose id is the name of another file that is still there (of one name, in
    another folder) is skipped: neither silently takes the other's place.
    Raises `BackendError` when the encoder fails and `DataError` when the disk does.
    """
    began = time.monotonic()
    total = len(documents) if isinstance(documents, Sized) else 0
    tally = _Tally(index.hashes(), index.sources() if missing == "keep" else {}, total, progress)
    embedded = passages = 0
    for changes in _groups(tally.changed(documents, recipe), recipe.batch):
        embedded += _embed(index, changes, recipe)
        index.replace(changes)
        passages += sum(len(change.passages) for change in changes)
    deleted = index.delete(tally.unseen()) if missing == "delete" else 0
    index.sweep()
    return Report(
        tally.added,
        tally.updated,
        tally.unchanged,
        deleted,
        passages,
        embedded,
        tuple(tally.skipped),
        time.monotonic() - began,
    )


@final
class _Tally:
    """Sorts what is read into changed, unchanged and skipped, and counts."""

    def __init__(
        self, known: Mapping[str, bytes], sources: Mapping[str, str], total: int, progress: Progress
    ) -> None:
        self._known, self._sources, self._total, self._progress = known, sources, total, progress
        self._seen: set[str] = set()
        self.skipped: list[Skipped] = []
        self.added = self.updated = self.unchanged = 0

    def changed(self, documents: Iterable[Read], recipe: Recipe) -> Iterator[Change]:
        """The documents that the index does not hold as they are, cut into passages."""
        for done, item in enumerate(once(map(usable, documents)), 1):
            match item:
                case Skipped():
                    self.skipped.append(item)
                case Document():
                    yield from self._sorted(item, recipe)
            self._progress(done, self._total)

    def unseen(self) -> set[str]:
        """Ids of documents in the index that were not read."""
        return self._known.keys() - self._seen

    def _sorted(self, document: Document, recipe: Recipe) -> Iterator[Change]:
        before, there = self._known.get(document.id), self._sources.get(document.id, "")
        if _are_two_files(document, there):
            self.skipped.append(
                Skipped(
                    document.source,
                    f"the id {document.id!r} belongs to {there}; index a folder above both, "
                    "or keep them in two indexes",
                )
            )
            return
        if before == hash_of(document):
            self.unchanged += 1
        elif passages := chunk(document, recipe.chunking, recipe.tokeniser):
            self.added, self.updated = self.added + (before is None), self.updated + (before is not None)
            yield Change(document, passages)
        else:
            self.skipped.append(Skipped(document.source, "empty"))
            return
        self._seen.add(document.id)


def _are_two_files(document: Document, there: str) -> bool:
    """Whether `document` and what lies at `there` are two files, and its id is the end of both paths.

    A file that was moved is one, and an id that a file gives may come from any.
    """
    ending = f"/{document.id}"
    if there == document.source or not (there.endswith(ending) and document.source.endswith(ending)):
        return False
    try:
        return not Path(there).samefile(document.source)
    except (OSError, ValueError):
        return False


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
