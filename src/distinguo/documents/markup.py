"""Writes a tree of markup as blocks of text: paragraphs, headings, list items and rows of tables."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from distinguo.documents.drafting import Draft

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] # lxml has no other name for it

    Step = tuple[Literal["open", "close", "text"], Element, str]

POWER: Final = re.compile(r"[-+−–]?\d+")
"""What is a power where it stands raised above a number."""
_SPACES: Final = re.compile(r"\s+")


@final
@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the elements of a kind of markup are; those that no field names are blocks.

    Attributes:
        headings: begin a section.
        inline: lie within a line of text.
        dropped: are left out with all that they hold.
        rows, cells: make tables.
        items: of lists.
        breaks: end a line.
        verbatim: keep their white space.
        is_inline_by_place: what stands amid text lies within its line, unless a field names it.
        blocks: are never within a line, wherever they stand.
    """

    headings: frozenset[str]
    dropped: frozenset[str]
    inline: frozenset[str] = frozenset()
    rows: frozenset[str] = frozenset({"tr", "row"})
    cells: frozenset[str] = frozenset({"td", "th", "cell", "entry"})
    items: frozenset[str] = frozenset({"li", "item", "list-item", "listitem"})
    breaks: frozenset[str] = frozenset({"br", "lb", "break"})
    verbatim: frozenset[str] = frozenset({"pre", "code", "programlisting", "screen", "preformat"})
    is_inline_by_place: bool = False
    blocks: frozenset[str] = frozenset({"p", "list", "quote", "disp-quote", "table", "fig", "sec", "section"})

    @property
    def never_inline(self) -> frozenset[str]:
        """What ends a line of text wherever it stands."""
        named = self.headings | self.rows | self.cells | self.items | self.breaks
        return named | self.blocks if self.is_inline_by_place else named


def raise_powers(root: Element) -> None:
    """Write the numbers that stand above another as powers, "10^7": in a line of text they would be "107"."""
    for element in root.iter():
        if local(element) in {"sup", "superscript"} and POWER.fullmatch("".join(element.itertext()).strip()):
            parent, before = element.getparent(), element.getprevious()
            text = (before.tail if before is not None else parent.text if parent is not None else "") or ""
            if text[-1:].isdigit():
                element.text = f"^{element.text or ''}"


def local(element: Element) -> str:
    """The name of `element` without its namespace; "" for what is no element."""
    tag: object = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def write(draft: Draft, root: Element, vocabulary: Vocabulary) -> None:
    """Write all that `root` shows. Raises `DataError` if that is too long."""
    _Writer(draft, vocabulary).write(root)


@final
class _Writer:
    """Gathers text until a block begins or ends; in a row of a table, until a cell ends."""

    def __init__(self, draft: Draft, words: Vocabulary) -> None:
        self._draft, self._words = draft, words
        self._line: list[str] = []
        self._row: list[str] | None = None
        self._verbatim = 0
        self._mark = ""

    def write(self, root: Element) -> None:
        for kind, element, text in _steps(root, self._words):
            match kind:
                case "text":
                    self._line.append(text if self._verbatim else _SPACES.sub(" ", text))
                case "open":
                    self._open(element)
                case "close":
                    self._close(local(element))
        self._end()

    def _open(self, element: Element) -> None:
        name = local(element)
        if name in self._words.breaks:
            return
        self._end()
        self._verbatim += name in self._words.verbatim
        if name in self._words.items:
            self._mark = "- "
        if self._is_row(element):
            self._row = []

    def _close(self, name: str) -> None:
        words = self._words
        if name in words.breaks:
            self._line.append("\n")
        elif self._row is not None and name in words.cells:
            self._row.append(self._taken())
        elif self._row is not None and name in words.rows:
            cells, self._row = [*self._row, self._taken()], None
            if any(cells):
                self._draft.write(f"| {' | '.join(filter(None, cells))} |", "\n")
        elif self._row is None and name in words.headings:
            self._draft.head(self._taken())
        else:
            self._end()
        self._verbatim -= name in words.verbatim

    def _is_row(self, element: Element) -> bool:
        """Whether `element` is a row of data; rows that hold rows or headings lay out a page."""
        words = self._words
        return local(element) in words.rows and not any(
            local(each) in words.rows or local(each) in words.headings for each in element.iterdescendants()
        )

    def _end(self) -> None:
        if self._row is not None:
            self._line.append(" ")
        elif text := self._taken():
            self._draft.write(f"{self._mark}{text}", "\n" if self._mark else "\n\n")
            self._mark = ""

    def _taken(self) -> str:
        text, self._line = "".join(self._line), []
        if self._row is not None:
            return _SPACES.sub(" ", text).strip()
        if self._verbatim:
            return text.strip("\n")
        return "\n".join(_SPACES.sub(" ", each).strip() for each in text.strip().split("\n"))


def _steps(root: Element, words: Vocabulary) -> Iterator[Step]:
    """The tree in order, by a stack, so that no depth exhausts it; what is inline shows only its text."""
    never_inline = words.never_inline
    yield "open", root, ""
    yield "text", root, root.text or ""
    path = [(root, iter(root), words.is_inline_by_place and _has_text(root), False)]
    while path:
        parent, children, has_text, is_inline = path[-1]
        child = next(children, None)
        if child is None:
            path.pop()
            if not is_inline:
                yield "close", parent, ""
            if path:
                yield "text", parent, parent.tail or ""
        elif not (name := local(child)) or name in words.dropped:
            yield "text", parent, (_entity(child) if not name else "") + (child.tail or "")
        else:
            is_inline = name in words.inline or (has_text and name not in never_inline)
            if not is_inline:
                yield "open", child, ""
            yield "text", child, child.text or ""
            path.append((child, iter(child), words.is_inline_by_place and _has_text(child), is_inline))


def _entity(node: Element) -> str:
    text = node.text or ""
    return html.unescape(text) if text.startswith("&") else ""


def _has_text(element: Element) -> bool:
    texts = (element.text, *(child.tail for child in element))
    return any(text and not text.isspace() for text in texts)
