"""PDF files: their text layer, page by page, under the headings of their outline."""

from __future__ import annotations

import logging
import re
import time
import unicodedata
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Final, cast

from distinguo.documents.drafting import Draft, line
from distinguo.documents.encodings import clean
from distinguo.documents.found import Skipped
from distinguo.errors import DataError
from distinguo.records import Document

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader
    from pypdf.generic import Destination

_log: Final = logging.getLogger(__name__)

SLOWEST: Final = 300.0
"""Most seconds that the pages of a file may take."""
_UNREADABLE: Final = 0.2
"""Largest share of a page's characters that may lack a meaning."""
_FORMS: Final = re.compile(r"[\ufb00-\ufdff\ufe70-\ufefc]+")  # ligatures and joined letters: shapes, not text
_HYPHEN: Final = re.compile("\u00ad\n?")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_MADE_UP: Final = re.compile(r"microsoft |untitled|.*\.(?:docx?|dvi|indd|tex|qxd|pdf)$", re.IGNORECASE)


def read(content: bytes, name: str) -> Iterator[Document | Skipped]:
    """The pages that have a text; those that are pictures, or whose letters nobody knows, are reported."""
    from pypdf.errors import PyPdfError

    draft = Draft()
    pictures: list[int] = []
    mute: list[int] = []
    try:
        reader = _opened(content)
        headings = _outline(reader)
        began = time.monotonic()
        for number, page in enumerate(reader.pages, 1):
            if time.monotonic() - began > SLOWEST:
                raise DataError(f"its first {number - 1} pages took {SLOWEST:.0f} seconds; split it")
            text = _text(page)
            if text is None:
                mute.append(number)
            else:
                _write(draft, text, number, headings.get(number - 1, []))
                pictures += [number] if not text.strip() and _has_pictures(page) else []
        title = str(reader.metadata.title or "") if reader.metadata is not None else ""
    except PyPdfError as error:
        raise DataError(f"not a PDF file, or a damaged one: {error}") from error
    document = draft.document(name, "" if _MADE_UP.match(title.strip()) else title)
    if document.text or not (pictures or mute):
        yield document
    if pictures:
        yield Skipped(name, f"no text on {_pages(pictures)}, only pictures; run text recognition (OCR) first")
    if mute:
        why = "its fonts do not say which letters they draw"
        yield Skipped(name, f"no text on {_pages(mute)}: {why}; run text recognition (OCR) first")


def _pages(numbers: list[int]) -> str:
    return f"page{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _has_pictures(page: PageObject) -> bool:
    from pypdf.generic import DictionaryObject

    drawn = _at(_at(page, "/Resources"), "/XObject")
    return isinstance(drawn, DictionaryObject) and any(
        _at(_at(drawn, str(name)), "/Subtype") == "/Image" for name in drawn
    )


def _opened(content: bytes) -> PdfReader:
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DataError("encrypted: it needs a password; save a copy without one")
    return reader


def _write(draft: Draft, text: str, number: int, headings: list[str]) -> None:
    """Write a page; a heading of the outline begins a section where it stands, or else with the page."""
    draft.turn(number)
    for heading in headings:
        words = r"\s+".join(map(re.escape, heading.split()))
        found = re.search(rf"^[ \t]*(?:[\dA-Z.]+\s+)?{words}", text, re.IGNORECASE | re.MULTILINE)
        if found:
            draft.write(text[: found.start()])
            text = text[found.start() :]
        draft.under(heading)
    draft.write(text)


def _outline(reader: PdfReader) -> dict[int, list[str]]:
    """The headings that begin on each page, counted from 0; none where the outline is broken."""
    found: dict[int, list[str]] = {}
    try:
        entries: list[object] = list(reversed(reader.outline))
        while entries:
            entry = entries.pop()
            if isinstance(entry, list):
                entries += reversed(cast("list[object]", entry))
                continue
            target = cast("Destination", entry)
            page, heading = reader.get_destination_page_number(target), line(target.title or "")
            if page is not None and heading:
                found.setdefault(page, []).append(heading)
    except Exception as error:  # pypdf raises what it will; the pages are there without it
        _log.info("the outline of a PDF file cannot be read: %s", error)
    return found


def _text(page: PageObject) -> str | None:
    """The page's text; None where more than a few characters are shapes whose letters nobody knows."""
    strange = 0

    def meet(text: str, _cm: object, _tm: object, font: dict[str, object] | None, _size: object) -> None:
        nonlocal strange
        strange += len(text.strip()) if font is not None and _is_mute(font) else 0

    raw = page.extract_text(visitor_text=meet)
    shown = sum(not character.isspace() for character in raw)
    strange += sum(
        unicodedata.category(character) in ("Cc", "Cn", "Co", "Cs") for character in raw if character != "\n"
    )
    if strange > _UNREADABLE * max(shown, 1):
        return None
    text = _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), _HYPHEN.sub("", raw))
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", clean(text))


def _is_mute(font: dict[str, object]) -> bool:
    """Whether `font` numbers its glyphs by a foreign collection and maps no number to a letter."""
    match font:
        case {"/ToUnicode": _}:
            return False
        case {"/Encoding": "/Identity-H" | "/Identity-V", "/DescendantFonts": below}:
            descendant = _first(below)
            system = _at(_at(descendant, "/CIDSystemInfo"), "/Ordering")
            descriptor = _at(descendant, "/FontDescriptor")
            is_embedded = any(_at(descriptor, f"/FontFile{kind}") is not None for kind in ("", "2", "3"))
            return str(system) != "Identity" or not is_embedded
        case _:
            return False


def _first(values: object) -> object:
    return next(iter(cast("list[object]", values)), None) if isinstance(values, list) else None


def _at(value: object, key: str) -> object:
    from pypdf.generic import DictionaryObject, IndirectObject

    whole = value.get_object() if isinstance(value, IndirectObject) else value
    found: object = whole.get(key) if isinstance(whole, DictionaryObject) else None
    return found.get_object() if isinstance(found, IndirectObject) else found
