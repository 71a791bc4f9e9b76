"""Timing, memory and disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.bare import Search

if TYPE_CHECKING:
    from distinguo.protocols import Vector

ROUNDS = 3
"""How often each question is searched; its fastest time counts, for the machine is shared."""


def race(
    searches: Mapping[str, Search], asked: Sequence[tuple[str, Vector]], k: int
) -> dict[str, list[float]]:
    """Seconds per question of each search; they take turns on every question, in changing order."""
    best = {name: [float("inf")] * len(asked) for name in searches}
    order = list(searches.items())
    for _ in range(ROUNDS):
        for number, (question, vector) in enumerate(asked):
            order.append(order.pop(0))
            for name, search in order:
                began = time.perf_counter()
                search(question, vector, k)
                best[name][number] = min(best[name][number], time.perf_counter() - began)
    return best


def percentile(seconds: Sequence[float], percent: int) -> float:
    """Milliseconds."""
    return float(np.percentile(seconds, percent)) * 1e3


def disk(folder: Path) -> int:
    """Bytes that the files below `folder` have on disk; one with two names counts once."""
    files = {path.stat().st_ino: path.stat() for path in folder.rglob("*") if path.is_file()}
    return sum(512 * file.st_blocks for file in files.values())


def apart(module: str, *arguments: str) -> dict[str, float]:
    """What a process of its own, ``python -m module``, prints as JSON."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return json.loads(done.stdout.splitlines()[-1])


def peak() -> int:
    """Bytes of memory that this process had at most, what it was forked from not counted (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
