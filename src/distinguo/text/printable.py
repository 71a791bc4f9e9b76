"""Make foreign text safe to show: no character of it steers a terminal or turns a line around."""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)
"""Controls but tab and line breaks, overrides of the writing direction, and halves of surrogate pairs."""


def printable(text: str) -> str:
    """`text` with a visible sign in place of every unsafe character: ``␛`` for escape, ``<U+202E>``."""
    return _UNSAFE.sub(lambda found: _sign(ord(found[0])), text)


def printable_json(text: str) -> str:
    """The same JSON, its unsafe characters written as escapes; in JSON they stand only inside strings."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _sign(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
