"""Sorts what is read: new to the index, changed, as it was, or the same words as another document.

Of documents that are the same words an index has one: that whose id comes first. So what it holds depends on
what there is to read, and not on the order in which it came, nor on where an earlier run was broken off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self, final

from distinguo.backends.index.rows import Change, hash_of
from distinguo.documents.found import Read, Skipped, Unchanged, once, usable
from distinguo.indexing.waiting import Waiting
from distinguo.records import Document, Passage
from distinguo.text.sameness import essence

if TYPE_CHECKING:
    from distinguo.backends.index.index import Index

State = Literal["added", "changed", "unchanged", "folded"]

Lost = Callable[[Mapping[str, str]], set[str]]
"""Is told where documents of the index came from, by id, that were not met; says which of them are to go."""


@final
@dataclass(frozen=True, slots=True)
class Folded:
    """A document that is not indexed, because the document `same_as` has the same words."""

    source: str
    id: str
    same_as: str


@final
@dataclass(frozen=True, slots=True)
class Known:
    """What an index holds when reading begins, by the documents' ids; nothing by default.

    Of documents that are the same words, which a kill can leave behind, `essences` has one.
    """

    hashes: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    stamps: Mapping[str, str] = field(default_factory=dict[str, str])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    essences: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    @classmethod
    def of(cls, index: Index) -> Self:
        """What `index` holds now."""
        essences = {id_: mark for mark, id_ in index.essences().items()}
        return cls(index.hashes(), index.stamps(), index.sources(), essences)


@final
class Sorter:
    """Takes what is read, gives what must be written, and counts."""

    def __init__(self, known: Known, cut: Callable[[Document], tuple[Passage, ...]]) -> None:
        self._known, self._cut = known, cut
        self._marks = dict(known.essences)  # essences by id, and ids by essence: as the index will be
        self._holders = {mark: id_ for id_, mark in known.essences.items()}
        self._sources: dict[str, str] = {}  # of what was read
        self._states: dict[str, State] = {}
        self.skipped: list[Skipped] = []
        self.deleted = 0
        self.gone: set[str] = set()
        """Documents that must leave the index. Whoever deletes them empties it."""

    def changes(self, found: Iterable[Read], lost: Lost) -> Iterator[Change]:
        """What must be written, each in place of what the index has under its id.

        A change is folded after all when a document comes later that has the same words and goes before it:
        then its id is in `gone`. `lost` is asked at the end of reading.
        """
        with closing(Waiting()) as waiting:
            for item in once(map(usable, found)):
                match item:
                    case Skipped():
                        self.skipped.append(item)
                    case Unchanged(source, id_):
                        self._sources[id_] = source
                        self._states.setdefault(id_, "unchanged")
                    case Document():
                        yield from self._sort(item, waiting)
            self._lose(lost(self._unmet()))
            for document in waiting.take():
                yield from self._place(document, essence(document.text))

    @property
    def folded(self) -> tuple[Folded, ...]:
        """What was folded, in the order of ids."""
        return tuple(
            Folded(self._source(id_), id_, self._holders[self._marks[id_]]) for id_ in self.in_state("folded")
        )

    def in_state(self, *states: State) -> list[str]:
        """The ids of the documents in `states`, in order."""
        return sorted(id_ for id_, state in self._states.items() if state in states)

    def count(self, state: State) -> int:
        """How many documents are in `state`."""
        return sum(each == state for each in self._states.values())

    def _sort(self, document: Document, waiting: Waiting) -> Iterator[Change]:
        mark = essence(document.text)
        if self._marks.get(document.id) != mark:
            self._release(document.id)
        self._sources[document.id] = document.source
        holder = self._holders.get(mark, document.id)
        if holder < document.id and holder not in self._sources:
            waiting.put(document)  # the holder may yet turn out to have changed, or to be gone
        else:
            yield from self._place(document, mark)

    def _place(self, document: Document, mark: bytes) -> Iterator[Change]:
        """Decide between `document` and the one that holds its words."""
        self._marks[document.id] = mark
        holder = self._holders.get(mark, document.id)
        if holder < document.id:
            self._fold(document.id)
            return
        if holder != document.id:
            self._fold(holder)
        self._holders[mark] = document.id
        self.gone.discard(document.id)
        before = self._known.hashes.get(document.id)
        if before == hash_of(document):
            self._states[document.id] = "unchanged"
        else:
            self._states[document.id] = "added" if before is None else "changed"
            yield Change(document, self._cut(document))

    def _fold(self, id_: str) -> None:
        if id_ in self._known.hashes or id_ in self._states:
            self.gone.add(id_)
        self._states[id_] = "folded"

    def _lose(self, lost: set[str]) -> None:
        self.deleted = len(lost)
        self.gone |= lost
        for id_ in lost:
            self._states.pop(id_, None)
            self._release(id_)

    def _release(self, id_: str) -> None:
        """`id_` no longer has the words that it had."""
        mark = self._marks.pop(id_, b"")
        if self._holders.get(mark) == id_:
            del self._holders[mark]

    def _unmet(self) -> dict[str, str]:
        """Where the documents of the index came from that were not read."""
        there = self._known.sources
        return {id_: there[id_] for id_ in sorted(there.keys() - self._sources.keys())}

    def _source(self, id_: str) -> str:
        return self._sources.get(id_) or self._known.sources[id_]
