"""The command line on a double server: what a user types and sees."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doubles.command import distinguo
from doubles.house import house, says
from doubles.openai_server import Body, Server


@pytest.fixture
def server(here: Path) -> Iterator[Server]:
    with house(here) as running:
        yield running


@pytest.fixture
def indexed(server: Server, capsys: pytest.CaptureFixture[str]) -> Server:
    assert distinguo("index", "corpus") == 0
    capsys.readouterr()
    return server


def test_index_says_what_went_in_and_what_did_not(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "corpus" / "photo.jpg").write_bytes(b"\xff\xd8")
    (here / "corpus" / "blank.txt").write_text(" \n", encoding="utf-8")
    assert distinguo("index", "corpus") == 0
    printed = capsys.readouterr()
    assert (
        "2 documents (2 added, 0 changed, 0 unchanged), 2 passages written, 2 sources skipped" in printed.out
    )
    assert "photo.jpg" in printed.err
    assert "blank.txt" in printed.err
    assert distinguo("index", "corpus", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["unchanged"], report["embedded"]) == (2, 0)
    corpus = here / "corpus"
    assert [row["source"] for row in report["skipped"]] == [
        str(corpus / "blank.txt"),
        str(corpus / "photo.jpg"),
    ]


def test_ask_prints_the_answer_with_its_passage_and_keeps_a_trace(
    indexed: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("ask", "When does the north gate open?") == 0
    printed = capsys.readouterr()
    assert "[1] corpus/gates.md, *Gates*" in printed.out
    assert "The north gate opens at seven." in printed.out
    assert distinguo("show", "last", "--json") == 0
    stored = json.loads(capsys.readouterr().out)
    assert stored["result"]["state"] == "answered"
    assert {event["name"] for event in stored["events"]} >= {"answer_from_passages", "hybrid", "embed"}
    assert distinguo("show", "--events") == 0
    shown = capsys.readouterr().out
    assert "call answer_from_passages" in shown
    assert "passage=gates.md#1" in shown


def test_explain_and_show_tell_the_same_story(indexed: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("ask", "When does the north gate open?", "--explain", "--method", "dense") == 0
    explained = capsys.readouterr()
    lines = [" ".join(line.split()) for line in explained.out.splitlines()]
    assert lines[:2] == ["Question", "When does the north gate open?"]
    assert "Search: dense, k = 3, by similarity" in lines
    assert "+1 main question" in lines
    assert any(line.endswith("cited [1] corpus/gates.md, *Gates*") for line in lines)
    assert "answer_from_passages" not in explained.out.split("Cost")[0], "no prompt and no reply"
    assert re.search(r"\n  total +1 ", explained.out)
    assert re.search(r"more: distinguo show \S+ --events", explained.err)
    assert distinguo("show") == 0
    assert capsys.readouterr().out == explained.out


def test_the_explanation_as_json_has_the_events_too(
    indexed: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("ask", "When does the north gate open?", "--explain", "--json") == 0
    asked = json.loads(capsys.readouterr().out)
    assert distinguo("show", "--json") == 0
    assert json.loads(capsys.readouterr().out) == asked
    assert list(asked) == ["format", "result", "explanation", "events"]
    (search,) = asked["explanation"]["searches"]
    assert search["probes"] == [{"text": "When does the north gate open?", "weight": 1.0, "role": "main"}]
    assert search["found"][0]["place"]["heading"] == "Gates"
    (call,) = [event for event in asked["events"] if event["name"] == "answer_from_passages"]
    assert asked["explanation"]["total"]["prompt_tokens"] == call["fields"]["prompt_tokens"] > 0
    assert "The north gate opens at seven" in call["fields"]["messages"][-1]["content"]


def test_passages_that_were_only_sought_are_all_shown(
    indexed: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("ask", "When does the north gate open?", "-m", "retrieve", "--explain") == 0
    printed = capsys.readouterr().out
    assert printed.count(" kept  corpus/") == 2
    assert "Found, and not read:" in printed
    assert "[2] corpus/boats.md, *Boats*" in printed


def test_an_unreadable_and_a_failed_question_explain_what_happened_up_to_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = iter([*["north"] * 2, *[Body('{"error": "no such model"}', 404)] * 2])
    with house(here, lambda asked: next(replies)):
        assert distinguo("index", "corpus") == 0
        assert distinguo("ask", "Which gate?", "--explain") == 3
        unreadable = capsys.readouterr().out
        assert distinguo("ask", "Which ferry?", "--explain") == 4
        failed = capsys.readouterr().out
    assert "the reply to answer_from_passages could not be read, and was asked for once more" in unreadable
    assert "answer_from_passages_repair      1" in unreadable
    for printed, end in ((unreadable, "unreadable: "), (failed, "failed: BackendError")):
        assert "corpus/gates.md, *Gates*" in printed
        assert printed.index("Cost") < printed.index(end)


def test_ask_json_is_one_object_with_the_evidence(
    indexed: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("ask", "When does the north gate open?", "--json", "--method", "bm25") == 0
    row = json.loads(capsys.readouterr().out)
    assert row["state"] == "answered"
    assert row["citations"] == ["gates.md#1"]
    assert row["evidence"][0]["scale"] == "bm25"


def test_silence_is_said_with_its_reason(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with house(here, lambda asked: says(None)):
        assert distinguo("index", "corpus") == 0
        assert distinguo("ask", "What does the ferry cost?") == 0
    assert "I cannot say: the passages do not state the answer." in capsys.readouterr().out


def test_an_unreadable_reply_and_a_failed_call_have_exit_codes_of_their_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = iter([*["north"] * 2, *[Body('{"error": "no such model"}', 404)] * 2])
    with house(here, lambda asked: next(replies)):
        assert distinguo("index", "corpus") == 0
        assert distinguo("ask", "Which gate?") == 3
        assert distinguo("ask", "Which ferry?") == 4
    printed = capsys.readouterr().out
    assert "unreadable: expected a JSON object, got 'north'" in printed
    assert "failed: BackendError" in printed


def test_an_equal_question_makes_no_second_call(indexed: Server, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert distinguo("ask", "When does the north gate open?") == 0
    assert len([asked for asked in indexed.asked if "messages" in asked.fields]) == 1
    assert distinguo("cache", "info", "--json") == 0
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.rindex("{") :])["entries"] == 1
    assert distinguo("cache", "clear") == 0
    assert distinguo("ask", "When does the north gate open?") == 0
    assert len([asked for asked in indexed.asked if "messages" in asked.fields]) == 2


def test_a_budget_of_calls_is_kept(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with house(here, lambda asked: "no JSON"):
        assert distinguo("index", "corpus") == 0
        assert distinguo("ask", "Which gate?", "--max-calls", "1") == 4
    assert "BudgetError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["ask", "  \n "], 1, "the question is empty"),
        (["ask", "word " * 5000], 1, "expected at most 16,000"),
        (["ask", "Which gate?", "-m", "hybird"], 2, "did you mean 'hybrid'"),
        (["ask", "Which gate?"], 1, "there is no index"),
        (["index", "nowhere"], 1, "no such file or folder"),
        (["index", "corpus", "--name", "clinic"], 2, "there is no index 'clinic' in the configuration"),
        (["show", "2020"], 1, "no single trace"),
        (["models", "where", "qwen2.5-coder-1.5b-instruc"], 2, "did you mean"),
        (["ask", "Which gate?", "-c", "none.toml"], 2, "none.toml"),
    ],
)
def test_bad_input_gets_one_clear_line(
    server: Server, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert distinguo(*arguments) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("error: ")
    assert "Traceback" not in printed.err
    assert not printed.out


def test_an_empty_folder_is_an_error_and_makes_no_index(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "empty").mkdir()
    assert distinguo("index", "empty") == 1
    assert "no document" in capsys.readouterr().err
    assert not (here / "home" / "indexes").exists()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("[method]\nname = 'hybrid'\nkk = 3", "method.kk: unknown setting; did you mean 'k'?"),
        ("[method]\nname = 'hybrid'\nk = 0", "'k' is 0; expected 1 or more"),
        (
            "[models.house]\nllm = 'x'\n[method]\nname = 'hybrid'\nllm = 'hous'",
            "method.llm: there is no language model 'hous'; did you mean 'house'?",
        ),
        ("[method]\nname = 'hybrid'\nretriever = { name = 'dens' }", "did you mean 'dense'?"),
        (
            "[method]\nname = 'hybrid'\nretriever = { name = 'dense', depth = 3 }",
            "method.retriever.depth: unknown",
        ),
        (
            "[method]\nname = 'hybrid'\nretriever = { name = 'dense', index = 'x' }",
            "there is no index 'x' in the configuration",
        ),
        ("[method]\nname = 3", "method.name"),
        ("[limits]\ncalls_in_flight = 0", "limits.calls_in_flight: 0 is not a whole number from 1"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], config: str, message: str
) -> None:
    with house(here, config=config):
        distinguo("index", "corpus")
        capsys.readouterr()
        assert distinguo("ask", "Which gate?") == 2
    assert message in capsys.readouterr().err


def test_k_beyond_the_corpus_gives_what_there_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with house(here, config="[method]\nname = 'dense'\nk = 50"):
        assert distinguo("index", "corpus") == 0
        capsys.readouterr()
        assert distinguo("ask", "When does the north gate open?", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["evidence"]) == 2


def test_another_chunking_is_refused_until_the_index_is_rebuilt(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with house(here):
        assert distinguo("index", "corpus") == 0
        written = (here / "distinguo.toml").read_text(encoding="utf-8")
        (here / "distinguo.toml").write_text(written + "chunk_tokens = 50\n", encoding="utf-8")
        assert distinguo("index", "corpus") == 1
        assert "--rebuild" in capsys.readouterr().err
        assert distinguo("index", "corpus", "--rebuild") == 0
        assert distinguo("index", "corpus") == 0


def test_every_file_is_private(indexed: Server, here: Path) -> None:
    assert distinguo("ask", "When does the north gate open?") == 0
    for path in (here / "home").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, f"{path} has mode {mode:o}"


def test_init_writes_a_configuration_that_loads_and_never_overwrites(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("init") == 0
    assert distinguo("methods", "-h" if False else "--json") == 0
    assert distinguo("init") == 2
    assert "exists" in capsys.readouterr().err


def test_methods_lists_every_method_with_its_settings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("methods", "--json") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["bm25"]["settings"] == {"llm": "'default'", "retriever": "'lexical'", "k": "3"}


def test_doctor_names_what_is_missing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("doctor") == 1
    printed = capsys.readouterr().out
    assert "distinguo models get all-minilm-l6-v2-int8" in printed
    assert "✓ cache" in printed


def test_a_question_may_come_from_standard_input(
    indexed: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("When does the north gate open?\n"))
    assert distinguo("ask", "-", "--json") == 0
    assert json.loads(capsys.readouterr().out)["question"] == "When does the north gate open?"


def test_help_is_quick() -> None:
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COV")}

    def processor_seconds() -> float:
        before = os.times()
        command = [sys.executable, "-m", "distinguo", "--help"]
        subprocess.run(command, check=True, capture_output=True, env=unmeasured)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(processor_seconds() for _ in range(3)) < 0.3


@pytest.mark.parametrize(
    ("command", "default"),
    [
        (["ask"], "./distinguo.toml"),
        (["models", "get"], "what the starter needs"),
        (["models", "where"], "the folder of all"),
    ],
)
def test_help_tells_the_defaults(
    command: list[str], default: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert distinguo(*command, "--help") == 0
    assert default in capsys.readouterr().out
