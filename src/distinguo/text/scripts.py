"""Tells in which scripts a text is written."""

from __future__ import annotations

import unicodedata


def scripts(text: str) -> frozenset[str]:
    """The first words of its letters' Unicode names: LATIN, ARABIC, CJK and others; none without letters."""
    return frozenset(unicodedata.name(letter, "?").partition(" ")[0] for letter in text if letter.isalpha())
