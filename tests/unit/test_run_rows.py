"""A row says how its question ended, and what the calls in its trace cost."""

import pytest

from distinguo.records import (
    Abstention,
    Answer,
    Bm25,
    Evidence,
    Failure,
    Passage,
    Question,
    Result,
    Similarity,
    Unreadable,
)
from distinguo.results.rows import Row, Weighed
from distinguo.running.rows import Cost, cost_of, row_of
from distinguo.trace import Event, Json, Trace

QUESTION = Question("q", "When does the gate open?")
EVIDENCE = (
    Evidence(Passage("gates#1", "The gate opens at seven.", document="gates"), Bm25(1 / 3, "bm25")),
    Evidence(Passage("boats#1", "The boat leaves at noon.", document="boats"), Similarity(0.25, "dense")),
)
WEIGHED = (
    Weighed("gates#1", "gates", 0.3333333, "bm25", "bm25", is_cited=True),
    Weighed("boats#1", "boats", 0.25, "similarity", "dense"),
)


def event(kind: str = "call", **fields: Json) -> Event:
    return Event(kind, "read", (), 0.0, 0.1, fields)


@pytest.mark.parametrize(
    ("outcome", "row"),
    [
        (
            Answer("seven", ("gates#1",), EVIDENCE),
            Row("q", "answered", answer="seven", citations=("gates#1",), evidence=WEIGHED),
        ),
        (
            Abstention("fragile evidence", EVIDENCE[1:]),
            Row("q", "abstained", reason="fragile evidence", evidence=WEIGHED[1:]),
        ),
        (Unreadable("no JSON", "Sure!"), Row("q", "unreadable", reason="no JSON", raw="Sure!")),
        (Failure("BackendError", "down"), Row("q", "failed", reason="BackendError: down")),
    ],
)
def test_each_end_fills_its_fields(outcome: Answer | Abstention | Unreadable | Failure, row: Row) -> None:
    made = row_of(Result(QUESTION, outcome, "t", 0.0), Trace("t", ""), with_texts=False, is_traced=False)
    assert made == row
    assert Row.of_json(made.as_json()) == row


def test_seconds_question_and_trace_are_kept() -> None:
    made = row_of(Result(QUESTION, Answer("seven"), "t", 1.234567), Trace("t", ""))
    assert (made.question, made.trace, made.seconds) == (QUESTION.text, "t", 1.2346)


def test_decisions_are_kept_once_each_with_their_status_in_the_order_of_time() -> None:
    notes: list[tuple[str, dict[str, Json]]] = [
        ("passage dropped", {"passage": "a"}),
        ("contrast", {"status": "nearest"}),
        ("passage dropped", {}),
    ]
    trace = Trace("t", "", events=[
        *(Event("note", name, (), at, 0.0, fields) for at, (name, fields) in enumerate(notes)),
        event("call", status="nearest"),
    ])  # fmt: skip
    row = row_of(Result(QUESTION, Answer("seven"), "t", 0.0), trace)
    assert row.notes == ("passage dropped", "contrast: nearest")
    assert Row.of_json(row.as_json()) == row


def test_rows_of_earlier_versions_have_no_notes() -> None:
    row = Row("q", "answered", answer="seven")
    values = row.as_json()
    del values["notes"]
    assert Row.of_json(values) == row


def test_calls_made_and_calls_kept_are_counted_apart() -> None:
    trace = Trace("t", "", events=[
        event(port="llm", prompt_tokens=100, completion_tokens=7, is_cached=False),
        event(port="llm", prompt_tokens=50, completion_tokens=3, is_cached=True),
        event(port="llm", error="BackendError: down"),
        event(port="retriever", hits=[]),
        event(port="embedder", text="gate", is_cached=True),
        event(port="embedder", text="boat"),
        event("note", port="llm", is_cached=True),
    ])  # fmt: skip
    assert cost_of(trace) == Cost(
        calls=2, cached_calls=1, prompt_tokens=100, completion_tokens=7, cached_tokens=53, cached_vectors=1
    )


@pytest.mark.parametrize(
    ("calls", "cached_calls", "cached_vectors", "is_timed"),
    [(0, 0, 0, True), (1, 0, 0, True), (1, 0, 1, True), (0, 0, 1, False), (0, 1, 0, False), (1, 1, 0, False)],
)
def test_seconds_of_what_was_kept_are_no_latency(
    calls: int, cached_calls: int, cached_vectors: int, is_timed: bool
) -> None:
    row = Row("q", "answered", calls=calls, cached_calls=cached_calls, cached_vectors=cached_vectors)
    assert row.is_timed is is_timed
