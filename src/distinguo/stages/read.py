"""Read the answer off the evidence, or keep silent."""

from __future__ import annotations

from collections.abc import Sequence

from distinguo.prompts.answering import (
    CLOSED_BOOK_SCHEMA,
    FROM_PASSAGES_SCHEMA,
    closed_book,
    from_passages,
    read_closed_book,
    read_from_passages,
)
from distinguo.prompts.choosing import choose, choose_schema, read_choice
from distinguo.protocols import LLM
from distinguo.records import Abstention, Answer, Evidence, Outcome, Passage, Question
from distinguo.stages.ask import ask
from distinguo.trace import note


async def read(llm: LLM, question: Question, shown: Sequence[Evidence], *, difference: str = "") -> Outcome:
    """Answer `question` from what is `shown` alone, with citations; abstain where the model says it cannot.

    Citations of passages that were not shown are dropped and noted. An answer that is left without any
    citation becomes an abstention: nobody could check it. Of a question with options the best is chosen,
    as in an exam: the model's own knowledge counts too, and nothing is cited.

    Args:
        llm: the model that reads.
        question: what is asked.
        shown: the evidence, best first; none: there is nothing to read, and the outcome is an abstention.
        difference: what tells the question from a near one with another answer (RaCoT's Δ).
    """
    evidence = tuple(shown)
    if not evidence:
        return Abstention.because("no passage was found")
    passages = [item.passage for item in evidence]
    if question.choices:
        option = await _chosen(llm, question, passages, difference)
        return Answer(option, evidence=evidence)
    prompt = from_passages(question, passages, difference=difference)
    reply = await ask(llm, prompt, read_from_passages, schema=FROM_PASSAGES_SCHEMA)
    if not reply.answer:
        return Abstention.because("the passages do not state the answer", evidence)
    cited = dict.fromkeys(number for number in reply.citations if 1 <= number <= len(evidence))
    invented = sorted(set(reply.citations) - set(cited))
    if invented:
        note("citations of passages that were not shown", numbers=list(invented), shown=len(evidence))
    if not cited:
        note("answer without a citation", answer=reply.answer)
        return Abstention.because("the answer cites none of the passages", evidence)
    return Answer(reply.answer, tuple(evidence[number - 1].passage.id for number in cited), evidence)


async def recall(llm: LLM, question: Question) -> Outcome:
    """Answer `question` from the model's own knowledge; there is nothing to cite."""
    if question.choices:
        return Answer(await _chosen(llm, question, [], ""))
    reply = await ask(llm, closed_book(question), read_closed_book, schema=CLOSED_BOOK_SCHEMA)
    return Answer(reply.answer) if reply.answer else Abstention.because("the model does not know")


async def _chosen(llm: LLM, question: Question, passages: Sequence[Passage], difference: str) -> str:
    """The option that the model chooses, word for word."""
    return await ask(
        llm,
        choose(question, passages, difference=difference),
        lambda raw: read_choice(raw, question),
        schema=choose_schema(question),
    )
