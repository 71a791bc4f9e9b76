"""Fence untrusted text, so that it can neither end its own fence nor open another."""

from __future__ import annotations

import re
from html import escape
from typing import Final, Literal, get_args

Tag = Literal["passage", "question", "option", "options", "difference", "sentence", "near"]

# Possessive (`*+`): after a `<`, a run of blanks is read once, however long.
_LOOK_ALIKE: Final = re.compile(rf"<(?=\s*+/?+\s*+(?:{'|'.join(get_args(Tag))})\b)", re.IGNORECASE)


def delimit(tag: Tag, text: str, **attributes: str | int) -> str:
    """`text` between ``<tag …>`` and ``</tag>``.

    A look-alike of any tag inside `text` loses its ``<`` to ``‹``; nothing else is changed, so that
    quotations from the text stay exact.
    """
    named = "".join(f' {name}="{escape(str(value), quote=True)}"' for name, value in attributes.items())
    return f"<{tag}{named}>\n{_LOOK_ALIKE.sub('‹', text)}\n</{tag}>"
