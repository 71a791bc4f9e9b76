"""Suppose an answer and its most plausible mimic."""

from __future__ import annotations

from dataclasses import replace

from distinguo.errors import ParseError
from distinguo.prompts.hypothesising import (
    ONE_SCHEMA,
    PAIR_SCHEMA,
    Hypotheses,
    hypotheses,
    mimic,
    read_hypotheses,
    read_hypothesis,
    target,
)
from distinguo.protocols import LLM
from distinguo.records import GREEDY, Question
from distinguo.stages.ask import ask
from distinguo.stages.search import tell_other_script
from distinguo.text.sameness import essence
from distinguo.trace import note


async def hypothesise(llm: LLM, question: Question, *, with_options: bool = False) -> Hypotheses:
    """H⁺ and H⁻ of `question` (CHR, Fig. 2); `mimic` is empty where there is none that differs.

    One call writes both. Where its reply cannot be read, a call for each does, and the trace says so. It says
    too why a mimic is dropped: it is missing, or says the words of the target and would cancel it.
    Options are hidden unless `with_options`: a search has none.

    Raises:
        ParseError: not even a target can be read.
    """
    sampling = replace(GREEDY, schema=PAIR_SCHEMA)
    completion = await llm.complete(hypotheses(question, with_options=with_options), sampling)
    try:
        pair = read_hypotheses(completion.text)
    except ParseError as error:
        note("hypotheses asked for one by one", problem=str(error))
        pair = await _one_by_one(llm, question, with_options=with_options)
    note("hypotheses", target=pair.target, mimic=pair.mimic)
    tell_other_script(question.text, pair.target)
    flaw = _flaw(pair)
    if not flaw:
        return pair
    note("mimic dropped", reason=flaw)
    return Hypotheses(pair.target)


async def _one_by_one(llm: LLM, question: Question, *, with_options: bool) -> Hypotheses:
    first = await ask(llm, target(question, with_options=with_options), read_hypothesis, schema=ONE_SCHEMA)
    try:
        other = await ask(
            llm, mimic(question, first, with_options=with_options), read_hypothesis, schema=ONE_SCHEMA
        )
    except ParseError:  # `ask` has noted what was wrong; a target alone is still a query
        return Hypotheses(first)
    return Hypotheses(first, other)


def _flaw(pair: Hypotheses) -> str:
    if not pair.mimic:
        return "it is missing"
    return "it says the words of the target" if essence(pair.mimic) == essence(pair.target) else ""
