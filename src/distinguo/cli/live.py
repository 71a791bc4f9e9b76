"""Show how far a run is: a live line on a terminal, a plain one now and then where it is piped."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, get_args

from rich.console import Console

from distinguo.cli.console import err, styled
from distinguo.records import State
from distinguo.running.run import Tally

EVERY: Final = 30.0
"""Seconds between two plain lines."""

Show = Callable[[Tally], None]


@contextmanager
def live(name: str) -> Generator[Show]:
    """Tell how far the run `name` is, each time that it is called."""
    console = err()
    with _bar(name, console) if console.is_terminal else _lines(name, console) as show:
        yield show


def counts(tally: Tally) -> str:
    """The four outcomes, all of them, always."""
    return ", ".join(f"{tally.states[state]:,} {state}" for state in get_args(State))


@contextmanager
def _bar(name: str, console: Console) -> Generator[Show]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[counts]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(styled(name).plain, total=None, counts="")

        def show(tally: Tally) -> None:
            done = tally.total - tally.left
            bars.update(task, completed=done, total=tally.total, counts=counts(tally))

        yield show


@contextmanager
def _lines(name: str, console: Console) -> Generator[Show]:
    began = told = time.monotonic()

    def show(tally: Tally) -> None:
        nonlocal told
        if (now := time.monotonic()) - told < EVERY or not tally.left:
            return
        told = now
        left = (now - began) / tally.asked * tally.left
        done = f"{tally.total - tally.left:,} of {tally.total:,}"
        console.print(styled(f"{name}: {done} ({counts(tally)}), about {left:,.0f} s left"))

    yield show
