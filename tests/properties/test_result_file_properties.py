"""Wherever a result file is cut off, a run that goes on ends as one that was never broken off."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from distinguo.errors import ParseError
from distinguo.records import Abstention, Answer, Outcome, Question
from distinguo.results.file import ResultFile
from distinguo.results.rows import Row
from distinguo.running.run import Habits, run

QUESTIONS = [Question(f"q{number}", f"Wann öffnet Tor {number}?") for number in range(9)]


class Scripted:
    async def answer(self, question: Question) -> Outcome:
        await asyncio.sleep(0)
        match int(question.id[1:]) % 3:
            case 0:
                return Answer("sieben\n\u2028Uhr")
            case 1:
                return Abstention("kein Beleg")
            case _:
                raise ParseError("kein JSON", raw="\ud83d {")


def ran(path: Path, at_once: int) -> None:
    async def whole() -> None:
        with ResultFile.open(path, {"method": "scripted"}) as results:
            await run(Scripted(), QUESTIONS, results, segment={}, habits=Habits(at_once))

    asyncio.run(whole())


def rows(path: Path) -> list[Row]:
    found = (replace(row, seconds=0) for row in ResultFile.read(path).rows)
    return sorted(found, key=lambda row: row.id)


@given(st.lists(st.floats(0, 1), max_size=4), st.integers(1, 12))
def test_a_run_that_was_cut_off_anywhere_ends_as_an_unbroken_one(cuts: list[float], at_once: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        unbroken, broken = Path(folder, "unbroken.jsonl"), Path(folder, "broken.jsonl")
        ran(unbroken, 1)
        for cut in cuts:
            ran(broken, at_once)
            content = broken.read_bytes()
            broken.write_bytes(content[: round(cut * len(content))])
        ran(broken, at_once)
        assert rows(broken) == rows(unbroken)


texts = st.text(st.characters(exclude_categories=[]), max_size=20)


@given(st.lists(st.tuples(texts, texts), max_size=8))
def test_what_is_appended_is_read(pairs: list[tuple[str, str]]) -> None:
    last = {name: Row(name, "unreadable", raw=raw) for name, raw in pairs}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.jsonl")
        with ResultFile.open(path, {}) as results:
            for name, raw in pairs:
                results.append(Row(name, "unreadable", raw=raw))
        assert ResultFile.read(path).rows == tuple(last.values())
