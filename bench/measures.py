"""Timing, memory and disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np

ROUNDS = 3
"""How often each question is searched; its fastest time counts, for the machine is shared."""

Asked = Callable[[int], Awaitable[object]]
"""Searches for the question of a number."""


async def race(runners: dict[str, Asked], count: int) -> dict[str, list[float]]:
    """Seconds per question of each runner, who take turns on every question, in changing order."""
    best = {name: [float("inf")] * count for name in runners}
    order = list(runners.items())
    for _ in range(ROUNDS):
        for number in range(count):
            order.append(order.pop(0))
            for name, run in order:
                began = time.perf_counter()
                await run(number)
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
    """Bytes of memory that this process had at most."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
