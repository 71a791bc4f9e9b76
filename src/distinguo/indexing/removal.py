"""Takes documents out of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import final

from distinguo.backends.index.index import Index
from distinguo.errors import DataError
from distinguo.indexing.sources import file_of, is_under, root_of


@final
@dataclass(frozen=True, slots=True)
class Removal:
    """What was removed.

    Attributes:
        documents: the ids of the documents.
        forgotten: places that the index no longer remembers.
        returning: those of `documents` that the next update brings back, if their files are still there: they
            lie in places that the index remembers.
    """

    documents: tuple[str, ...]
    forgotten: tuple[str, ...]
    returning: tuple[str, ...]


def remove(index: Index, things: Sequence[str]) -> Removal:
    """Delete the documents that `things` name: by id, file, folder or address; all of them, or none.

    A place that the index remembers is forgotten when it is named itself. Raises `DataError` for a thing that
    names neither a document nor such a place.
    """
    sources, roots = {id_: file_of(source) for id_, source in index.sources().items()}, index.roots()
    documents: set[str] = set()
    forgotten: set[str] = set()
    for thing in things:
        place = root_of(thing)
        named = {thing} & sources.keys() or {id_ for id_, file in sources.items() if is_under(file, place)}
        if not named and place not in roots:
            near = get_close_matches(thing, sources, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "expected an id, a file, a folder or an address"
            raise DataError(f"the index has no document {thing!r}, and none from there; {hint}")
        documents |= named
        forgotten |= {place} & {*roots}
    remembered = [root for root in roots if root not in forgotten]
    index.keep_roots(remembered)
    index.delete(sorted(documents))
    index.sweep()
    index.settle()
    back = [id_ for id_ in documents if any(is_under(sources[id_], root) for root in remembered)]
    return Removal(tuple(sorted(documents)), tuple(sorted(forgotten)), tuple(sorted(back)))
