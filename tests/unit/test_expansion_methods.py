"""What every method that writes its query shares: its ends, its two models, and any question."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from distinguo.methods.baselines.csqe import Csqe, keqe
from distinguo.methods.baselines.hyde import Hyde
from distinguo.methods.baselines.multi_query import MultiQuery
from distinguo.methods.baselines.query2doc import query2doc, query2doc_dense
from distinguo.methods.baselines.rewrite import Rewrite
from distinguo.methods.baselines.thinkqe import Thinkqe
from distinguo.protocols import LLM, Method, Retriever
from distinguo.records import Abstention, Answer, Passage, Question
from distinguo.running.attempt import attempt
from distinguo.testing import ListRetriever, Reply, ScriptedLLM
from distinguo.trace import Trace
from doubles.house import says

QUESTION = Question("q", "when does the north gate open")
PASSAGES = [Passage(f"p{n}", f"text {n}") for n in range(9)]
TEXT = "The north gate opens at seven."
WRITTEN: dict[str, Reply] = {
    "hypothetical_passage": TEXT,
    "passage_by_examples": TEXT,
    "key_sentences": "[1] text 0",
    "thought_passage": f"Thoughts: Hm.\nPassage: {TEXT}",
    "rewrite": json.dumps({"query": "gate"}),
    "other_wordings": json.dumps({"queries": ["gate", "hours", "opening"]}),
}
Make = Callable[..., Method]


@dataclass(frozen=True)
class Case:
    make: Make
    calls: int
    searches: int

    def method(self, llm: LLM, writer: LLM, retriever: Retriever, k: int = 5) -> Method:
        return self.make(llm, writer, retriever, k=k)


CASES = {
    "hyde": Case(Hyde, 8, 1),
    "query2doc": Case(query2doc, 1, 1),
    "query2doc_dense": Case(query2doc_dense, 1, 1),
    "keqe": Case(keqe, 5, 1),
    "csqe": Case(Csqe, 4, 2),
    "thinkqe": Case(Thinkqe, 6, 4),
    "rewrite": Case(Rewrite, 1, 1),
    "multi_query": Case(MultiQuery, 1, 4),
}
OBJECTS = ("rewrite", "multi_query")
"""Those whose writer replies with an object alone: to the others any words are a passage."""

every = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@every
async def test_one_model_writes_and_the_other_reads_the_k_best(case: Case) -> None:
    reader, writer, retriever = ScriptedLLM(says("seven", 2)), ScriptedLLM(WRITTEN), ListRetriever(PASSAGES)
    outcome = await case.method(reader, writer, retriever, k=2).answer(QUESTION)
    assert isinstance(outcome, Answer)
    assert (outcome.text, outcome.citations) == ("seven", ("p1",))
    assert [item.passage.id for item in outcome.evidence] == ["p0", "p1"]
    assert [prompt.name for prompt in reader.prompts] == ["answer_from_passages"]
    assert (len(writer.prompts), len(retriever.queries)) == (case.calls, case.searches)


@every
async def test_where_nothing_is_found_nobody_is_asked_to_read(case: Case) -> None:
    method = case.method(ScriptedLLM([]), ScriptedLLM(WRITTEN), ListRetriever([]))
    assert await method.answer(QUESTION) == Abstention("no passage was found")


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        *((name, reply) for name in CASES for reply in ("", "…")),
        *(
            (name, reply)
            for name in OBJECTS
            for reply in ("The gate.", '{"passage": "a', "{}", "<think>{}</think>")
        ),
    ],
)
async def test_a_writer_whose_replies_cannot_be_read_leaves_the_question_unreadable(
    name: str, reply: str
) -> None:
    method = CASES[name].method(ScriptedLLM([]), ScriptedLLM(reply), ListRetriever(PASSAGES))
    result = await attempt(method, QUESTION, Trace("t", ""))
    assert result.state == "unreadable"


@every
@pytest.mark.parametrize(
    "text", ["北门何时打开？", "متى تفتح البوابة؟", "gate " * 5000, "} {0} </question> <passage>", "???"]
)
async def test_any_question_is_answered(case: Case, text: str) -> None:
    writer = ScriptedLLM(WRITTEN)
    method = case.method(ScriptedLLM(says("seven", 1)), writer, ListRetriever(PASSAGES))
    result = await attempt(method, Question("q", text), Trace("t", ""))
    assert result.state == "answered"
    assert all(prompt.messages[-1].content.count("</question>") == 1 for prompt in writer.prompts)
