"""The published fakes do what their names say."""

import asyncio
import doctest

import numpy as np
import pytest

from distinguo import testing
from distinguo.errors import BackendError, ConfigError
from distinguo.records import Completion, Logit, Message, Passage, Probability, Prompt, Query, Sampling, Usage
from distinguo.testing import FixedScorer, HashEncoder, ListRetriever, ScriptedLLM, WordTokeniser


def prompt(name="read", text="Who is it?"):
    return Prompt(name, (Message("user", text),))


def test_the_example_in_the_documentation_runs():
    outcome = doctest.testmod(testing)
    assert outcome.attempted > 0
    assert outcome.failed == 0


async def test_one_reply_for_everything():
    llm = ScriptedLLM("It is Ann.")
    for _ in range(2):
        assert await llm.complete(prompt()) == Completion("It is Ann.", usage=Usage(3, 3))


async def test_replies_in_order_and_then_no_more():
    llm = ScriptedLLM(["first", Completion("second", is_truncated=True)])
    assert (await llm.complete(prompt())).text == "first"
    assert (await llm.complete(prompt())).is_truncated
    with pytest.raises(AssertionError, match="has 2 replies; prompt 'read' asks for one more"):
        await llm.complete(prompt())


async def test_replies_by_prompt_name():
    llm = ScriptedLLM({"read": "Ann", "draft": "Bob"})
    assert (await llm.complete(prompt("draft"))).text == "Bob"
    assert (await llm.complete(prompt("read"))).text == "Ann"
    with pytest.raises(
        AssertionError, match=r"no reply for prompt 'judge'; the script has \['draft', 'read'\]"
    ):
        await llm.complete(prompt("judge"))


async def test_replies_by_a_function():
    llm = ScriptedLLM(lambda prompt, sampling: f"{prompt.name} {sampling.seed}")
    assert (await llm.complete(prompt(), Sampling(seed=7))).text == "read 7"


@pytest.mark.parametrize(
    "script", [BackendError("down"), [BackendError("down")], {"read": BackendError("down")}]
)
async def test_a_script_may_raise(script):
    with pytest.raises(BackendError, match="down"):
        await ScriptedLLM(script).complete(prompt())


async def test_a_scripted_model_remembers_what_it_was_asked():
    llm = ScriptedLLM("Ann")
    await asyncio.gather(llm.complete(prompt("read")), llm.complete(prompt("draft"), Sampling(seed=2)))
    assert [asked.name for asked in llm.prompts] == ["read", "draft"]
    assert [sampling.seed for sampling in llm.samplings] == [0, 2]


def test_texts_that_share_words_are_near():
    near, far = "the clinic opens at nine", "rivers carry sand to the sea"
    question, one, two = HashEncoder().encode(
        ["When does the clinic open? The clinic opens", near, far], "query"
    )
    assert float(question @ one) > float(question @ two) + 0.3


@pytest.mark.parametrize("text", ["", "  ", "?!", "国際標準化", "x " * 5000, "\ud800"])
def test_every_vector_has_length_one_and_is_always_the_same(text):
    encoder = HashEncoder(dimension=32)
    (vector,) = encoder.encode([text], "passage")
    assert (vector.shape, vector.dtype) == ((32,), np.float32)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)
    assert np.array_equal(vector, HashEncoder(dimension=32).encode([text], "query")[0])


def test_another_dimension_is_another_space():
    assert HashEncoder(32).fingerprint != HashEncoder(64).fingerprint


async def test_a_list_is_found_from_its_beginning():
    passages = [Passage(f"p{number}", "text") for number in range(3)]
    retriever = ListRetriever(passages)
    hits = await retriever.search(Query.of("Who?"), 2)
    assert [(hit.passage.id, hit.rank) for hit in hits] == [("p0", 1), ("p1", 2)]
    assert hits[0].score > hits[1].score
    assert len(await retriever.search(Query.of("Why?"), 10)) == 3
    assert retriever.queries == [Query.of("Who?"), Query.of("Why?")]
    with pytest.raises(ConfigError, match="k is 0"):
        await retriever.search(Query.of("Who?"), 0)


async def test_scores_come_from_the_table():
    scorer = FixedScorer({"p1": Probability(0.9)}, otherwise=Probability(0.1))
    assert await scorer.score("Who?", Passage("p1", "x")) == Probability(0.9)
    assert await scorer.score("Who?", Passage("p2", "x")) == Probability(0.1)
    assert scorer.asked == [("Who?", "p1"), ("Who?", "p2")]
    assert await FixedScorer({"p1": Logit(3.0)}).score("Who?", Passage("p1", "x")) == Logit(3.0)


def test_words_are_tokens():
    text = "It's 3 o'clock, Zoë — 标准化."
    words = [text[start:end] for start, end in WordTokeniser().spans(text)]
    assert words == ["It", "s", "3", "o", "clock", "Zoë", "标准化"]
    assert WordTokeniser().spans(" ") == []
