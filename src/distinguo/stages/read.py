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
from distinguo.protocols import LLM
from distinguo.records import Abstention, Answer, Evidence, Hit, Outcome, Question
from distinguo.stages.ask import ask
from distinguo.trace import note


async def read(llm: LLM, question: Question, evidence: Sequence[Evidence | Hit]) -> Outcome:
    """Answer `question` from `evidence` alone, with citations; abstain where the model says it cannot.

    Citations of passages that were not shown are dropped and noted. An answer that is left without any
    citation becomes an abstention: nobody could check it.
    """
    shown = tuple(Evidence(item.passage, item.score) for item in evidence)
    prompt = from_passages(question, [item.passage for item in shown])
    reply = await ask(llm, prompt, read_from_passages, schema=FROM_PASSAGES_SCHEMA)
    if not reply.answer:
        return Abstention.because("the passages do not state the answer", shown)
    cited = dict.fromkeys(number for number in reply.citations if 1 <= number <= len(shown))
    invented = sorted(set(reply.citations) - set(cited))
    if invented:
        note("citations of passages that were not shown", numbers=list(invented), shown=len(shown))
    if not cited:
        note("answer without a citation", answer=reply.answer)
        return Abstention.because("the answer cites none of the passages", shown)
    return Answer(reply.answer, tuple(shown[number - 1].passage.id for number in cited), shown)


async def recall(llm: LLM, question: Question) -> Outcome:
    """Answer `question` from the model's own knowledge; there is nothing to cite."""
    reply = await ask(llm, closed_book(question), read_closed_book, schema=CLOSED_BOOK_SCHEMA)
    return Answer(reply.answer) if reply.answer else Abstention.because("the model does not know")
