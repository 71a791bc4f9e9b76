"""HyDE as its paper says: the mean of the question's vector and those of eight passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from distinguo.backends.index.index import Index
from distinguo.backends.index.retrievers import Dense
from distinguo.errors import ConfigError
from distinguo.indexing.build import Recipe
from distinguo.methods.baselines.hyde import Hyde
from distinguo.records import Document, Probe, Query, Question, Role
from distinguo.stages.search import search
from distinguo.testing import HashEncoder, ListRetriever, ScriptedLLM, WordTokeniser
from doubles.indexed import put

if TYPE_CHECKING:
    from distinguo.protocols import Vector

QUESTION = Question("q", "when does the north gate open")
ENCODER = HashEncoder(512)
TEXTS = {
    "seven": "the gate opens at seven",
    "ferry": "the ferry leaves at noon",
    "north": "north of the river lies the fort",
}


class Embedder:
    async def embed(self, text: str, role: Role) -> Vector:
        return ENCODER.encode([text], role)[0]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    recipe = Recipe(ENCODER, WordTokeniser())
    with Index.make(tmp_path / "index", recipe.fingerprint) as index:
        put(index, (Document(id_, text) for id_, text in TEXTS.items()), recipe)
        yield index


def numbered() -> ScriptedLLM:
    return ScriptedLLM(lambda _, sampling: f"passage {sampling.seed}")


async def test_the_query_is_the_question_and_eight_passages_of_equal_weight() -> None:
    retriever, writer = ListRetriever([]), numbered()
    await Hyde(ScriptedLLM([]), writer, retriever).find(QUESTION)
    passages = [Probe(f"passage {seed}", 1.0, "expansion") for seed in range(8)]
    assert retriever.queries == [Query((Probe(QUESTION.text), *passages))]
    assert [sampling.seed for sampling in writer.samplings] == list(range(8))
    assert {(sampling.temperature, sampling.max_tokens) for sampling in writer.samplings} == {(0.7, 128)}


async def test_the_form_of_libraries_is_one_greedy_passage_alone() -> None:
    retriever, writer = ListRetriever([]), numbered()
    hyde = Hyde(ScriptedLLM([]), writer, retriever, passages=1, includes_question=False, tokens=512)
    await hyde.find(QUESTION)
    assert retriever.queries == [Query((Probe("passage 0", 1.0, "expansion"),))]
    assert [(sampling.temperature, sampling.max_tokens) for sampling in writer.samplings] == [(0.0, 512)]


async def test_passages_are_ranked_by_the_mean_vector(index: Index) -> None:
    written = ["it opens at seven", "seven", "north at noon"]
    writer = ScriptedLLM(lambda _, sampling: written[sampling.seed])
    found = await Hyde(ScriptedLLM([]), writer, Dense(index, Embedder()), passages=3).find(QUESTION)
    mean = np.mean(ENCODER.encode([QUESTION.text, *written], "query"), axis=0)
    similarity = {id_: float(mean @ ENCODER.encode([text], "passage")[0]) for id_, text in TEXTS.items()}
    assert {item.passage.document: item.score.value / 4 for item in found} == pytest.approx(similarity)
    assert [item.passage.document for item in found] == sorted(TEXTS, key=lambda id_: -similarity[id_])


async def test_one_passage_without_the_question_is_a_search_for_it(index: Index) -> None:
    dense = Dense(index, Embedder())
    hyde = Hyde(
        ScriptedLLM([]), ScriptedLLM("the gate opens"), dense, passages=1, includes_question=False, k=2
    )
    assert await hyde.find(QUESTION) == await search(dense, Query.of("the gate opens"), 2)


@pytest.mark.parametrize("name", ["passages", "tokens", "k"])
def test_numbers_out_of_range_are_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' is 0; expected 1 or more"):
        replace(Hyde(ScriptedLLM([]), ScriptedLLM([]), ListRetriever([])), **{name: 0})
