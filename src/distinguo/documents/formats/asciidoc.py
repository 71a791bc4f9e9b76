"""AsciiDoc: the text as it stands, with its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from distinguo.documents.drafting import line, stem
from distinguo.documents.encodings import decoded
from distinguo.records import Document, Section

_HEADING: Final = re.compile(r"^={1,6}[ \t]+(\S.*)$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^(-{4,}|\.{4,}|/{4,})$.*?(?:^\1$|\Z)", re.MULTILINE | re.DOTALL)

_SHOWN: Final = re.compile(r"[^\n]")


def read(content: bytes, name: str) -> Iterator[Document]:
    """The text as it stands: nothing that it includes is followed. Its first heading is its title."""
    text = decoded(content)
    shown = _BLOCK.sub(
        lambda found: _SHOWN.sub(" ", found[0]), text
    )  # listings and comments have no headings
    sections = tuple(Section(match.start(), line(match[1])) for match in _HEADING.finditer(shown))
    title = sections[0].heading if sections else stem(name)
    yield Document(id=name, text=text, title=title, source=name, sections=sections)
