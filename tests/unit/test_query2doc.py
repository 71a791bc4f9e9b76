"""query2doc in both forms, as its paper says."""

import pytest

from distinguo.errors import ConfigError
from distinguo.methods.baselines.query2doc import query2doc, query2doc_dense
from distinguo.records import Probe, Query, Question, Sampling
from distinguo.testing import ListRetriever, ScriptedLLM

QUESTION = Question("q", "when does the north gate open")


async def test_the_sparse_form_weighs_the_question_five_times() -> None:
    retriever = ListRetriever([])
    await query2doc(ScriptedLLM([]), ScriptedLLM("It opens at seven."), retriever).find(QUESTION)
    probes = (Probe(QUESTION.text, 5.0), Probe("It opens at seven.", 1.0, "expansion"))
    assert retriever.queries == [Query(probes)]


async def test_the_dense_form_is_one_text() -> None:
    retriever = ListRetriever([])
    await query2doc_dense(ScriptedLLM([]), ScriptedLLM("It opens\nat seven."), retriever).find(QUESTION)
    assert retriever.queries == [Query.of("when does the north gate open [SEP] It opens at seven.")]


@pytest.mark.parametrize("make", [query2doc, query2doc_dense])
async def test_the_writer_is_asked_once_after_four_examples(make: type) -> None:
    writer = ScriptedLLM("It opens at seven.")
    await make(ScriptedLLM([]), writer, ListRetriever([])).find(QUESTION)
    (prompt,) = writer.prompts
    assert [message.role for message in prompt.messages] == ["system", *["user", "assistant"] * 4, "user"]
    assert prompt.messages[-1].content == f"<question>\n{QUESTION.text}\n</question>"
    assert writer.samplings == [Sampling(max_tokens=128)]


@pytest.mark.parametrize("name", ["tokens", "k"])
def test_numbers_out_of_range_are_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' is 0; expected 1 or more"):
        query2doc(ScriptedLLM([]), ScriptedLLM([]), ListRetriever([]), **{name: 0})
