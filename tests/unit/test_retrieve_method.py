"""Retrieval alone is a method: evidence without an answer, and no model."""

import pytest

from distinguo.errors import ConfigError
from distinguo.methods.baselines.retrieve import retrieve
from distinguo.records import Abstention, Answer, Evidence, Passage, Query, Question, Similarity
from distinguo.testing import ListRetriever

PASSAGES = [Passage(f"d{number}#1", "text", document=f"d{number}") for number in range(4)]


async def test_what_is_found_is_the_evidence_best_first() -> None:
    retriever = ListRetriever(PASSAGES)
    outcome = await retrieve(retriever, k=2).answer(Question("q", "which gate"))
    assert outcome == Answer(
        "",
        evidence=(
            Evidence(PASSAGES[0], Similarity(1.0, "list")),
            Evidence(PASSAGES[1], Similarity(0.5, "list")),
        ),
    )
    assert retriever.queries == [Query.of("which gate")]


async def test_nothing_found_is_an_abstention() -> None:
    outcome = await retrieve(ListRetriever([])).answer(Question("q", "which gate"))
    assert outcome == Abstention("no passage was found, or none was kept")


def test_at_least_one_passage() -> None:
    with pytest.raises(ConfigError, match="'k' is 0"):
        retrieve(ListRetriever(PASSAGES), k=0)
