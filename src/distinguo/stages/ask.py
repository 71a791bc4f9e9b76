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
    schema: str,
    sampling: Sampling = GREEDY,
) -> Value:
    """What `read` makes of the reply to `prompt`.

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
        again = repair(prompt, completion.text, str(error))
    return _read_last(await llm.complete(again, wanted), read)


async def ask_once(
    llm: LLM, prompt: Prompt, read: Callable[[str], Value], *, sampling: Sampling = GREEDY
) -> Value:
    """What `read` makes of the reply to `prompt`, which is plain text: there is no form to repair.

    Raises `ParseError`.
    """
    return _read_last(await llm.complete(prompt, sampling), read)


def _read_last(completion: Completion, read: Callable[[str], Value]) -> Value:
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
