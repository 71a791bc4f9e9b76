"""What the header of a result file holds: all that makes the results what they are."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from distinguo.errors import DataError
from distinguo.records import GREEDY
from distinguo.trace import Json


def fingerprint(method: Mapping[str, Json], questions: Path) -> dict[str, Json]:
    """The fingerprint of a run of `method` (see `Components.told`) over a questions file.

    Raises `DataError` if the file cannot be read.
    """
    try:
        asked = sha256(questions.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {str(questions)!r}: {error.strerror}") from error
    return {
        "version": version("distinguo"),
        "method": dict(method),
        "prompts": _prompts(),
        "questions": asked,
        "seed": GREEDY.seed,
    }


def segment(questions: Path, **more: Json) -> dict[str, Json]:
    """When, where and on which files a piece of a run begins; never compared."""
    return {
        "started": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "commit": _commit(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "questions": "/".join(questions.absolute().parts[-2:]),  # results are shared: no more of a place
        **more,
    }


def _prompts() -> str:
    """What tells the words put to models from those of every other version."""
    modules = [file for file in files("distinguo.prompts").iterdir() if file.name.endswith(".py")]
    whole = sha256()
    for module in sorted(modules, key=lambda file: file.name):
        whole.update(module.read_bytes())
    return whole.hexdigest()


def _commit() -> str:
    """The last commit of this package's own source; empty where it is no checkout, or Git is not there."""
    try:
        told = subprocess.run(
            ["git", "log", "-1", "--format=%H", "--", "."],
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            encoding="utf-8",
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.strip()
