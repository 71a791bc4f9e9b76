"""``distinguo run`` on a double server: what a user types, sees and finds in the file."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from distinguo.cli import live
from distinguo.results.file import ResultFile
from distinguo.results.rows import Row
from doubles.command import distinguo
from doubles.house import CORPUS, first_passage, house, says
from doubles.openai_server import Asked, Body, Server

NAMES = [f"q{number}" for number in range(10)]


@pytest.fixture
def server(here: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Server]:
    with house(here) as running:
        assert distinguo("index", "corpus") == 0
        capsys.readouterr()
        ask(here / "q.jsonl")
        yield running


def ask(path: Path, names: list[str] = NAMES) -> None:
    lines = (json.dumps({"id": name, "question": f"When does gate {name} open?"}) + "\n" for name in names)
    path.write_text("".join(lines), encoding="utf-8")


def rows(path: str = "results.jsonl") -> list[Row]:
    """The rows by id, without what differs from run to run."""
    found = ResultFile.read(Path(path)).rows
    return sorted((replace(row, seconds=0, trace="") for row in found), key=lambda row: row.id)


def chats(server: Server) -> list[Asked]:
    return [asked for asked in server.asked if asked.path.endswith("/chat/completions")]


def test_every_question_gets_a_row_with_its_cost_and_its_trace(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("run", "q.jsonl") == 0
    printed = capsys.readouterr()
    assert (
        "results.jsonl: 10 questions: 10 answered, 0 abstained, 0 unreadable, 0 failed; 10 calls"
        in printed.out
    )
    assert [row.id for row in rows()] == NAMES
    row = ResultFile.read(Path("results.jsonl")).rows[0]
    assert row.citations == ("gates.md#1",)
    assert {weighed.document for weighed in row.evidence} == set(CORPUS)
    assert (row.calls, row.cached_calls, row.cached_tokens) == (1, 0, 0)
    assert row.prompt_tokens > 100
    assert distinguo("show", row.trace, "--json") == 0
    assert json.loads(capsys.readouterr().out)["result"]["id"] == row.id


def test_the_same_command_again_asks_nothing(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("run", "q.jsonl", "--limit", "4") == 0
    assert [row.id for row in rows()] == NAMES[:4]
    assert distinguo("run", "q.jsonl") == 0
    assert [row.id for row in rows()] == NAMES
    before = Path("results.jsonl").read_bytes()
    capsys.readouterr()
    assert distinguo("run", "q.jsonl", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["answered"], told["left"], told["calls"]) == (10, 0, 0)
    assert len(chats(server)) == 10
    assert Path("results.jsonl").read_bytes() == before


def test_two_shards_are_one_run(server: Server) -> None:
    for shard in ("1/2", "2/2"):
        assert distinguo("run", "q.jsonl", "--shard", shard, "-o", f"{shard[0]}.jsonl") == 0
    assert distinguo("cache", "clear") == 0
    assert distinguo("run", "q.jsonl") == 0
    parts = rows("1.jsonl"), rows("2.jsonl")
    assert all(parts)
    assert sorted([*parts[0], *parts[1]], key=lambda row: row.id) == rows()
    headers = [ResultFile.read(Path(f"{name}.jsonl")).header for name in ("1", "2", "results")]
    assert headers[0] == headers[1] == headers[2]


def test_another_method_in_the_same_file_is_refused(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("run", "q.jsonl", "--limit", "1") == 0
    before = Path("results.jsonl").read_bytes()
    assert distinguo("run", "q.jsonl", "-m", "bm25") == 1
    assert "made with method.name 'hybrid', and now it is 'bm25'" in capsys.readouterr().err
    assert Path("results.jsonl").read_bytes() == before


def test_a_model_that_was_switched_is_neither_mixed_in_nor_served_from_before(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("run", "q.jsonl") == 0
    config = (here / "distinguo.toml").read_text(encoding="utf-8")
    config = config.replace('model = "double" }\n[indexes', 'model = "other" }\n[indexes')
    (here / "distinguo.toml").write_text(config, encoding="utf-8")
    assert distinguo("run", "q.jsonl") == 1
    said = capsys.readouterr().err
    assert "made with method.llm 'openai" in said
    assert "double', and now it is" in said
    assert distinguo("run", "q.jsonl", "-o", "other.jsonl") == 0
    assert len(chats(server)) == 20
    assert {asked.fields["model"] for asked in chats(server)[10:]} == {"other"}


def test_changed_documents_and_changed_questions_are_another_run(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("run", "q.jsonl", "--limit", "1") == 0
    ask(here / "q.jsonl", NAMES[:5])
    assert distinguo("run", "q.jsonl") == 1
    assert "made with questions '" in capsys.readouterr().err
    ask(here / "q.jsonl")
    (here / "corpus" / "gates.md").write_text("The north gate is shut.", encoding="utf-8")
    assert distinguo("index", "corpus") == 0
    assert distinguo("run", "q.jsonl") == 1
    assert "made with method.retriever.index.corpus '" in capsys.readouterr().err


def test_bad_questions_are_refused_at_once_and_all_of_them_named(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        '{"id": "a", "question": "Which?"}',
        '{"id": "a", "question": "Who?"}',
        "{",
        '{"id": "b", "question": " "}',
    ]
    (here / "bad.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert distinguo("run", "bad.jsonl") == 1
    said = capsys.readouterr().err
    assert all(f"line {number}: " in said for number in (2, 3, 4))
    assert "line 1: " not in said
    assert not Path("results.jsonl").exists()
    assert chats(server) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "bm52"), "there is no method 'bm52'; did you mean 'bm25'"),
        (("--shard", "3/2"), "the shard 3/2 does not exist"),
        (("--at-once", "0"), "at-once"),
        (("-c", "none.toml"), "cannot read the configuration 'none.toml'"),
    ],
)
def test_a_mistake_ends_the_run_before_the_file_is_made(
    server: Server, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert distinguo("run", "q.jsonl", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not Path("results.jsonl").exists()


def test_a_limit_of_tokens_ends_the_run_and_fails_nothing(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("run", "q.jsonl", "--max-cost", "500", "--at-once", "1") == 1
    printed = capsys.readouterr()
    done = len(rows())
    assert 0 < done < 10
    assert f"{10 - done} of 10 questions are left: the same command goes on" in printed.err
    assert f"{done} answered, 0 abstained, 0 unreadable, 0 failed" in printed.out
    assert distinguo("run", "q.jsonl", "--max-calls", "1", "--at-once", "1") == 1
    assert len(rows()) == done + 1
    assert distinguo("run", "q.jsonl") == 0
    assert len(rows()) == len(chats(server)) == 10


def test_a_retry_asks_what_failed_and_asks_the_unreadable_anew(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    is_mended = threading.Event()

    def script(asked: Asked) -> str | Body:
        if is_mended.is_set():
            return first_passage(asked)
        if "gate q1 " in asked.last:
            return Body('{"error": {"message": "no such model"}}', 404)
        is_garbled = any("gate q2 " in message["content"] for message in asked.fields["messages"])
        return "Sure!" if is_garbled else first_passage(asked)

    with house(here, script) as server:
        ask(here / "q.jsonl", NAMES[:4])
        assert distinguo("index", "corpus") == 0
        assert distinguo("run", "q.jsonl") == 0
        assert [row.state for row in rows()] == ["answered", "failed", "unreadable", "answered"]
        assert "2 questions failed or could not be read: --retry-failed" in capsys.readouterr().err
        is_mended.set()
        before = len(chats(server))
        assert distinguo("run", "q.jsonl") == 0, "without the option they stay"
        assert len(chats(server)) == before
        assert distinguo("run", "q.jsonl", "--retry-failed") == 0
        assert len(chats(server)) == before + 2
    assert [row.state for row in rows()] == ["answered"] * 4
    printed = capsys.readouterr()
    assert "4 answered, 0 abstained, 0 unreadable, 0 failed; 2 calls" in printed.out
    assert printed.err.count("--retry-failed") == 1, "it is not told where all is well"


def test_texts_and_traces_can_be_left_out(server: Server, here: Path) -> None:
    assert distinguo("run", "q.jsonl", "--omit-texts", "--no-traces") == 0
    assert {row.question for row in rows()} == {""}
    assert {row.trace for row in ResultFile.read(Path("results.jsonl")).rows} == {""}
    assert not (here / "home" / "traces").exists()


def test_traces_that_cannot_be_kept_are_told_once(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "home" / "traces").write_text("in the way", encoding="utf-8")
    assert distinguo("run", "q.jsonl") == 0
    assert capsys.readouterr().err.count("cannot write the trace") == 1
    assert len(rows()) == 10


def test_a_set_is_found_by_its_name(
    server: Server, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DISTINGUO_DATA", raising=False)
    (here / "sets" / "gates").mkdir(parents=True)
    ask(here / "sets" / "gates" / "questions.jsonl", NAMES[:2])
    assert distinguo("run", "gates") == 2
    assert "DISTINGUO_DATA" in capsys.readouterr().err
    monkeypatch.setenv("DISTINGUO_DATA", str(here / "sets"))
    assert distinguo("run", "gates") == 0
    assert len(rows()) == 2


def test_piped_progress_is_plain_lines_with_the_four_counts(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "EVERY", 0.0)
    assert distinguo("run", "q.jsonl", "--at-once", "1") == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 9, "the last one is the summary's"
    assert lines[0].startswith("results: 1 of 10 (1 answered, 0 abstained, 0 unreadable, 0 failed), about ")


def test_two_runs_do_not_write_one_file(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("run", "q.jsonl", "--limit", "1") == 0
    header = {
        key: value for key, value in ResultFile.read(Path("results.jsonl")).header.items() if key != "format"
    }
    with ResultFile.open(Path("results.jsonl"), header):
        assert distinguo("run", "q.jsonl") == 1
    assert "another run is writing to 'results.jsonl'" in capsys.readouterr().err


def test_one_interrupt_ends_the_run_and_the_same_command_goes_on(here: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background of a shell
    is_there, may_reply = threading.Event(), threading.Event()

    def script(asked: Asked) -> str:
        if "gate q5 " in asked.last and not is_there.is_set():
            is_there.set()
            may_reply.wait(60)
        return says("seven", 1)

    try:
        with house(here, script):
            ask(here / "q.jsonl")
            assert distinguo("index", "corpus") == 0
            running = subprocess.Popen(
                [sys.executable, "-m", "distinguo", "run", "q.jsonl", "--at-once", "1"],
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
            try:
                assert is_there.wait(60)
                running.send_signal(signal.SIGINT)
                _, said = running.communicate(timeout=30)
            finally:
                running.kill()
                may_reply.set()
            assert running.returncode == 130
            assert "interrupted; 5 of 10 questions are done: the same command goes on" in said
            assert "Traceback" not in said
            assert [row.id for row in rows()] == NAMES[:5]
            assert distinguo("run", "q.jsonl") == 0
            assert [row.id for row in rows()] == NAMES
    finally:
        signal.signal(signal.SIGINT, before)
