"""reStructuredText: its text under the headings of its sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from distinguo.documents.drafting import Draft
from distinguo.documents.encodings import decoded
from distinguo.documents.markup import Vocabulary, write
from distinguo.errors import DataError
from distinguo.records import Document

if TYPE_CHECKING:
    from docutils import nodes

LARGEST: Final = 1_000_000
"""Most characters of a file: it is read by a slow parser."""
LONGEST: Final = 20_000
"""Most characters without a blank line: its time grows with the square of their number."""
_ROLE: Final = re.compile(r":[\w:+.-]+:`([^`<]*?)\s*(?:<[^`]*>)?`")
_BLANK: Final = re.compile(r"\n[ \t]*\n")
_DIRECTIVE: Final = re.compile(r"\.\.[ \t]+([\w:+.-]+)::")
_FOREIGN: Final = frozenset({"include", "raw", "toctree", "csv-table", "image", "figure", "literalinclude"})
_WORDS: Final = Vocabulary(
    headings=frozenset({"title", "subtitle"}),
    dropped=frozenset({"system_message", "comment", "target", "substitution_definition", "raw", "label"}),
    items=frozenset({"list_item"}),
    verbatim=frozenset({"literal_block", "math_block", "line_block"}),
    is_inline_by_place=True,
)


def read(content: bytes, name: str) -> Iterator[Document]:
    """The text; nothing that it includes is followed."""
    from lxml import etree

    text = decoded(content)
    if len(text) > LARGEST:
        raise DataError(f"reStructuredText of {len(text):,} characters; expected at most {LARGEST:,}")
    if any(len(block) > LONGEST for block in _BLANK.split(text)):
        raise DataError(f"more than {LONGEST:,} characters without a blank line")
    tree = _parsed(text)
    _mend(tree)
    draft = Draft()
    write(draft, etree.fromstring(tree.asdom().toxml().encode()), _WORDS)
    yield draft.document(name, next(iter(draft.headings), ""))


def _parsed(text: str) -> nodes.document:
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)  # reads no configuration file
    settings.file_insertion_enabled = settings.raw_enabled = False
    settings.report_level = settings.halt_level = 5
    settings.line_length_limit = LARGEST
    tree = new_document("", settings)
    Parser().parse(text, tree)
    return tree


def _mend(tree: nodes.document) -> None:
    """Bring back what only other tools understand: the text of their directives and roles."""
    from docutils import nodes

    for message in list(tree.findall(nodes.system_message)):
        for block in message.findall(nodes.literal_block):
            source = block.astext()
            named = _DIRECTIVE.match(source)
            if named is not None and named[1] not in _FOREIGN:
                inner = dedent(source[named.end() :]).strip()
                message.parent.insert(message.parent.index(message), nodes.paragraph(inner, inner))
    for role in list(tree.findall(nodes.problematic)):
        text = _ROLE.sub(r"\1", role.astext())
        role.parent.replace(role, nodes.inline(text, text))
