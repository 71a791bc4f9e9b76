"""What an index tells of itself before it is opened."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import cast

from distinguo.backends.index.sqlite import connect, translated
from distinguo.backends.index.truth import FILE, Truth
from distinguo.errors import DataError


def sources_of(folder: Path) -> tuple[str, ...]:
    """The places that the index in `folder` says it was made from; where it says none, its documents' own.

    Raises `DataError`.
    """
    path = folder / FILE
    with translated(str(path)), closing(connect(path, "read")) as connection:
        kept = connection.execute("SELECT value FROM manifest WHERE name = 'roots'").fetchone()
        if roots := cast("list[str]", json.loads(kept[0]) if kept else []):
            return tuple(roots)
        found = connection.execute("SELECT DISTINCT source FROM documents WHERE source != '' ORDER BY source")
        return tuple(cast("str", source) for (source,) in found.fetchall())


def identity_of(path: Path) -> str:
    """That of the truth at `path`; empty if it is damaged, or of another version of Distinguo."""
    try:
        truth = Truth.open(path)
    except DataError:
        return ""
    try:
        return truth.identity
    finally:
        truth.close()
