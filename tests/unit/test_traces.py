"""Finished questions on disk."""

import json
from pathlib import Path

import pytest

from distinguo.errors import DataError
from distinguo.records import (
    Abstention,
    Answer,
    Evidence,
    Failure,
    Passage,
    Question,
    Result,
    Similarity,
    Unreadable,
)
from distinguo.running.traces import events_of, load, new_trace, result_as_json, save
from distinguo.trace import note, span, tracing

QUESTION = Question("q", "Где ворота?")
EVIDENCE = (Evidence(Passage("p1", "text", "title", "d", "a.md", 3, 7), Similarity(0.5)),)


def test_a_saved_trace_is_private_and_loads_by_prefix_or_as_the_last(tmp_path: Path) -> None:
    trace = new_trace(QUESTION)
    with tracing(trace):
        note("chosen", why="because")
    folder = tmp_path / "traces"
    path = save(folder, Result(QUESTION, Answer("north", ("p1",), EVIDENCE), trace.id, 0.5), trace)
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert load(folder, trace.id) == load(folder, trace.id[:12]) == load(folder, "last")
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["result"]["question"] == "Где ворота?"
    assert stored["events"][0]["fields"] == {"why": "because"}


@pytest.mark.parametrize("name", ["last", "2026"])
def test_what_is_not_there_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="distinguo ask"):
        load(tmp_path / "none", name)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "{}",
        "[1]",
        '{"format": 0}',
        '{"format": 1, "events": []}',
        '{"format": 1, "result": {}}',
        '{"format": 1, "result": {}, "events": [3]}',
        '{"format": 1, "result": {"state": "answered", "evidence": []}, "events": []}',
        '{"format": NaN}',
        '{"format": 1, "result": {}, "events": [{"kind": "note", "name": "x"}]}',
    ],
)
def test_a_damaged_trace_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.json"):
        load(tmp_path, "last")


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Answer("north", ("p1",), EVIDENCE), "answered"),
        (Abstention("fragile", EVIDENCE), "abstained"),
        (Unreadable("no JSON", "north"), "unreadable"),
        (Failure("BackendError", "down"), "failed"),
    ],
)
def test_every_outcome_has_the_same_keys(
    outcome: Answer | Abstention | Unreadable | Failure, state: str
) -> None:
    row = result_as_json(Result(QUESTION, outcome, "t", 0.5))
    assert row["state"] == state
    assert list(row) == [
        "id", "question", "state", "answer", "reason", "citations", "evidence", "raw", "trace", "seconds",
    ]  # fmt: skip
    assert (row["answer"] is None) == (row["reason"] is not None)


def test_half_a_character_in_a_reply_does_not_lose_the_trace(tmp_path: Path) -> None:
    trace = new_trace(QUESTION)
    save(tmp_path, Result(QUESTION, Answer("\ud83d half", ("p1",), EVIDENCE), trace.id, 0.5), trace)
    assert load(tmp_path, "last")["result"]["answer"] == "\ud83d half"


def test_events_are_read_as_they_were_written(tmp_path: Path) -> None:
    trace = new_trace(QUESTION)
    with tracing(trace), span("search"):
        note("chosen", candidates=[{"text": "a"}])
    save(tmp_path, Result(QUESTION, Answer("north"), trace.id, 0.5), trace)
    assert events_of(load(tmp_path, "last")) == trace.in_order()


def test_a_link_to_nothing_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to(tmp_path / "gone")
    with pytest.raises(DataError, match="holds 0 traces"):
        load(tmp_path, "last")
