"""Markdown: the text as it stands, with its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from distinguo.documents.drafting import line, stem
from distinguo.documents.encodings import decoded
from distinguo.records import Document, Section

_HEADING: Final = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(\S.*)$|^ {0,3}([^\s#>*+|-].*)\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE
)
_FENCED: Final = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_FRONT_MATTER: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SHOWN: Final = re.compile(r"[^\n]")
_EMBEDDED: Final = re.compile(r"data:[\w.+/-]+;base64,[A-Za-z0-9+/=]+")


def read(content: bytes, name: str) -> Iterator[Document]:
    """The text without embedded images; its first heading is its title."""
    text = _EMBEDDED.sub("", decoded(content))
    shown = text
    for hidden in (_FRONT_MATTER, _FENCED, _COMMENT):  # what looks like a heading there is none
        shown = hidden.sub(_blanked, shown)
    found = ((match.start(), _heading(match)) for match in _HEADING.finditer(shown))
    sections = tuple(Section(start, heading) for start, heading in found if heading)
    title = sections[0].heading if sections else stem(name)
    yield Document(id=name, text=text, title=title, source=name, sections=sections)


def _blanked(match: re.Match[str]) -> str:
    return _SHOWN.sub(" ", match[0])


def _heading(match: re.Match[str]) -> str:
    return line(_unclosed(match[1]) if match[1] else match[2])


def _unclosed(heading: str) -> str:
    """`heading` without the number signs that may close it; those of "C#" belong to the word."""
    bare = heading.rstrip().rstrip("#")
    return bare.strip() if not bare or bare[-1] in " \t" else heading.strip()
