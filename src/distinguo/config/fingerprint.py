"""What the header of a result file holds: all that makes the results what they are."""

from __future__ import annotations

import ast
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Final

from distinguo.config.build import find
from distinguo.errors import DataError
from distinguo.records import GREEDY
from distinguo.trace import Json

_PROMPTS: Final = "distinguo.prompts."
_WORDED: Final = ("distinguo.methods.", "distinguo.stages.", _PROMPTS)
"""The floors on which words are put to models."""
_READING: Final = "distinguo.stages.read"


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
        "prompts": _prompts(method),
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


def _prompts(method: Mapping[str, Json]) -> str:
    """What tells the words that `method` puts to models from those of every other version.

    They stand in the modules of `distinguo.prompts` that it imports, itself or through its stages. One that
    does not answer never reads.
    """
    whole, ahead = sha256(), [find("method", str(method["name"]), path="method.name").__module__]
    seen = set[str]() if method.get("answers", True) else {_READING}
    while ahead:
        name = ahead.pop()
        if name in seen or not name.startswith(_WORDED):
            continue
        seen.add(name)
        ahead += _imported(name)
    for name in sorted(seen):
        if name.startswith(_PROMPTS):
            whole.update(_source(name))
    return whole.hexdigest()


def _imported(module: str) -> list[str]:
    """The modules that `module` imports from, wherever in it."""
    nodes = ast.walk(ast.parse(_source(module)))
    return [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


def _source(module: str) -> bytes:
    package, _, name = module.rpartition(".")
    return (files(package) / f"{name}.py").read_bytes()


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
