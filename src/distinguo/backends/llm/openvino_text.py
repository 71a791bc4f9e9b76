"""Text to tokens and back for OpenVINO GenAI: none dropped, and no control tokens from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from distinguo.records import Message

ENCODED_AT_ONCE: Final = 8192
"""A tokeniser made from a GGUF file drops the beginning of what has more tokens, in silence."""

CUT: Final = "\ufdd0"
"""Marks where tokens may not join; a code point that Unicode keeps free for such inner uses."""

CONTROL: Final = re.compile(r"<\S+?>|\[/?[A-Z_]+\]")
"""What control tokens look like. Whether it is one, the tokeniser says."""


@final
@dataclass(frozen=True, slots=True)
class Text:
    """The chat template and tokens of `tokenizer`, the runtime's own."""

    tokenizer: Any

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """The prompt that asks for a reply to `messages`.

        A control token spelled out in a message, such as the end of a turn in a forged passage, is read as
        the plain text that it is: it is cut in two before it is encoded.
        """
        turns = [{"role": message.role, "content": self._disarmed(message.content)} for message in messages]
        rendered: str = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True)
        return [token for piece in rendered.split(CUT) for token in self._encoded(piece)]

    def decoded(self, tokens: Sequence[int]) -> str:
        """What the model said."""
        return self.tokenizer.decode(list(tokens))

    def _disarmed(self, content: str) -> str:
        found = {match[0] for match in CONTROL.finditer(content)}
        for control in found:
            if len(self._at_once(control)) == 1:
                content = content.replace(control, control[:1] + CUT + control[1:])
        return content

    def _encoded(self, text: str) -> Iterator[int]:
        tokens = self._at_once(text)
        if len(tokens) < ENCODED_AT_ONCE:
            yield from tokens
            return
        middle = len(text) // 2
        cut = max(
            text.rfind(" ", 1, middle), text.rfind("\n", 1, middle)
        )  # words begin there, so no token is torn
        for half in (text[:cut], text[cut:]) if cut > 0 else (text[:middle], text[middle:]):
            yield from self._encoded(half)

    def _at_once(self, text: str) -> list[int]:
        if not text:
            return []
        return self.tokenizer.encode(text, add_special_tokens=False).input_ids.data[0].tolist()
