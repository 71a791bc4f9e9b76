"""Brings an index up to date with the places that it is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import Final

from distinguo.backends.index.index import Index
from distinguo.documents.found import Read, Skipped
from distinguo.errors import DataError
from distinguo.indexing.build import Progress, Recipe, Report, bring, of
from distinguo.indexing.sorting import Known
from distinguo.indexing.sources import Sources

_TOLD: Final = 5  # reasons in a message


def update(
    make: Callable[[], Index],
    reading: Callable[[Known], Sources],
    recipe: Recipe,
    *,
    is_new: bool,
    prune: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> Report:
    """Bring an index up to date with the places of `reading`, and have it remember them; see `build`.

    Files that have not changed are not parsed. With `prune`, documents go whose files are gone; what is there
    and cannot be read keeps its documents, and so does a root that cannot be reached.

    Args:
        make: opens the index to change it; it is closed at the end.
        reading: gives the sources for what is known of the index.
        recipe: how the index is made.
        is_new: the index is not there yet: it is made as soon as there is a document.
        prune: see above.
        progress: is told how far it is; of how many files, where they can be counted beforehand.

    Raises:
        DataError: there is not one document to read. Nothing is changed then.
    """
    missing: set[str] = set()

    def lost(unmet: Mapping[str, str]) -> set[str]:
        gone = sources.lost(unmet)
        missing.update(() if prune else gone)
        return gone if prune else set()

    with ExitStack() as stack:
        index = None if is_new else stack.enter_context(make())
        known = Known.of(index) if index else Known()
        sources = reading(known)
        found, total = demanded(sources), sources.count()
        if index is None:
            index = stack.enter_context(make())
            if index.count():  # another process was first: what it has committed is not to be replaced unseen
                known = Known.of(index)
                sources = reading(known)
                found = demanded(sources)
        index.keep_roots(list(dict.fromkeys((*index.roots(), *sources.roots))))
        report = bring(index, found, recipe, known=known, lost=lost, progress=of(total, progress))
    return replace(report, stale=sources.stale, missing=tuple(sorted(missing)))


def demanded(sources: Sources) -> Iterable[Read]:
    """What is read from `sources`. Raises `DataError` if no document is there."""
    found = sources.read()
    skipped: list[Skipped] = []
    for item in found:
        if not isinstance(item, Skipped):
            return chain(skipped, [item], found)
        skipped.append(item)
    raise DataError(f"no document in {', '.join(sources.roots)} ({_reasons(skipped)})")


def _reasons(skipped: list[Skipped]) -> str:
    told = [f"{item.source}: {item.reason}" for item in skipped[:_TOLD]]
    more = [f"and {len(skipped) - _TOLD} more"] if len(skipped) > _TOLD else []
    return "; ".join([*told, *more]) or "nothing is there"
