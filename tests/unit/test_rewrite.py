"""A question rewritten as a query."""

import json

import pytest

from distinguo.errors import ConfigError
from distinguo.methods.baselines.rewrite import Rewrite
from distinguo.prompts.expanding import REWRITE_SCHEMA
from distinguo.records import Query, Question, Sampling
from distinguo.testing import ListRetriever, ScriptedLLM
from distinguo.trace import Trace, tracing

QUESTION = Question("q", "when does the north gate open")


async def test_the_rewritten_question_is_searched_with_and_noted() -> None:
    retriever, trace = ListRetriever([]), Trace("t", "")
    writer = ScriptedLLM(json.dumps({"query": "north gate\nopening hours"}))
    with tracing(trace):
        await Rewrite(ScriptedLLM([]), writer, retriever).find(QUESTION)
    assert retriever.queries == [Query.of("north gate opening hours")]
    assert [(event.name, event.fields) for event in trace.events if event.kind == "note"] == [
        ("query", {"text": "north gate opening hours"})
    ]
    assert writer.samplings == [Sampling(schema=REWRITE_SCHEMA)]


def test_k_out_of_range_is_named() -> None:
    with pytest.raises(ConfigError, match="'k' is 0; expected 1 or more"):
        Rewrite(ScriptedLLM([]), ScriptedLLM([]), ListRetriever([]), k=0)
