"""Ctrl-C, once, ends a command at once, and leaves a whole index."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from distinguo.models.store import Store
from distinguo.testing import HashEncoder
from doubles.command import distinguo
from doubles.house import CONFIG, says
from doubles.openai_server import serving

ENCODER = HashEncoder()


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Take interrupts, here and in child processes, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_build_ends_and_the_next_one_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    is_asked, may_reply = threading.Event(), threading.Event()

    def embed(text: str) -> list[float]:
        if "slow" in text:
            is_asked.set()
            may_reply.wait(60)
        return [float(x) for x in ENCODER.encode([text], "passage")[0]]

    for number in range(200):
        word = "slow gate" if number == 199 else "gate"
        (here / f"{number:03}.txt").write_text(f"The {word} {number} is white.", encoding="utf-8")
    with serving(lambda asked: says(None), embed=embed) as server:
        config = CONFIG.format(url=server.url, dimension=ENCODER.dimension)
        (here / "distinguo.toml").write_text(config, encoding="utf-8")
        indexing = subprocess.Popen(
            [sys.executable, "-m", "distinguo", "index", *map(str, sorted(here.glob("*.txt")))],
            stderr=subprocess.PIPE,
        )
        try:
            assert is_asked.wait(60)
            indexing.send_signal(signal.SIGINT)
            assert indexing.wait(30) == 130
            assert b"Traceback" not in (indexing.stderr.read() if indexing.stderr else b"")
        finally:
            indexing.kill()
            indexing.communicate()
            may_reply.set()
        before = sum(len(asked.fields["input"]) for asked in server.asked)
        assert distinguo("index", *map(str, sorted(here.glob("*.txt")))) == 0
        after = sum(len(asked.fields["input"]) for asked in server.asked)
    assert after - before < 200, "what was committed is not embedded again"
    capsys.readouterr()
    distinguo("doctor")
    assert "✓ index default: 200 passages, sound" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("index", "a.txt"), ("ask", "Which gate?", "-m", "closed_book")])
def test_an_interrupted_download_ends_the_command(
    here: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    def interrupted(*_: object, **__: object) -> NoReturn:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the download went on")

    monkeypatch.setattr(Store, "get", interrupted)
    (here / "a.txt").write_text("The gate is white.", encoding="utf-8")
    assert distinguo(*arguments) == 130
