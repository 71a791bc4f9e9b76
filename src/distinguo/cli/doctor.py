"""``distinguo doctor``: one line per thing that must hold, and what to do where it does not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rich.markup import escape

from distinguo.backends.cache import CallCache
from distinguo.backends.index.index import Index
from distinguo.cli.console import out
from distinguo.cli.housekeeping import STARTER_MODELS
from distinguo.cli.setting_up import places, settings
from distinguo.config.build import Components
from distinguo.config.places import Places
from distinguo.errors import DataError, DistinguoError
from distinguo.models.store import Store

MEMORY: Final = 4_000_000_000
"""Bytes that the embedded language model needs at its peak, with some room."""


def examine(config: Path | None) -> bool:
    """Print every check; whether all of them passed."""
    is_well = True
    for name, check in _checks(config):
        try:
            verdict = check()
        except DistinguoError as error:
            is_well = False
            out().print(f"[bold red]✗[/] {name}: {escape(str(error))}")
        else:
            out().print(f"[green]✓[/] {name}: {escape(verdict)}")
    return is_well


def _checks(config: Path | None) -> Iterator[tuple[str, Callable[[], str]]]:
    here = places()
    yield "memory", _memory
    yield "disk", lambda: _disk(here)
    yield "configuration", lambda: settings(config).source
    for name in STARTER_MODELS:
        yield f"model {name}", lambda name=name: _model(here, name)
    yield "cache", lambda: _cache(here)
    indexes = sorted(here.indexes.iterdir()) if here.indexes.is_dir() else []
    for folder in indexes:
        yield f"index {folder.name}", lambda name=folder.name: _index(config, here, name)
    if not indexes:
        yield "index", lambda: "none yet; make one with `distinguo index <documents>`"


def _memory() -> str:
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if available < MEMORY:
        raise DataError(
            f"{available / 1e9:.1f} GB free; the embedded language model needs about {MEMORY / 1e9:.0f} GB"
        )
    return f"{available / 1e9:.1f} GB free, {os.cpu_count()} processors"


def _disk(here: Places) -> str:
    folder = next(path for path in (here.home, *here.home.parents) if path.exists())
    if not os.access(folder, os.W_OK):
        raise DataError(f"{str(here.home)!r} cannot be written; set DISTINGUO_HOME to a folder that can")
    return f"{here.home}, {shutil.disk_usage(folder).free / 1e9:.1f} GB free"


def _model(here: Places, name: str) -> str:
    folder = Store(here.models, offline=here.is_offline).where(name)
    if folder is None:
        raise DataError(f"not here; fetch it with `distinguo models get {name}`")
    return str(folder)


def _cache(here: Places) -> str:
    cache = CallCache(here.cache)
    try:
        return f"{cache.info().entries:,} replies in {here.cache}"
    finally:
        cache.close()


def _index(config: Path | None, here: Places, name: str) -> str:
    components = Components(settings(config), here)
    index = Index.open(here.indexes / name, encoder=components.recipe(name).encoder.fingerprint)
    with index:
        faults = index.check()
        if faults:
            raise DataError(
                "; ".join(faults) + f"; rebuild it with `distinguo index … --name {name} --rebuild`"
            )
        return f"{index.count():,} passages, sound"
