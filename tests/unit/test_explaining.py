"""A stored trace, read as the steps of an algorithm."""

import asyncio
import json
from dataclasses import asdict

import pytest

from distinguo.backends.limits import Budget
from distinguo.backends.wrapped import wrap_llm, wrap_retriever
from distinguo.concurrently import each
from distinguo.errors import BackendError
from distinguo.methods.chr import Chr
from distinguo.protocols import LLM, Method
from distinguo.records import (
    Abstention,
    Answer,
    Completion,
    Condition,
    Evidence,
    Message,
    Outcome,
    Passage,
    Probability,
    Probe,
    Prompt,
    Query,
    Question,
    Similarity,
    Usage,
)
from distinguo.running.attempt import attempt
from distinguo.running.explaining import REST, explain
from distinguo.running.explanation import Candidate, Dropped, Explanation, Place, Stage
from distinguo.running.rows import cost_of
from distinguo.running.traces import as_stored, new_trace
from distinguo.testing import ListRetriever, ScriptedLLM
from distinguo.trace import Trace, note, span

QUESTION = Question("q", "Which gate opens first?")
PASSAGES = [
    Passage(f"gates.md#{n}", "text", source="gates.md", heading=f"Gate {n}", start=n, end=n + 4)
    for n in (1, 2, 3)
]


class Playing:
    """A method that does what it is told, and ends so."""

    def __init__(self, play, outcome: Outcome = Abstention("nothing")):  # noqa: B008  frozen
        self.play, self.outcome = play, outcome

    async def answer(self, question: Question) -> Outcome:
        await self.play()
        return self.outcome


async def told(method: Method) -> tuple[Explanation, Trace]:
    """The explanation as it is read from the disk."""
    trace = new_trace(QUESTION)
    result = await attempt(method, QUESTION, trace)
    return explain(json.loads(json.dumps(as_stored(result, trace)))), trace


def llm(script) -> LLM:
    return wrap_llm(ScriptedLLM(script), model="m", budget=Budget())


def prompt(name: str) -> Prompt:
    return Prompt(name, (Message("user", "one two three"),))


async def test_chr_is_told_as_its_algorithm():
    pair = {"target": "The north gate.", "mimic": "The south gate."}
    answer = {"is_stated": True, "answer": "north", "citations": [2]}
    model = llm([json.dumps(pair), json.dumps(answer)])
    found = wrap_retriever(ListRetriever(PASSAGES), name="dense")
    explanation, _ = await told(Chr(model, model, found, k=2))
    (pair,) = explanation.hypotheses
    assert (pair.target, pair.mimic) == ("The north gate.", "The south gate.")
    (search,) = explanation.searches
    assert (search.retriever, search.k) == ("dense", 2)
    assert [(p.text, p.weight, p.role) for p in search.probes] == [
        ("The north gate.", 1.0, "positive"),
        ("The south gate.", -0.5, "negative"),
    ]
    assert [(item.rank, item.score, item.scale) for item in search.found] == [
        (1, 1.0, "similarity"),
        (2, 0.5, "similarity"),
    ]
    assert search.found[0].place == Place("gates.md#1", source="gates.md", heading="Gate 1", start=1, end=5)
    assert [(item.status, item.citation) for item in explanation.evidence] == [("shown", 0), ("cited", 1)]
    assert [stage.name for stage in explanation.stages if stage.name != REST] == [
        "hypothesise",
        "search",
        "read",
    ]
    assert not explanation.remarks


async def test_notes_of_a_known_form_are_told_in_their_place_and_all_others_remain():
    async def play():
        note(
            "contrast",
            question="Which gate opens last?",
            difference="first, not last",
            similarity=0.9,
            status="band",
            candidates=[{"question": "Which gate closes?", "similarity": 0.5}],
        )
        note("passage dropped", passage="p1", score=0.25, threshold=0.7, reason="too weak")
        note("passage dropped", passage="p2", reason="unreadable")
        with span("search"):
            note("odd", depth=[1, {"a": None}])
        note("hypotheses", mimic="of another form")

    explanation, _ = await told(Playing(play))
    (contrast,) = explanation.contrasts
    assert (contrast.question, contrast.difference) == ("Which gate opens last?", "first, not last")
    assert (contrast.similarity, contrast.status) == (0.9, "band")
    assert contrast.candidates == (Candidate("Which gate closes?", 0.5),)
    assert explanation.dropped == (
        Dropped("p1", 0.25, 0.7, "too weak"),
        Dropped("p2", None, None, "unreadable"),
    )
    assert [(remark.name, remark.stage, remark.fields) for remark in explanation.remarks] == [
        ("odd", "search", {"depth": [1, {"a": None}]}),
        ("hypotheses", "", {"mimic": "of another form"}),
    ]


async def test_a_rewritten_query_is_a_remark_only_where_it_was_not_sent():
    retriever = wrap_retriever(ListRetriever(PASSAGES), name="dense")

    async def play():
        note("query", text="sent")
        note("query", text="thrown away")
        await retriever.search(Query((Probe("sent"),), (Condition("year", ">=", 2020),)), 1)

    explanation, _ = await told(Playing(play))
    assert [remark.fields for remark in explanation.remarks] == [{"text": "thrown away"}]
    assert explanation.searches[0].where == ("year >= 2020",)


async def test_a_search_that_failed_says_why():
    class Broken:
        async def search(self, query: Query, k: int):
            raise BackendError("no index", retryable=False)

    retriever = wrap_retriever(Broken(), name="dense")
    explanation, _ = await told(Playing(lambda: retriever.search(Query.of("?"), 1)))
    (search,) = explanation.searches
    assert search.found == ()
    assert "no index" in search.error


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Answer("north", ("p1",), (Evidence(Passage("p1", "x"), Similarity(0.5)),)), "cited"),
        (Answer("north", (), (Evidence(Passage("p1", "x"), Similarity(0.5)),)), "shown"),
        (Answer("", (), (Evidence(Passage("p1", "x"), Similarity(0.5)),)), "kept"),
        (Abstention("fragile", (Evidence(Passage("p1", "x"), Probability(0.5)),)), "kept"),
    ],
)
async def test_evidence_was_cited_shown_or_only_kept(outcome: Outcome, status: str):
    explanation, _ = await told(Playing(lambda: asyncio.sleep(0), outcome))
    assert [item.status for item in explanation.evidence] == [status]


# ── costs ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_stages_add_up_to_what_the_question_cost():
    """Spans in spans, calls outside any, calls together, kept ones, and one that fails."""
    model = llm(
        lambda p, _: (
            BackendError("down", retryable=False)
            if p.name == "fails"
            else Completion("yes", usage=Usage(7, 2, is_cached=p.name == "kept"))
        )
    )
    retriever = wrap_retriever(ListRetriever(PASSAGES), name="dense")

    async def play():
        await model.complete(prompt("alone"))
        with span("think"):
            with span("turn 1"):
                await model.complete(prompt("draft"))
            await each(lambda name: model.complete(prompt(name)), ["draft", "kept", "draft"])
        with span("search"):
            await retriever.search(Query.of("?"), 3)
        with span("think"):
            await model.complete(prompt("draft"))
        await retriever.search(Query.of("?"), 3)
        with span("read"):
            await model.complete(prompt("fails"))

    explanation, trace = await told(Playing(play))
    calls = {
        stage.name: (stage.calls, stage.cached_calls) for stage in explanation.stages if stage.name != REST
    }
    assert calls == {"alone": (1, 0), "think": (4, 1), "search": (0, 0), "dense": (0, 0), "read": (1, 0)}
    cost, total = cost_of(trace), explanation.total
    assert (total.calls, total.cached_calls) == (cost.calls, cost.cached_calls) == (6, 1)
    assert (total.prompt_tokens, total.completion_tokens) == (cost.prompt_tokens, cost.completion_tokens)
    assert (total.prompt_tokens, total.completion_tokens) == (5 * 7, 5 * 2)


def test_every_second_is_of_one_stage():
    events = [
        row("span", "a", at=1.0, seconds=3.0),
        row("call", "x", at=1.5, seconds=2.0, path=["a"], port="llm", prompt_tokens=5, completion_tokens=1),
        row("span", "b", at=2.0, seconds=4.0),  # two of its seconds are of a
        row("call", "inner", at=2.5, seconds=0.5, port="embedder"),  # all of it is of others
        row("call", "read", at=7.004, seconds=1.002, port="llm"),
    ]
    explanation = explain({"format": 1, "result": {"seconds": 10.0, "evidence": []}, "events": events})
    assert explanation.stages == (
        Stage("a", 1, 0, 5, 1, 3.0),
        Stage("b", seconds=2.0),
        Stage("read", 1, seconds=1.0),
        Stage(REST, seconds=4.0),
    )
    assert explanation.total == Stage("total", 2, 0, 5, 1, 10.0)


def row(kind: str, name: str, *, at: float, seconds: float, path=(), **fields) -> dict:
    return {"kind": kind, "name": name, "path": [*path], "at": at, "seconds": seconds, "fields": fields}


# ── traces of other times ────────────────────────────────────────────────────────────────────────────────


def test_a_trace_of_an_earlier_version_lacks_places_and_parts():
    hits = [{"passage": "a#1", "rank": 1, "score": 0.5, "scale": "similarity", "by": "dense"}]
    call = row("call", "dense", at=0.0, seconds=0.1, port="retriever", k=1, probes=[], where=[], hits=hits)
    result = {"question": "?", "state": "failed", "answer": None, "evidence": [], "seconds": 0.2}
    explanation = explain({"format": 1, "result": result, "events": [call]})
    (found,) = explanation.searches[0].found
    assert (found.place, found.score, found.parts) == (Place("a#1"), 0.5, ())


def test_an_explanation_has_the_same_keys_whatever_happened():
    result = {"question": "?", "state": "failed", "answer": None, "evidence": [], "seconds": 0.0}
    explanation = asdict(explain({"format": 1, "result": result, "events": []}))
    assert list(explanation) == [
        "hypotheses", "contrasts", "searches", "dropped", "evidence", "remarks", "stages", "total",
    ]  # fmt: skip
    assert list(explanation["total"]) == [
        "name", "calls", "cached_calls", "prompt_tokens", "completion_tokens", "seconds",
    ]  # fmt: skip
