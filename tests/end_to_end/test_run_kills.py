"""Runs and grids killed at random: what is done stays, and nothing that was kept is asked again."""

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from distinguo.results.file import ResultFile
from distinguo.results.rows import Row
from doubles.command import distinguo
from doubles.house import CONFIG, CORPUS, ENCODER, house, says
from doubles.openai_server import Asked, Server

NAMES = [f"q{number}" for number in range(48)]
GRID = """
name = "try"
corpus = ["gates"]
[sets.gates]
data = "gates"
[[runs]]
sets = "gates"
method = ["closed_book", "bm25"]
"""


class Watched:
    """Replies, and sets `is_due` when it has been asked `due` times in all."""

    def __init__(self) -> None:
        self.due, self.is_due, self.asked = 0, threading.Event(), Counter[str]()

    def __call__(self, asked: Asked) -> str:
        self.asked[asked.last] += 1
        if self.asked.total() >= self.due:
            self.is_due.set()
        return says("seven", 1) if 'number="1"' in asked.last else json.dumps({"answer": None})


@pytest.fixture
def script() -> Watched:
    return Watched()


@pytest.fixture
def server(here: Path, script: Watched, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    folder = here / "sets" / "gates"
    folder.mkdir(parents=True)
    documents = [{"id": name, "text": text} for name, text in CORPUS.items()]
    questions = [
        {"id": name, "question": f"When does gate {name} open?", "answers": ["seven"]} for name in NAMES
    ]
    for name, lines in (("corpus", documents), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    monkeypatch.setenv("DISTINGUO_DATA", str(here / "sets"))
    with house(here, script) as running:
        usual = CONFIG.format(url=running.url, dimension=ENCODER.dimension)
        (here / "grid.toml").write_text(GRID + usual, encoding="utf-8")
        assert distinguo("index", "corpus") == 0
        yield running


def killed(arguments: tuple[str, ...], script: Watched, calls: int) -> bool:
    """Whether the command was killed after so many more calls; else it came to its end."""
    script.due = script.asked.total() + calls
    script.is_due.clear()
    running = subprocess.Popen(
        [sys.executable, "-m", "distinguo", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    ended = threading.Thread(target=lambda: (running.wait(), script.is_due.set()))
    ended.start()
    assert script.is_due.wait(120)
    running.kill()
    ended.join()
    said = running.communicate()[1]
    assert running.returncode in (0, -9), said.decode()
    return running.returncode == -9


def outcomes(path: Path) -> list[Row]:
    """The rows by id. What was kept from a piece that was killed counts as what it cost there."""
    return sorted(
        (
            replace(
                row,
                calls=row.calls + row.cached_calls,
                cached_calls=0,
                prompt_tokens=row.prompt_tokens + row.completion_tokens + row.cached_tokens,
                completion_tokens=0,
                cached_tokens=0,
                seconds=0,
                trace="",
            )
            for row in ResultFile.read(path).rows
        ),
        key=lambda row: row.id,
    )


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (("run", "gates", "--at-once", "3", "-o"), [""]),
        (("grid", "grid.toml", "--at-once", "3", "-o"), ["gates.closed_book.jsonl", "gates.bm25.jsonl"]),
    ],
)
def test_killed_at_random_a_run_ends_as_an_unbroken_one(
    server: Server, script: Watched, command: tuple[str, ...], files: list[str]
) -> None:
    chance, kills = random.Random(1), 0
    while killed((*command, "broken"), script, chance.randint(1, 14)):
        kills += 1
        for name in files:
            path = Path("broken", name)
            done = {row.question for row in ResultFile.read(path).rows} if path.exists() else set[str]()
            assert all(any(text in prompt for prompt in script.asked) for text in done)
    assert kills >= 3
    assert max(script.asked.values()) <= 1 + kills
    repeated = script.asked.total() - len(script.asked)
    assert repeated <= 3 * kills, "only what was in flight at a kill is asked again"
    before = script.asked.copy()
    assert distinguo("cache", "clear") == 0
    assert distinguo(*command, "whole") == 0
    assert script.asked.total() - before.total() == len(before), "the unbroken run asks all of it, once"
    for name in files:
        assert outcomes(Path("broken", name)) == outcomes(Path("whole", name))
        assert len(outcomes(Path("whole", name))) == len(NAMES)


def test_killed_after_three_of_ten_the_first_three_are_not_asked_again(
    server: Server, script: Watched
) -> None:
    command = ("run", "gates", "--limit", "10", "--at-once", "1", "-o", "r.jsonl", "-m", "closed_book")
    assert killed(command, script, 4)  # the fourth is in flight
    done = [row.id for row in ResultFile.read(Path("r.jsonl")).rows]
    assert done[:3] == NAMES[:3]
    assert distinguo("cache", "clear") == 0, "the file alone knows what is done"
    before = script.asked.total()
    assert not killed(command, script, 100)
    assert script.asked.total() - before == 10 - len(done)
    assert [row.id for row in ResultFile.read(Path("r.jsonl")).rows] == NAMES[:10]
