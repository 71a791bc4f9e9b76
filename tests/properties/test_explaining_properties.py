"""Whatever happened in a question: the sum over its stages is its total."""

import math

from hypothesis import given
from hypothesis import strategies as st

from distinguo.running.explaining import explain
from distinguo.running.rows import cost_of
from distinguo.trace import Event, Trace

NAMES = st.sampled_from(["think", "search", "read"])
SECONDS = st.floats(0, 20, allow_nan=False)
TOKENS = st.integers(0, 5_000)


@st.composite
def events(draw) -> list[Event]:
    """Spans, calls and notes in the order of their beginnings; they may overlap as they like."""
    drawn: list[Event] = []
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["span", "call", "note"]))
        port = {"port": draw(st.sampled_from(["llm", "retriever", "embedder"]))}
        usage = {
            "prompt_tokens": draw(TOKENS),
            "completion_tokens": draw(TOKENS),
            "is_cached": draw(st.booleans()),
        }
        path = tuple(draw(st.lists(NAMES, max_size=2)))
        seconds = 0.0 if kind == "note" else draw(SECONDS)
        fields = port | usage if kind == "call" else {}
        drawn.append(Event(kind, draw(NAMES), path, draw(SECONDS), seconds, fields))
    return sorted(drawn, key=lambda event: event.at)


@given(events(), st.floats(0, 10, allow_nan=False))
def test_the_sum_over_stages_is_the_total(drawn: list[Event], later: float) -> None:
    ends = max((event.at + event.seconds for event in drawn), default=0.0)
    rows = [
        {
            "kind": e.kind,
            "name": e.name,
            "path": [*e.path],
            "at": e.at,
            "seconds": e.seconds,
            "fields": e.fields,
        }
        for e in drawn
    ]
    result = {"seconds": ends + later, "evidence": []}
    explanation = explain({"format": 1, "result": result, "events": rows})
    stages, total = explanation.stages, explanation.total
    cost = cost_of(Trace("t", "?", events=drawn))
    assert total.calls == sum(stage.calls for stage in stages) == cost.calls
    assert total.cached_calls == sum(stage.cached_calls for stage in stages) == cost.cached_calls
    assert total.prompt_tokens == sum(stage.prompt_tokens for stage in stages) == cost.prompt_tokens
    assert (
        total.completion_tokens == sum(stage.completion_tokens for stage in stages) == cost.completion_tokens
    )
    assert math.isclose(total.seconds, sum(stage.seconds for stage in stages), abs_tol=1e-6)
    assert math.isclose(total.seconds, ends + later, abs_tol=0.005 * (1 + len(stages)))
    assert all(stage.seconds >= 0 for stage in stages)
    assert len({stage.name for stage in stages}) == len(stages)
