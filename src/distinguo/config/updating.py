"""Brings a configured index up to date, says what that would take, and takes documents out of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from distinguo.backends.index.index import Index, sources_of
from distinguo.backends.index.truth import FILE
from distinguo.backends.web.fetch import Page, fetch
from distinguo.config.build import Components
from distinguo.errors import BackendError, DataError
from distinguo.indexing.build import Progress, Report
from distinguo.indexing.plan import Plan, plan
from distinguo.indexing.removal import Removal, remove
from distinguo.indexing.sorting import Known
from distinguo.indexing.sources import Sources, file_of, there
from distinguo.indexing.update import update

if TYPE_CHECKING:
    from distinguo.indexing.sources import Fetch


def update_index(
    made: Components,
    name: str,
    places: Sequence[Path | str],
    *,
    rebuild: bool = False,
    prune: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> Report:
    """Bring the index `name` up to date with `places`, or, without any, with all that it remembers.

    See `update` for `prune`. With `rebuild` it is made anew, with the settings as they are now; it is
    replaced only when there is a document to put into it, and who searches it meanwhile keeps what was there.
    Raises `DataError` for a place where nothing is, and where there is no document at all.
    """
    folder, recipe = made.places.indexes / name, made.recipe(name)
    roots = _roots(folder, places)

    def make() -> Index:
        if rebuild:
            made.erase_index(name)
        return made.make_index(name)

    return update(
        make,
        lambda known: Sources(roots, known, fetch=_fetching(made)),
        recipe,
        is_new=rebuild or not (folder / FILE).exists(),
        prune=prune,
        progress=progress,
    )


def plan_index(
    made: Components, name: str, places: Sequence[Path | str], *, rebuild: bool = False, prune: bool = False
) -> Plan:
    """What `update_index` would do and need. It waits for no other process, and hinders none."""
    folder, recipe = made.places.indexes / name, made.recipe(name)
    roots = _roots(folder, places)
    if rebuild or not (folder / FILE).exists():
        return plan(Sources(roots, Known(), fetch=_fetching(made)), recipe, prune=prune)
    with made.open_index(name) as index:
        index.fingerprint.check(recipe.fingerprint, index=str(folder))
        sources = Sources(roots, Known.of(index), fetch=_fetching(made))
        return plan(sources, recipe, unknown=index.unknown, there=index.count(), prune=prune)


def remove_from_index(made: Components, name: str, things: Sequence[str]) -> Removal:
    """Take the documents that `things` name out of the index `name`; see `remove`."""
    folder = made.places.indexes / name
    if not (folder / FILE).exists():
        raise DataError(f"there is no index in {str(folder)!r}, and so nothing to remove")
    with made.make_index(name) as index:
        return remove(index, things)


def _roots(folder: Path, places: Sequence[Path | str]) -> list[str]:
    if places:
        return [there(place) for place in places]
    if not (folder / FILE).exists():
        raise DataError(
            f"there is no index in {str(folder)!r} yet; say what to put into it: distinguo index <documents>"
        )
    try:
        remembered = sources_of(folder)
    except DataError as error:
        raise DataError(
            f"the index in {str(folder)!r} cannot say what it was made from ({error.__cause__ or error}); "
            "name it, and build the index anew: distinguo index <documents> --rebuild"
        ) from error
    if not remembered:
        raise DataError(
            f"the index in {str(folder)!r} does not know what it was made from; name it: "
            "distinguo index <documents>"
        )
    return list(dict.fromkeys(map(file_of, remembered)))


def _fetching(made: Components) -> Fetch:
    return _offline if made.places.is_offline else fetch


async def _offline(url: str) -> Page:
    raise BackendError(f"DISTINGUO_OFFLINE is set: {url!r} is not fetched")
