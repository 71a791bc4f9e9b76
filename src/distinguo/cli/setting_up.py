"""What every command starts from: the configuration at hand and the places of this user."""

from __future__ import annotations

import os
from pathlib import Path

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
