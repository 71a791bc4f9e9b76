"""Ask a model for a reply of a known form, with one repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from distinguo.errors import ParseError
from distinguo.prompts.repair import repair
from distinguo.protocols import LLM
from distinguo.records import GREEDY, Completion, Prompt, Sampling
from distinguo.trace import note

Value = TypeVar("Value")


async def ask(
    llm: LLM,
    prompt: Prompt,
    read: Callable[[str], Value],
    *,
    schema: str = "",
    sampling: Sampling = GREEDY,
) -> Value:
    """What `read` makes of the reply to `prompt`: an object of `schema`, or plain text where that is empty.

    An unreadable reply is shown to the model once more (prompt ``…_repair``); if that cannot be read either,
    the `ParseError` of the second reply is raised, and the question ends as *unreadable*. Caches keep such
    replies too, for they cannot read them; the error says where a reply came from one.
    """
    wanted = replace(sampling, schema=schema)
    completion = await llm.complete(prompt, wanted)
    try:
        return _read(completion, read)
    except ParseError as error:
        note("unreadable reply", prompt=prompt.name, problem=str(error))
        form = "the JSON object alone" if schema else "all that was asked for"
        again = repair(prompt, completion.text, str(error), form=form)
    completion = await llm.complete(again, wanted)
    try:
        return _read(completion, read)
    except ParseError as error:
        if not completion.usage.is_cached:
            raise
        advice = "this reply was kept from an earlier call; `distinguo cache clear` forgets all kept replies"
        raise ParseError(f"{error}; {advice}", raw=error.raw) from error


def _read(completion: Completion, read: Callable[[str], Value]) -> Value:
    try:
        return read(completion.text)
    except ParseError as error:
        if not completion.is_truncated:
            raise
        raise ParseError(f"the reply was cut by the token limit; {error}", raw=completion.text) from error
