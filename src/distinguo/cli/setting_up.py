"""What every command starts from: the configuration at hand, the places of this user, the components."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from distinguo.cli.console import progress
from distinguo.config.build import Components
from distinguo.config.places import Places
from distinguo.config.settings import FILE_NAME, Settings


def places() -> Places:
    """Where this user's files lie."""
    return Places.of(os.environ)


def settings(path: Path | None) -> Settings:
    """The configuration at `path`, else ``./distinguo.toml``, else the starter."""
    if path is None and not Path(FILE_NAME).exists():
        return Settings.parse()
    return Settings.load(path or Path(FILE_NAME))


@contextmanager
def components(
    config: Path | None, *, max_calls: int | None = None, max_tokens: int | None = None
) -> Generator[tuple[Components, asyncio.Runner]]:
    """The components of a configuration, and the event loop that runs and at last closes them.

    Components are made outside the loop: inside, Ctrl-C would wait for a download or a build to end.
    """
    with opened(settings(config), places(), max_calls=max_calls, max_tokens=max_tokens) as both:
        yield both


@contextmanager
def opened(
    settings: Settings, places: Places, *, max_calls: int | None = None, max_tokens: int | None = None
) -> Generator[tuple[Components, asyncio.Runner]]:
    """The components of `settings`, as `components` gives them."""
    with asyncio.Runner() as runner, progress(unit="bytes", is_bytes=True) as fetching:
        made = Components(settings, places, max_calls=max_calls, max_tokens=max_tokens, progress=fetching)
        try:
            yield made, runner
        finally:
            runner.run(made.aclose())
