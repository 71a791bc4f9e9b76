"""Closed book and vanilla RAG, as their algorithm boxes say."""

import pytest

from distinguo.errors import ConfigError
from distinguo.methods.baselines.closed_book import ClosedBook
from distinguo.methods.baselines.vanilla import Vanilla
from distinguo.records import Abstention, Answer, Passage, Query, Question
from distinguo.testing import ListRetriever, ScriptedLLM
from doubles.house import says

QUESTION = Question("q", "Where is the gate?")


async def test_closed_book_searches_nothing_and_cites_nothing() -> None:
    llm = ScriptedLLM(['{"answer": "north"}'])
    assert await ClosedBook(llm).answer(QUESTION) == Answer("north")
    assert "passage" not in llm.prompts[0].messages[1].content


async def test_vanilla_reads_the_top_k_in_rank_order() -> None:
    passages = [Passage(f"p{n}", f"text {n}") for n in range(5)]
    llm = ScriptedLLM([says("north", 3)])
    outcome = await Vanilla(llm, ListRetriever(passages), k=3).answer(QUESTION)
    assert isinstance(outcome, Answer)
    assert outcome.citations == ("p2",)
    assert [item.passage.id for item in outcome.evidence] == ["p0", "p1", "p2"]


async def test_vanilla_asks_no_model_when_nothing_is_found() -> None:
    llm = ScriptedLLM([])
    assert await Vanilla(llm, ListRetriever([])).answer(QUESTION) == Abstention("no passage was found")
    assert not llm.prompts


def test_vanilla_needs_at_least_one_passage() -> None:
    with pytest.raises(ConfigError, match="'k' is 0; expected 1 or more"):
        Vanilla(ScriptedLLM([]), ListRetriever([]), k=0)


async def test_vanilla_searches_with_the_question_as_it_is() -> None:
    seen: list[tuple[Query, int]] = []

    class Spy:
        async def search(self, query: Query, k: int) -> tuple[()]:
            seen.append((query, k))
            return ()

    await Vanilla(ScriptedLLM([]), Spy(), k=7).answer(QUESTION)
    assert seen == [(Query.of("Where is the gate?"), 7)]
