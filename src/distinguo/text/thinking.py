"""Thinking blocks of reasoning models, told apart from the reply."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

from distinguo.text.json_reply import STRING

_TAG: Final = re.compile(r"<(?P<closing>/?)think(?:ing)?\s*+>", re.IGNORECASE)
_TAG_OR_STRING: Final = re.compile(rf"{_TAG.pattern}|[{{\[:,]\s*+{STRING}", re.IGNORECASE | re.DOTALL)


@final
class Stripped(NamedTuple):
    """A reply without its thinking.

    Attributes:
        text: what stood outside the blocks; unchanged if there were none, else without surrounding space.
        thinking: what stood inside them, tags apart.
        is_closed: whether every block ended; if not, the reply was cut while the model still thought.
    """

    text: str
    thinking: str
    is_closed: bool


def strip_thinking(text: str) -> Stripped:
    """Take ``<think>`` and ``<thinking>`` blocks, in any case and nested, out of `text`.

    A closing tag that nothing opened ends a block that began before the reply: chat templates of some models
    put the opening tag into the prompt. All that stood before it is thinking.
    A tag in a string of a JSON reply is part of the answer, and stays.
    """
    outside: list[str] = []
    inside: list[str] = []
    depth = start = at = 0
    while found := (_TAG if depth else _TAG_OR_STRING).search(text, at):
        at, closing = found.end(), found["closing"]
        if closing is None:  # a string
            continue
        (inside if depth else outside).append(text[start : found.start()])
        start = at
        if not closing:
            depth += 1
        elif depth:
            depth -= 1
        else:
            inside += outside
            outside.clear()
    if not start:
        return Stripped(text, "", is_closed=True)
    (inside if depth else outside).append(text[start:])
    thinking = "\n".join(piece.strip() for piece in inside if piece.strip())
    return Stripped("".join(outside).strip(), thinking, is_closed=not depth)
