"""A run accounts for every question once, whatever happens in between."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from distinguo.backends.limits import Budget
from distinguo.backends.wrapped import wrap_llm
from distinguo.errors import BackendError, BudgetError, ConfigError, DataError, ParseError
from distinguo.methods.baselines.closed_book import ClosedBook
from distinguo.protocols import Method
from distinguo.records import Abstention, Answer, Completion, Outcome, Prompt, Question, Sampling, Usage
from distinguo.results.file import ResultFile
from distinguo.results.rows import Row
from distinguo.running.run import Habits, Tally, run
from distinguo.running.shards import Shard
from distinguo.testing import ScriptedLLM

HEADER = {"method": "scripted"}
SEGMENT = {"started": "today"}
QUESTIONS = [Question(f"q{number}", f"What is {number}?") for number in range(10)]


class Scripted:
    """Ends each question as its number says, and remembers which it was asked."""

    def __init__(self, ends: dict[str, Outcome | Exception] | None = None) -> None:
        self.ends, self.asked = ends or {}, list[str]()

    async def answer(self, question: Question) -> Outcome:
        self.asked.append(question.id)
        await asyncio.sleep(0)
        match self.ends.get(question.id, Answer(question.text)):
            case Exception() as error:
                raise error
            case outcome:
                return outcome


async def ran(path: Path, method: Method, questions: list[Question] = QUESTIONS, **more: object) -> Tally:
    with ResultFile.open(path, HEADER) as results:
        return await run(method, questions, results, segment=SEGMENT, **more)


def rows(path: Path) -> list[Row]:
    """The rows, sorted, without what differs from run to run."""
    found = ResultFile.read(path).rows
    return sorted((replace(row, seconds=0, trace="") for row in found), key=lambda row: row.id)


async def test_every_question_has_a_row_and_a_state(tmp_path: Path) -> None:
    ends = {
        "q1": Abstention("no passage was found"),
        "q2": ParseError("no JSON", raw="Sure!"),
        "q3": BackendError("429: slow down"),
        "q4": ZeroDivisionError("a bug"),
    }
    tally = await ran(tmp_path / "r.jsonl", Scripted(ends))
    assert tally.states == {"answered": 6, "abstained": 1, "unreadable": 1, "failed": 2}
    assert (tally.total, tally.left, tally.asked) == (10, 0, 10)
    by_id = {row.id: row for row in rows(tmp_path / "r.jsonl")}
    assert by_id["q0"].answer == "What is 0?"
    assert by_id["q1"].reason == "no passage was found"
    assert (by_id["q2"].state, by_id["q2"].raw) == ("unreadable", "Sure!")
    assert by_id["q3"].reason == "BackendError: 429: slow down"
    assert by_id["q4"].state == "failed"


async def test_every_third_call_fails_and_nothing_is_dropped(tmp_path: Path) -> None:
    calls = 0

    def reply(prompt: Prompt, sampling: Sampling) -> str | Exception:
        nonlocal calls
        calls += 1
        return BackendError("429: too many requests") if calls % 3 == 0 else '{"answer": "yes"}'

    method = ClosedBook(wrap_llm(ScriptedLLM(reply), model="scripted", budget=Budget()))
    tally = await ran(tmp_path / "r.jsonl", method, habits=Habits(at_once=1))
    assert tally.states == {"answered": 7, "failed": 3}
    assert len(rows(tmp_path / "r.jsonl")) == 10
    assert tally.calls == 10


async def test_what_is_done_is_not_asked_again(tmp_path: Path) -> None:
    first, second = Scripted(), Scripted()
    await ran(tmp_path / "r.jsonl", first, QUESTIONS[:4])
    tally = await ran(tmp_path / "r.jsonl", second)
    assert second.asked == [f"q{number}" for number in range(4, 10)]
    assert (tally.states, tally.asked, tally.left) == ({"answered": 10}, 6, 0)


async def test_a_finished_run_calls_nothing_and_writes_nothing(tmp_path: Path) -> None:
    path, method = tmp_path / "r.jsonl", Scripted()
    await ran(path, Scripted())
    before = path.read_bytes()
    await ran(path, method)
    assert (method.asked, path.read_bytes()) == ([], before)


async def test_a_piece_that_came_to_its_end_says_how_long_it_took_for_how_many(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    await ran(path, Scripted({"q1": BackendError("down")}), QUESTIONS[:3])
    with pytest.raises(ConfigError):
        await ran(path, Scripted({"q3": ConfigError("the probes cancel each other out")}))
    first, second = ResultFile.read(path).segments
    assert (first["asked"], first["timed"]) == (3, 2)
    assert isinstance(first["seconds"], float)
    assert second == SEGMENT


async def test_an_error_of_one_question_stays_with_it(tmp_path: Path) -> None:
    method = Scripted({"q1": BackendError("the server is down")})
    tally = await ran(tmp_path / "r.jsonl", method, QUESTIONS[:3], habits=Habits(at_once=1))
    assert [row.state for row in rows(tmp_path / "r.jsonl")] == ["answered", "failed", "answered"]
    assert tally.states == {"answered": 2, "failed": 1}


async def test_a_retry_asks_what_failed_and_puts_the_unreadable_afresh(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    await ran(path, Scripted({"q1": BackendError("down"), "q2": ParseError("no JSON", raw="?")}))
    usual, afresh = Scripted(), Scripted({"q2": Abstention("not stated")})
    tally = await ran(path, usual, afresh=afresh)
    assert (usual.asked, afresh.asked) == (["q1"], ["q2"])
    assert tally.states == {"answered": 9, "abstained": 1}
    assert [row.state for row in rows(path)][:3] == ["answered", "answered", "abstained"]
    assert tally.left == 0


async def test_without_a_retry_failures_stay(tmp_path: Path) -> None:
    path, again = tmp_path / "r.jsonl", Scripted()
    await ran(path, Scripted({"q1": BackendError("down")}))
    tally = await ran(path, again)
    assert (again.asked, tally.states["failed"]) == ([], 1)


@pytest.mark.parametrize("at_once", [1, 3, 64])
async def test_a_used_up_budget_ends_the_run_and_fails_no_question(tmp_path: Path, at_once: int) -> None:
    path = tmp_path / "r.jsonl"
    script = Completion('{"answer": "yes"}', usage=Usage(40, 10))
    replies = ScriptedLLM(script)

    def method(budget: Budget) -> Method:
        return ClosedBook(wrap_llm(replies, model="scripted", budget=budget))

    tally = await ran(path, method(Budget(max_calls=4)), habits=Habits(at_once=at_once))
    assert tally.is_out_of_budget
    assert (tally.states, tally.left) == ({"answered": 4}, 6)
    assert tally.tokens == 200
    tally = await ran(path, method(Budget(max_tokens=10_000)), habits=Habits(at_once=at_once))
    assert (tally.states, tally.left, tally.is_out_of_budget) == ({"answered": 10}, 0, False)
    assert len(replies.prompts) == 10


async def test_after_the_budget_no_question_is_begun(tmp_path: Path) -> None:
    method = Scripted({"q3": BudgetError("used up")})
    tally = await ran(tmp_path / "r.jsonl", method, habits=Habits(at_once=1))
    assert method.asked == ["q0", "q1", "q2", "q3"]
    assert (tally.left, tally.is_out_of_budget) == (7, True)


async def test_a_mistake_of_the_user_ends_the_run_and_keeps_what_is_done(tmp_path: Path) -> None:
    method = Scripted({"q3": ConfigError("the probes cancel each other out")})
    with pytest.raises(ConfigError):
        await ran(tmp_path / "r.jsonl", method, habits=Habits(at_once=1))
    assert [row.id for row in rows(tmp_path / "r.jsonl")] == ["q0", "q1", "q2"]


async def test_a_cancelled_run_keeps_what_is_done(tmp_path: Path) -> None:
    path, reached = tmp_path / "r.jsonl", asyncio.Event()

    class Hanging:
        async def answer(self, question: Question) -> Outcome:
            if question.id == "q3":
                reached.set()
                await asyncio.Event().wait()
            return Answer("yes")

    task = asyncio.create_task(ran(path, Hanging(), habits=Habits(at_once=1)))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [row.id for row in rows(path)] == ["q0", "q1", "q2"]
    await ran(path, Scripted())
    assert len(rows(path)) == 10


async def test_questions_are_a_stream_and_rows_come_as_they_end(tmp_path: Path) -> None:
    path, seen = tmp_path / "r.jsonl", list[int]()

    class Looking:
        async def answer(self, question: Question) -> Outcome:
            seen.append(len(ResultFile.read(path).rows))
            return Answer("yes")

    await ran(path, Looking(), habits=Habits(at_once=1))
    assert seen == list(range(10))


async def test_shards_are_parts_of_one_run(tmp_path: Path) -> None:
    parts = [[one for one in QUESTIONS if one.id in Shard(number, 2)] for number in (1, 2)]
    await ran(tmp_path / "whole.jsonl", Scripted())
    for part in parts:
        await ran(tmp_path / "parts.jsonl", Scripted(), part)
    assert all(parts)
    assert rows(tmp_path / "parts.jsonl") == rows(tmp_path / "whole.jsonl")
    assert len(ResultFile.read(tmp_path / "parts.jsonl").segments) == 2


async def test_texts_and_traces_can_be_left_out(tmp_path: Path) -> None:
    kept: list[str] = []
    keep = Habits(on_trace=lambda result, trace: kept.append(trace.id))
    await ran(tmp_path / "with.jsonl", Scripted(), habits=keep)
    await ran(tmp_path / "without.jsonl", Scripted(), habits=Habits(with_texts=False))
    with_them, without = (ResultFile.read(tmp_path / f"{name}.jsonl").rows for name in ("with", "without"))
    assert {row.trace for row in with_them} == set(kept)
    assert {row.question for row in with_them} == {one.text for one in QUESTIONS}
    assert {(row.trace, row.question) for row in without} == {("", "")}


async def test_a_row_that_cannot_be_written_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, error = Scripted(), DataError("cannot write the results")

    def full(self: ResultFile, row: Row) -> None:
        raise error

    monkeypatch.setattr(ResultFile, "append", full)
    with pytest.raises(DataError, match="cannot write"):
        await ran(tmp_path / "r.jsonl", method, habits=Habits(at_once=1))
    assert method.asked == ["q0"]


async def test_at_least_one_question_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        await ran(tmp_path / "r.jsonl", Scripted(), habits=Habits(at_once=0))


async def test_progress_is_told_after_every_row(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    habits = Habits(at_once=1, on_row=lambda tally: told.append((tally.asked, tally.left)))
    await ran(tmp_path / "r.jsonl", Scripted(), habits=habits)
    assert told == [(number, 10 - number) for number in range(1, 11)]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level("CRITICAL"):
        yield
