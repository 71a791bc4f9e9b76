"""Thinking blocks of reasoning models, told apart from the reply."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

_TAG: Final = re.compile(r"<(?P<closing>/?)think(?:ing)?\s*>", re.IGNORECASE)


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
    """
    outside: list[str] = []
    inside: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(text):
        piece, at = text[at : tag.start()], tag.end()
        (inside if depth else outside).append(piece)
        if not tag["closing"]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            inside, outside = [*inside, *outside], []
    if not at:
        return Stripped(text, "", is_closed=True)
    (inside if depth else outside).append(text[at:])
    thinking = "\n".join(piece.strip() for piece in inside if piece.strip())
    return Stripped("".join(outside).strip(), thinking, is_closed=not depth)
