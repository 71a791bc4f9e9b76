"""A question in four wordings, whose lists are fused by reciprocal rank."""

import json

import pytest

from distinguo.errors import ConfigError
from distinguo.methods.baselines.multi_query import MultiQuery
from distinguo.prompts.expanding import VARIANTS_SCHEMA
from distinguo.records import Hit, Passage, Query, Question, Sampling, Similarity
from distinguo.testing import ListRetriever, ScriptedLLM

QUESTION = Question("q", "when does the north gate open")


class Lists:
    """Finds other passages for each query."""

    def __init__(self, found: dict[str, str]) -> None:
        self.found = found

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        ids = self.found[query.probes[0].text][:k]
        return tuple(Hit(Passage(id_, id_), Similarity(1 / n), n) for n, id_ in enumerate(ids, 1))


def says(*queries: str) -> ScriptedLLM:
    return ScriptedLLM(json.dumps({"queries": queries}))


async def test_lists_of_all_wordings_are_fused_by_rank() -> None:
    retriever = Lists({QUESTION.text: "ab", "north gate": "bc", "gate hours": "bd", "opening": "ca"})
    writer = says("north gate", "gate hours", "opening")
    found = await MultiQuery(ScriptedLLM([]), writer, retriever, k=3).find(QUESTION)
    scores = {"b": 1 / 62 + 2 / 61, "a": 1 / 61 + 1 / 62, "c": 1 / 62 + 1 / 61}
    assert {item.passage.id: item.score.value for item in found} == pytest.approx(scores)
    assert [item.passage.id for item in found] == ["b", "a", "c"]  # ties by id
    assert {(item.score.scale, item.score.name) for item in found} == {("reciprocalrank", "fused")}


async def test_it_reads_no_more_than_k() -> None:
    retriever = Lists({QUESTION.text: "ab", "north gate": "bc"})
    found = await MultiQuery(ScriptedLLM([]), says("north gate"), retriever, k=1).find(QUESTION)
    assert [item.passage.id for item in found] == ["a"]


async def test_passages_of_the_same_words_are_one() -> None:
    class Copies:
        async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
            copy = "b" if query.probes[0].text == QUESTION.text else "a"
            texts = {copy: "The gate opens at seven.", query.probes[0].text: query.probes[0].text}
            return tuple(
                Hit(Passage(id_, text), Similarity(1 / n), n)
                for n, (id_, text) in enumerate(texts.items(), 1)
            )

    found = await MultiQuery(ScriptedLLM([]), says("north gate"), Copies(), k=5).find(QUESTION)
    assert [item.passage.id for item in found] == ["a", "north gate", QUESTION.text]
    assert found[0].score.value == pytest.approx(2 / 61)


async def test_wordings_of_the_same_words_are_searched_once() -> None:
    retriever, writer = ListRetriever([]), says("North gate?", "north  gate", f"{QUESTION.text}?")
    await MultiQuery(ScriptedLLM([]), writer, retriever).find(QUESTION)
    assert sorted(query.probes[0].text for query in retriever.queries) == ["north  gate", QUESTION.text]


async def test_of_many_wordings_three_are_taken_and_no_more_are_asked_for() -> None:
    retriever, writer = ListRetriever([]), says("a", "b", "c", "d", "e")
    await MultiQuery(ScriptedLLM([]), writer, retriever).find(QUESTION)
    assert {query.probes[0].text for query in retriever.queries} == {QUESTION.text, "a", "b", "c"}
    assert writer.samplings == [Sampling(schema=VARIANTS_SCHEMA)]
    assert json.loads(VARIANTS_SCHEMA)["properties"]["queries"]["maxItems"] == 3


def test_k_out_of_range_is_named() -> None:
    with pytest.raises(ConfigError, match="'k' is 0; expected 1 or more"):
        MultiQuery(ScriptedLLM([]), ScriptedLLM([]), ListRetriever([]), k=0)
