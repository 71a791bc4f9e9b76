"""A trace holds what happened inside one question, and nothing of its neighbours."""

import asyncio

import pytest

from distinguo.concurrently import each
from distinguo.errors import BackendError
from distinguo.trace import Trace, call, note, span, tracing


def shapes(trace):
    return [(event.kind, event.path, event.name) for event in trace.in_order()]


def test_events_lie_inside_the_spans_that_enclose_them():
    trace = Trace("t1", "Who?")
    with tracing(trace):
        with span("replan 1"):
            with call("search", k=5) as fields:
                fields["hits"] = 3
            with span("revise"):
                note("dropped", passage="p1")
        note("after")
    assert shapes(trace) == [
        ("span", (), "replan 1"),
        ("call", ("replan 1",), "search"),
        ("span", ("replan 1",), "revise"),
        ("note", ("replan 1", "revise"), "dropped"),
        ("note", (), "after"),
    ]
    assert trace.in_order()[1].fields == {"k": 5, "hits": 3}


def test_times_count_from_the_beginning_of_the_trace():
    trace = Trace("t1", "Who?")
    with tracing(trace), span("outer"):
        note("inner")
    outer, inner = trace.in_order()
    assert 0 <= outer.at <= inner.at <= outer.at + outer.seconds
    assert inner.seconds == 0


def test_outside_of_a_trace_nothing_is_recorded_and_nothing_fails():
    trace = Trace("t1", "Who?")
    with tracing(trace):
        pass
    note("nobody listens")
    with span("nobody"), call("listens") as fields:
        fields["x"] = 1
    assert trace.events == []


def test_errors_are_recorded_and_go_on():
    trace = Trace("t1", "Who?")
    with tracing(trace), pytest.raises(BackendError), span("draft"), call("read"):
        raise BackendError("server is down")
    draft, read = trace.in_order()
    assert read.fields["error"] == "BackendError: server is down"
    assert (draft.kind, draft.name) == ("span", "draft")


def test_a_span_that_failed_does_not_enclose_what_follows():
    trace = Trace("t1", "Who?")
    with tracing(trace):
        with pytest.raises(ValueError), span("draft"):
            raise ValueError
        note("after")
    assert trace.in_order()[-1].path == ()


async def test_tasks_record_into_the_trace_and_span_that_began_them():
    trace = Trace("t1", "Who?")

    async def search(name):
        with span(name):
            await asyncio.sleep(0)
            note("found")

    with tracing(trace), span("plan"):
        await each(search, ["a", "b"])
    assert {event.path for event in trace.events if event.name == "found"} == {("plan", "a"), ("plan", "b")}


async def test_questions_at_the_same_time_keep_apart():
    traces = [Trace(f"t{number}", "Who?") for number in range(8)]

    async def question(trace):
        with tracing(trace):
            for step in range(3):
                await asyncio.sleep(0)
                with span(f"step {step}"):
                    await asyncio.sleep(0)
                    note(trace.id)

    await each(question, traces)
    for trace in traces:
        notes = [event.name for event in trace.events if event.kind == "note"]
        assert notes == [trace.id] * 3


def test_a_trace_inside_a_trace_gives_way_again():
    outer, inner = Trace("outer", ""), Trace("inner", "")
    with tracing(outer), span("asking"):
        with tracing(inner):
            note("inside")
        note("outside")
    assert shapes(inner) == [("note", (), "inside")]
    assert shapes(outer)[-1] == ("note", ("asking",), "outside")


def test_a_field_may_have_any_name():
    trace = Trace("t1", "Who?")
    with tracing(trace):
        note("dropped", name="p1")
        with call("read", name="q1"):
            pass
    assert [event.fields["name"] for event in trace.in_order()] == ["p1", "q1"]
