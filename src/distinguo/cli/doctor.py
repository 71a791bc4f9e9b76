"""``distinguo doctor``: one line per thing that must hold, and what to do where it does not."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from distinguo.backends.cache import CallCache
from distinguo.cli.console import out, styled
from distinguo.cli.setting_up import places, settings
from distinguo.config.build import Components
from distinguo.config.places import Places
from distinguo.errors import ConfigError, DataError, DistinguoError

MEMORY: Final = 4_000_000_000
"""Bytes that the embedded language model needs at its peak, with some room."""

MEMINFO: Final = Path("/proc/meminfo")


def examine(config: Path | None) -> bool:
    """Print every check; whether all of them passed."""
    is_well = True
    for name, check in _checks(config):
        try:
            verdict, sign = check(), ("✓", "green")
        except (DistinguoError, OSError) as error:
            verdict, sign, is_well = str(error), ("✗", "bold red"), False
        out().print(styled(sign, f" {name}: {verdict}"))
    return is_well


def _checks(config: Path | None) -> Iterator[tuple[str, Callable[[], str]]]:
    here = replace(places(), is_offline=True)  # a doctor looks, and fetches nothing
    yield "disk", lambda: _disk(here)
    yield "cache", lambda: _cache(here)
    yield "configuration", lambda: _configuration(config, here)
    with suppress(ConfigError):  # which the check above has told
        components = Components(settings(config), here)
        models = components.embedded()
        kinds = {components.shelf.store.model(name).kind for name in models}
        yield "memory", lambda: _memory(MEMORY if "llm" in kinds else 0)
        for name in models:
            yield f"model {name}", lambda name=name: _model(components, name)
        yield "indexes", lambda: _counted(here)
        with suppress(OSError):
            for name in _indexes(here):
                yield f"index {name}", lambda name=name: _index(components, name)


def _disk(here: Places) -> str:
    folder = next(path for path in (here.home, *here.home.parents) if path.exists())
    if not os.access(folder, os.W_OK):
        raise DataError(f"{str(here.home)!r} cannot be written; set DISTINGUO_HOME to a folder that can")
    return f"{here.home}, {shutil.disk_usage(folder).free / 1e9:.1f} GB free"


def _cache(here: Places) -> str:
    with closing(CallCache(here.cache)) as cache:
        return f"{cache.info().entries:,} replies in {here.cache}"


def _configuration(config: Path | None, here: Places) -> str:
    found = settings(config)
    Components(found, here).embedded()
    return found.source


def _memory(needed: int) -> str:
    available = _available()
    if available < needed:
        raise DataError(
            f"{available / 1e9:.1f} GB free; the embedded language model needs about {needed / 1e9:.0f} GB"
        )
    return f"{available / 1e9:.1f} GB free, {os.cpu_count()} processors"


def _available() -> int:
    """Bytes that programs can have: caches, which the system gives back when asked, count as free."""
    if MEMINFO.exists() and (
        found := re.search(r"MemAvailable: +(\d+) kB", MEMINFO.read_text(encoding="ascii"))
    ):
        return int(found[1]) * 1024
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"
    return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")


def _model(components: Components, name: str) -> str:
    folder = components.shelf.store.where(name)
    if folder is None:
        raise DataError(f"not here; fetch it with `distinguo models get {name}`")
    return str(folder)


def _indexes(here: Places) -> list[str]:
    """Folders of indexes, by name; what else lies there (a file of the desktop's) is none of ours."""
    if not here.indexes.exists():
        return []
    return sorted(path.name for path in here.indexes.iterdir() if path.is_dir() and path.name[0] != ".")


def _counted(here: Places) -> str:
    found = len(_indexes(here))
    return f"{found} in {here.indexes}" if found else "none yet; make one with `distinguo index <documents>`"


def _index(components: Components, name: str) -> str:
    if name not in components.settings.indexes:
        return "not in this configuration, and so not looked at"
    with components.open_index(name) as index:
        if faults := index.check():
            raise DataError(
                f"{'; '.join(faults)}; mend it with `distinguo index --name {name}`, "
                "and if that does not help with `--rebuild` besides"
            )
        return f"{index.count():,} passages, sound"
