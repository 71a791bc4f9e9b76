"""The wrappers around each port, in their one order: Traced(Cached(Limited(Retrying(backend))))."""

import dataclasses

import pytest

from distinguo.backends.cache import CallCache
from distinguo.backends.limits import Budget
from distinguo.backends.retry import Patience
from distinguo.backends.wrapped import wrap_embedder, wrap_llm, wrap_retriever, wrap_scorer
from distinguo.errors import BackendError, BudgetError
from distinguo.records import (
    Completion,
    Condition,
    Message,
    Passage,
    Probability,
    Probe,
    Prompt,
    Query,
    Sampling,
    Usage,
)
from distinguo.testing import FixedScorer, HashEncoder, ListRetriever, ScriptedLLM
from distinguo.trace import Trace, tracing

AT_ONCE = Patience(first=0.0)
BUSY = BackendError("503", retryable=True)
PROMPT = Prompt("read", (Message("system", "Be brief."), Message("user", "Who?")))


@pytest.fixture
def cache(tmp_path):
    cache = CallCache(tmp_path / "cache")
    yield cache
    cache.close()


@pytest.fixture
def trace():
    trace = Trace("t1", "Who?")
    with tracing(trace):
        yield trace


def wrapped(llm, cache=None, *, model="small", budget=None):
    return wrap_llm(llm, model=model, budget=budget or Budget(), cache=cache, patience=AT_ONCE)


# ── language models ──────────────────────────────────────────────────────────────────────────────────────


async def test_the_trace_says_what_was_asked_of_the_model_and_what_it_replied(trace):
    reply = Completion("Ann", usage=Usage(12, 1), thinking="hm", first_token=(("Yes", -0.1),))
    await wrapped(ScriptedLLM(reply)).complete(PROMPT, Sampling(seed=3, stop=("\n",)))
    (event,) = trace.events
    assert (event.kind, event.name) == ("call", "read")
    sampling = event.fields.pop("sampling")
    assert isinstance(sampling, dict)
    assert (sampling["seed"], sampling["stop"]) == (3, ["\n"])
    assert event.fields == {
        "port": "llm",
        "model": "small",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}],
        "reply": "Ann",
        "thinking": "hm",
        "is_truncated": False,
        "first_token": {"Yes": -0.1},
        "prompt_tokens": 12,
        "completion_tokens": 1,
        "is_cached": False,
    }


async def test_a_failed_call_is_traced_with_what_was_asked(trace):
    with pytest.raises(BackendError):
        await wrapped(ScriptedLLM(BackendError("401"))).complete(PROMPT)
    (event,) = trace.events
    assert event.fields["error"] == "BackendError: 401"
    assert event.fields["messages"]


async def test_a_cached_reply_keeps_its_usage_and_is_flagged(cache, trace):
    llm = ScriptedLLM(Completion("Ann", True, Usage(12, 1), "hm", (("Yes", -0.25), ("No", float("-inf")))))
    first = await wrapped(llm, cache).complete(PROMPT)
    second = await wrapped(llm, cache).complete(PROMPT)
    assert len(llm.prompts) == 1
    assert first.usage == Usage(12, 1)
    assert second == dataclasses.replace(first, usage=Usage(12, 1, is_cached=True))
    assert [event.fields["is_cached"] for event in trace.events] == [False, True]


async def test_cached_replies_cost_no_budget(cache):
    budget = Budget(max_calls=1)
    llm = wrapped(ScriptedLLM("Ann"), cache, budget=budget)
    for _ in range(3):
        assert (await llm.complete(PROMPT)).text == "Ann"
    assert budget.calls == 1
    with pytest.raises(BudgetError, match="--max-calls"):
        await llm.complete(PROMPT, Sampling(seed=1))


async def test_retries_are_one_call_to_the_budget_and_one_to_the_trace(trace):
    budget = Budget()
    llm = ScriptedLLM([BUSY, BUSY, Completion("Ann", usage=Usage(12, 1))])
    assert (await wrapped(llm, budget=budget).complete(PROMPT)).text == "Ann"
    assert (len(llm.prompts), budget.calls, budget.tokens) == (3, 1, 13)
    assert [(event.kind, event.name) for event in trace.in_order()] == [
        ("call", "read"),
        ("note", "retry"),
        ("note", "retry"),
    ]


async def test_errors_are_not_kept(cache):
    llm = ScriptedLLM([BackendError("401"), "Ann"])
    with pytest.raises(BackendError):
        await wrapped(llm, cache).complete(PROMPT)
    assert (await wrapped(llm, cache).complete(PROMPT)).text == "Ann"


OTHER = {
    "temperature": 0.7,
    "top_p": 0.9,
    "seed": 1,
    "max_tokens": 8,
    "stop": ("\n",),
    "schema": "{}",
    "first_token": ("Yes",),
}


def test_the_other_settings_below_are_all_that_there_are():
    assert OTHER.keys() == {field.name for field in dataclasses.fields(Sampling)}


@pytest.mark.parametrize("setting", OTHER)
async def test_another_setting_is_another_call(cache, setting):
    llm = ScriptedLLM(["first", "second"])
    await wrapped(llm, cache).complete(PROMPT)
    other = await wrapped(llm, cache).complete(PROMPT, Sampling(**{setting: OTHER[setting]}))
    assert other.text == "second"


async def test_another_model_is_another_call(cache):
    await wrapped(ScriptedLLM("small reply"), cache, model="small").complete(PROMPT)
    other = await wrapped(ScriptedLLM("large reply"), cache, model="large").complete(PROMPT)
    assert other.text == "large reply"


@pytest.mark.parametrize(
    "messages",
    [
        (Message("user", "Be brief."), Message("user", "Who?")),
        (Message("system", "Be brief."), Message("user", "Who"), Message("user", "?")),
        (Message("user", "Who?"), Message("system", "Be brief.")),
        (),
    ],
)
async def test_other_messages_are_another_call(cache, messages):
    llm = ScriptedLLM(["first", "second"])
    await wrapped(llm, cache).complete(PROMPT)
    assert (await wrapped(llm, cache).complete(Prompt("read", messages))).text == "second"


async def test_the_same_messages_under_another_name_are_the_same_call(cache):
    llm = ScriptedLLM(["first", "second"])
    await wrapped(llm, cache).complete(PROMPT)
    assert (await wrapped(llm, cache).complete(Prompt("recall", PROMPT.messages))).text == "first"


# ── the other ports ──────────────────────────────────────────────────────────────────────────────────────


async def test_the_trace_says_what_was_sought_and_found(trace):
    passages = [Passage(name, "x", source="a.md", start=3, end=4, heading="Gates") for name in ("p1", "p2")]
    retriever = wrap_retriever(ListRetriever(passages), name="hybrid")
    query = Query((Probe("Who?"), Probe("Bob", -0.5, "negative")), (Condition("year", "in", (2020, 2021)),))
    hits = await retriever.search(query, 5)
    assert [hit.passage.id for hit in hits] == ["p1", "p2"]
    (event,) = trace.events
    where = {"title": "", "source": "a.md", "heading": "Gates", "page": 0, "start": 3, "end": 4}
    found = where | {"scale": "similarity", "by": "list", "parts": []}
    assert (event.kind, event.name) == ("call", "hybrid")
    assert event.fields == {
        "port": "retriever",
        "k": 5,
        "probes": [
            {"text": "Who?", "weight": 1.0, "role": "main"},
            {"text": "Bob", "weight": -0.5, "role": "negative"},
        ],
        "where": [{"field": "year", "comparison": "in", "value": [2020, 2021]}],
        "hits": [
            found | {"passage": "p1", "rank": 1, "score": 1.0},
            found | {"passage": "p2", "rank": 2, "score": 0.5},
        ],
    }


async def test_the_trace_says_how_each_passage_was_scored(trace):
    scorer = wrap_scorer(FixedScorer({"p1": Probability(0.25, "critic")}), name="evidence critic")
    assert await scorer.score("Who?", Passage("p1", "x")) == Probability(0.25, "critic")
    (event,) = trace.events
    assert event.name == "evidence critic"
    assert event.fields == {
        "port": "scorer",
        "query": "Who?",
        "passage": "p1",
        "score": 0.25,
        "scale": "probability",
        "by": "critic",
    }


async def test_the_trace_says_what_was_embedded_but_holds_no_vector(trace):
    class Embedder:
        async def embed(self, text, role):
            return HashEncoder().encode([text], role)[0]

    vector = await wrap_embedder(Embedder(), name="hash").embed("Who?", "query")
    assert vector.shape == (256,)
    (event,) = trace.events
    assert (event.name, event.fields) == ("hash", {"port": "embedder", "text": "Who?", "role": "query"})


async def test_every_port_is_tried_again():
    class Flaky:
        def __init__(self):
            self.calls = 0

        def _fail_once(self):
            self.calls += 1
            if self.calls == 1:
                raise BUSY

        async def search(self, query, k):
            self._fail_once()
            return ()

        async def score(self, query, passage):
            self._fail_once()
            return Probability(0.5)

        async def embed(self, text, role):
            self._fail_once()
            return HashEncoder().encode([text], role)[0]

    retriever, scorer, embedder = Flaky(), Flaky(), Flaky()
    await wrap_retriever(retriever, name="r", patience=AT_ONCE).search(Query.of("Who?"), 1)
    await wrap_scorer(scorer, name="s", patience=AT_ONCE).score("Who?", Passage("p1", "x"))
    await wrap_embedder(embedder, name="e", patience=AT_ONCE).embed("Who?", "query")
    assert [port.calls for port in (retriever, scorer, embedder)] == [2, 2, 2]
