"""Word documents: paragraphs, tables and notes, under the headings that their styles mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Final, Literal, cast
from zipfile import BadZipFile, ZipFile

from distinguo.documents.drafting import Draft
from distinguo.documents.markup import POWER, local
from distinguo.errors import DataError
from distinguo.records import Document

if TYPE_CHECKING:
    from docx.document import Document as Word

    from distinguo.documents.markup import Element

LARGEST: Final = 256_000_000
"""Most bytes that a file may unpack to, pictures included."""
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HIDDEN: Final = frozenset({"del", "moveFrom", "Fallback", "pPr", "rPr", "tblPr", "tcPr", "trPr"})
_SIGNS: Final = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_Level = Literal["title", "heading"]


def read(content: bytes, name: str) -> Iterator[Document]:
    """The text with all changes accepted; headers, footers and comments are left out."""
    word = _opened(content)
    body = cast("Element", word.part.element[0])
    levels = _levels(word)
    draft = Draft()
    _write(draft, body, levels)
    for note in _notes(word):
        draft.write(_text(note))
    titles = (_text(each) for each in body.iter(f"{_WORD}p") if levels.get(_style(each)) == "title")
    yield draft.document(
        name, next(titles, "") or word.core_properties.title or next(iter(draft.headings), "")
    )


def _opened(content: bytes) -> Word:
    import docx
    from docx.opc.exceptions import OpcError

    try:
        with ZipFile(BytesIO(content)) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > LARGEST:
            raise DataError(f"unpacks to {size:,} bytes; expected at most {LARGEST:,}")
        return docx.Document(BytesIO(content))
    except (BadZipFile, OpcError, KeyError, ValueError) as error:
        raise DataError(f"not a Word document, or a damaged one: {error}") from error


def _levels(word: Word) -> Mapping[str, _Level]:
    """Which styles, by id, mark titles and headings, their own or by the style that they are based on."""
    found: dict[str, _Level] = {}
    for style in word.styles:
        name = (style.name or "").lower()
        outline = style.element.find(f"{_WORD}pPr/{_WORD}outlineLvl")
        if name == "title":
            found[style.style_id] = "title"
        elif name.startswith("heading ") or (outline is not None and outline.get(f"{_WORD}val") != "9"):
            found[style.style_id] = "heading"
    for style in word.styles:
        base = getattr(style, "base_style", None)
        if base is not None and base.style_id in found:
            found.setdefault(style.style_id, found[base.style_id])
    return found


def _write(draft: Draft, parent: Iterable[Element], levels: Mapping[str, _Level]) -> None:
    for element in parent:
        match local(element):
            case "p":
                text = _text(element)
                if _style(element) in levels:
                    draft.head(text)
                else:
                    draft.write(text)
            case "tr" if len(cells := element.findall(f"{_WORD}tc")) > 1:
                texts = [" ".join(_text(cell).split()) for cell in cells]
                draft.write(f"| {' | '.join(filter(None, texts))} |" if any(texts) else "", "\n")
            case name:  # a table, a row of one cell, a content control, an insertion
                _write(draft, element if name not in _HIDDEN else (), levels)


def _style(paragraph: Element) -> str:
    style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
    return "" if style is None else style.get(f"{_WORD}val") or ""


def _text(root: Element) -> str:
    parts: list[str] = []
    stack = [root]
    while stack:
        element = stack.pop()
        name = local(element)
        if name == "t":
            parts.append(_powered(element, "".join(parts[-1:])))
        elif name in _SIGNS:
            parts.append(_SIGNS[name])
        elif name not in _HIDDEN:
            parts += ["\n"] if name == "p" and element is not root else []
            stack += reversed(element)
    return "".join(parts).strip()


def _powered(text: Element, before: str) -> str:
    """What `text` says; a number that is raised above another as its power."""
    shown, run = text.text or "", text.getparent()
    align = None if run is None else run.find(f"{_WORD}rPr/{_WORD}vertAlign")
    is_raised = align is not None and align.get(f"{_WORD}val") == "superscript"
    return f"^{shown}" if is_raised and before[-1:].isdigit() and POWER.fullmatch(shown.strip()) else shown


def _notes(word: Word) -> Iterator[Element]:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    for relation in word.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(("/footnotes", "/endnotes")):
            yield from etree.fromstring(relation.target_part.blob, parser)
