"""Writes a text block by block, noting where its headings and pages begin."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final, final

from distinguo.documents.encodings import clean
from distinguo.errors import DataError
from distinguo.records import Document, Section

LONGEST: Final = 100_000_000
"""Most characters of one document."""
_SPACES: Final = re.compile(r"\s+")


def line(text: str) -> str:
    """`text` on one line, its runs of white space made one space each."""
    return _SPACES.sub(" ", clean(text)).strip()


def stem(name: str) -> str:
    """A file's name without folder and suffix: its title, where it gives none."""
    return PurePosixPath(name).stem


@final
class Draft:
    """A text that grows; what is written before the first heading or page lies in no section."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._heading, self._page = "", 0
        self._sections: list[Section] = []

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings so far."""
        return tuple(section.heading for section in self._sections if section.heading)

    def write(self, block: str, gap: str = "\n\n") -> None:
        """Add `block`, trimmed, after `gap`. Raises `DataError` if the text grows too long."""
        block = clean(block).strip("\n").rstrip()
        if not block.strip():
            return
        self._length += len(gap if self._parts else "") + len(block)
        if self._length > LONGEST:
            raise DataError(f"longer than {LONGEST:,} characters; split it")
        self._parts.append(f"{gap if self._parts else ''}{block}")

    def head(self, heading: str) -> None:
        """Begin a section under `heading`, and write it."""
        if heading := line(heading):
            self.under(heading)
            self.write(heading)

    def under(self, heading: str) -> None:
        """Begin a section under `heading`."""
        self._heading = heading
        self._begin()

    def turn(self, page: int) -> None:
        """Begin `page`, counted from 1, under the heading of the one before it."""
        self._page = page
        self._begin()

    def document(self, name: str, title: str = "") -> Document:
        """What was written, under `title` or else the stem of `name`."""
        return Document(
            id=name,
            text="".join(self._parts),
            title=line(title) or stem(name),
            source=name,
            sections=tuple(section for section in self._sections if section.start < self._length),
        )

    def _begin(self) -> None:
        start = self._length + (len("\n\n") if self._parts else 0)
        if self._sections and self._sections[-1].start == start:
            self._sections.pop()
        self._sections.append(Section(start, self._heading, self._page))
