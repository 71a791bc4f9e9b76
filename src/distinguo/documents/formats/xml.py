"""XML: the text of its elements; articles (JATS), books (DocBook), editions (TEI) with their headings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distinguo.documents.drafting import Draft
from distinguo.documents.markup import Vocabulary, local, raise_powers, write
from distinguo.errors import DataError
from distinguo.records import Document

if TYPE_CHECKING:
    from distinguo.documents.markup import Element

LARGEST: Final = 64_000_000
"""Most bytes of a file: its tree takes many times as much memory."""
DEEPEST: Final = 256
"""Most elements within each other, for the parser."""
_HEADINGS: Final = frozenset({"title", "head", "article-title", "heading"})
_DROPPED: Final = frozenset(
    # what an article says about itself and others, for machines
    {
        "ref-list",
        "journal-meta",
        "article-id",
        "article-categories",
        "aff",
        "author-notes",
        "pub-date",
        "history",
    }
    | {"permissions", "counts", "custom-meta-group", "self-uri", "teiHeader", "object-id", "tex-math"}
    | {"annotation", "processing-meta", "contrib-id", "email", "volume", "elocation-id", "funding-group"}
)
_WORDS: Final = Vocabulary(
    headings=_HEADINGS,
    dropped=_DROPPED,
    rows=frozenset({"tr", "row", "contrib"}),
    cells=frozenset({"td", "th", "entry", "cell", "surname", "given-names", "collab"}),
    is_inline_by_place=True,
)
_NO_HEADINGS: Final = frozenset({"caption", "kwd-group", "fig", "table-wrap"})
"""The titles of these head no section."""


def read(content: bytes, name: str) -> Iterator[Document]:
    """The text, without entities from elsewhere; nothing is fetched."""
    root = _tree(content)
    if local(root) == "html":
        from distinguo.documents.formats import html

        yield from html.read(content, name)
        return
    raise_powers(root)
    for element in root.iter():
        parent = element.getparent()
        if local(element) in _HEADINGS and parent is not None and local(parent) in _NO_HEADINGS:
            element.tag = "p"
    draft = Draft()
    write(draft, root, _WORDS)
    yield draft.document(name, _title(root))


def _tree(content: bytes) -> Element:
    from lxml import etree

    if len(content) > LARGEST:
        raise DataError(f"XML of {len(content):,} bytes; expected at most {LARGEST:,}")
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        if "Excessive depth" in (error.msg or ""):
            raise DataError(f"more than {DEEPEST} elements within each other: too deep to read") from error
        raise DataError(f"not well-formed XML: {error.msg}") from error


def _title(root: Element) -> str:
    found = (element for element in root.iter() if local(element) in _HEADINGS)
    texts = ("".join(element.itertext()) for element in found)
    return next((text for text in texts if text.strip()), "")
