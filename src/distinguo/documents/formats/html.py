"""Web pages: their main text, or all of it where the main text would lose some."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from distinguo.documents.drafting import Draft, line
from distinguo.documents.encodings import decoded
from distinguo.documents.markup import Vocabulary, local, raise_powers, write
from distinguo.errors import DataError
from distinguo.records import Document

if TYPE_CHECKING:
    from distinguo.documents.markup import Element

LARGEST: Final = 16_000_000
"""Most bytes of a page: its tree takes many times as much memory."""
_KEPT: Final = 0.7
"""Least share of the words outside links, and of those in tables, that a main text to be trusted holds."""
_DECLARED: Final = re.compile(
    rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s*=\s*["']?([\w.:-]+)""", re.I
)
_WORD: Final = re.compile(r"\w+")
_NAMES: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_DROPPED: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "head", "nav", "footer", "aside", "form", "button"}
    | {"select", "iframe", "object", "canvas", "audio", "video", "map", "textarea", "dialog", "menu"}
)
_INLINE: Final = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"}
    | {"i", "img", "ins", "kbd", "label", "mark", "math", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small"}
    | {"span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"}
)
_STYLES: Final = ("sup", "sub", "b", "i", "em", "strong", "u", "s", "small", "big", "font", "mark", "tt")
_PAGE: Final = Vocabulary(frozenset(_NAMES), _DROPPED, _INLINE, verbatim=frozenset({"pre"}))
_MAIN: Final = Vocabulary(
    headings=frozenset({"head"}),
    dropped=frozenset({"graphic"}),
    inline=frozenset({"hi", "ref", "del"}),
    verbatim=frozenset({"quote", "code"}),
    is_inline_by_place=True,
)


def read(content: bytes, name: str) -> Iterator[Document]:
    """The page under its first heading of the highest rank, or else its title."""
    if len(content) > LARGEST:
        raise DataError(f"a page of {len(content):,} bytes; expected at most {LARGEST:,}")
    declared = _DECLARED.search(content[:4096])
    page = tree(decoded(content, declared[1].decode("ascii", "replace") if declared else ""))
    draft = Draft()
    if page is not None:
        write_page(draft, page)
    yield draft.document(name, "" if page is None else _first(page, "h1", "title", "h2"))


def tree(text: str) -> Element | None:
    """The tree of a page; None where there is nothing of one. Raises `DataError` where it is too deep."""
    from lxml.etree import ParserError, fromstring
    from lxml.html import HTMLParser

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    if not text.strip():
        return None
    try:
        page = fromstring(text.encode("utf-8", "replace"), parser)
    except ParserError:  # it holds nothing but comments, say
        return None
    if fatal := parser.error_log.filter_from_fatals():  # the rest of the page is lost
        raise DataError(f"not readable to its end: {fatal[0].message}")
    return page


def write_page(draft: Draft, page: Element) -> None:
    """Write the main text of `page`, without navigation; all of it where that seems to lose text."""
    from lxml.etree import strip_tags

    raise_powers(page)
    strip_tags(page, *_STYLES)  # the main text would part "H<sub>2</sub>O" into three words
    body = page.find("body")
    body = page if body is None else body
    main = _main(page)
    if main is None or len(main) < 2 or not _holds(main, body):  # a short page becomes one paragraph
        write(draft, body, _PAGE)
    else:
        if (title := _first(page, "h1")) != _first(main, "head"):  # it is often left out
            draft.head(title)
        write(draft, main, _MAIN)


def _main(page: Element) -> Element | None:
    from copy import deepcopy

    from trafilatura import bare_extraction

    whole = cast("Any", deepcopy(page))  # it takes a page's tree as well, and changes it
    found = bare_extraction(whole, include_comments=False, include_tables=True, with_metadata=False)
    return cast("Element | None", getattr(found, "body", None))


def _holds(main: Element, body: Element) -> bool:
    there = Counter(_WORD.findall(" ".join(_texts(main, frozenset()))))
    prose = Counter(_WORD.findall(" ".join(_texts(body, _DROPPED | {"a"}))))
    tables = Counter(
        _WORD.findall(
            " ".join(text for table in body.iter("table") for text in _texts(table, _DROPPED | {"a"}))
        )
    )
    return all((wanted & there).total() >= _KEPT * wanted.total() for wanted in (prose, tables))


def _texts(root: Element, dropped: frozenset[str]) -> Iterator[str]:
    stack: list[Element | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif local(item) not in dropped:
            yield item.text or ""
            for child in reversed(item):
                stack += [child.tail or "", child]


def _first(page: Element, *names: str) -> str:
    """The text of the first element of the first of `names` that has one."""
    texts = (line("".join(element.itertext())) for name in names for element in page.iter(name))
    return next(filter(None, texts), "")
