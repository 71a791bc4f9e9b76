"""How far a run is: a live line on a terminal, plain lines now and then elsewhere."""

import io
from collections import Counter
from types import SimpleNamespace

import pytest
from rich.console import Console

from distinguo.cli import live
from distinguo.running.run import Tally


def tally(asked: int, total: int = 10) -> Tally:
    return Tally(total, Counter({"answered": asked - 1, "failed": 1}), asked)


def shown(monkeypatch: pytest.MonkeyPatch, *tallies: Tally, is_terminal: bool, every: float = 0.0) -> str:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=is_terminal, width=160, color_system=None)
    monkeypatch.setattr(live, "err", lambda: console)
    monkeypatch.setattr(live, "EVERY", every)
    clock = iter(float(second) for second in range(100))
    monkeypatch.setattr(live, "time", SimpleNamespace(monotonic=clock.__next__))
    with live.live("gates [red]") as show:
        for each in tallies:
            show(each)
    return screen.getvalue()


def test_a_terminal_shows_the_four_counts_and_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = shown(monkeypatch, tally(2), tally(4), is_terminal=True)
    assert "gates [red]" in screen
    assert "4/10" in screen
    assert "3 answered, 0 abstained, 0 unreadable, 1 failed" in screen


def test_a_pipe_gets_lines_with_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, tally(2), tally(4), is_terminal=False).splitlines()
    assert lines == [
        "gates [red]: 2 of 10 (1 answered, 0 abstained, 0 unreadable, 1 failed), about 4 s left",
        "gates [red]: 4 of 10 (3 answered, 0 abstained, 0 unreadable, 1 failed), about 3 s left",
    ]


def test_lines_come_now_and_then_and_none_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, *map(tally, range(2, 8)), is_terminal=False, every=3.0).count("\n") == 2
    assert shown(monkeypatch, tally(10), is_terminal=False) == ""
