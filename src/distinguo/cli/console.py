"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.text import Text

from distinguo.text.printable import printable, printable_json

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task


PIPED = 160
"""Columns of a table that is piped."""

Part = str | tuple[str, str]
"""Text, or text and its style."""


class Step(Protocol):
    """Tell how far a piece of work is."""

    def __call__(self, name: str, done: int, total: int) -> None:
        """`done` of `total` units of `name`; a total of 0 is not known yet."""
        ...


def out() -> Console:
    """Standard output."""
    return _console(sys.stdout)


def err() -> Console:
    """Standard error."""
    return _console(sys.stderr)


def _console(file: TextIO) -> Console:
    """A console that folds lines to a terminal's width, and none when it is piped. It reads no markup."""
    is_terminal = file.isatty()
    return Console(
        file=file,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=not is_terminal,
        width=None if is_terminal else PIPED,
    )


def styled(*parts: Part) -> Text:
    """One text of `parts`. All data is shown through this: it stands as it is, and steers no terminal."""
    pairs = (part if isinstance(part, tuple) else (part, "") for part in parts)
    return Text.assemble(*((printable(text), style) for text, style in pairs))


def print_json(value: object) -> None:
    """`value` as JSON on standard output, for programs."""
    text = printable_json(json.dumps(value, ensure_ascii=False, indent=2))
    out().print(JSONHighlighter()(text), soft_wrap=True)


def complain(message: str) -> None:
    """An error, in one line that says what to do."""
    err().print(styled(("error:", "bold red"), " ", message))


@contextmanager
def progress(*, unit: str, is_bytes: bool = False) -> Generator[Step]:
    """Bars with rate and time left on a terminal, while something is under way; nothing when piped."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    amount = (DownloadColumn(), TransferSpeedColumn()) if is_bytes else (MofNCompleteColumn(), _rate(unit))
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *amount, TimeRemainingColumn())
    console = err()
    bars = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    tasks: dict[str, TaskID] = {}

    def step(name: str, done: int, total: int) -> None:
        bars.start()
        if name not in tasks:
            tasks[name] = bars.add_task(name, total=None)
        bars.update(tasks[name], completed=done, total=total or None)
        if bars.finished:
            bars.stop()

    try:
        yield step
    finally:
        bars.stop()


def _rate(unit: str) -> ProgressColumn:
    from rich.progress import ProgressColumn

    class Rate(ProgressColumn):
        """Units a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} {unit}/s" if task.speed else "")

    return Rate()
