"""Fence untrusted text, so that it can neither end its own fence nor open another."""

from __future__ import annotations

import re
from html import escape


def delimit(tag: str, text: str, **attributes: str | int) -> str:
    """`text` between ``<tag …>`` and ``</tag>``.

    A look-alike of the tag inside `text` loses its ``<`` to ``‹``; nothing else is changed, so that
    quotations from the text stay exact.
    """
    harmless = re.sub(rf"<(?=\s*/?\s*{re.escape(tag)}\b)", "‹", text, flags=re.IGNORECASE)
    named = "".join(f' {name}="{escape(str(value), quote=True)}"' for name, value in attributes.items())
    return f"<{tag}{named}>\n{harmless}\n</{tag}>"
