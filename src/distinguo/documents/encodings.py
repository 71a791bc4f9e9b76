"""Bytes to clean text, whatever their encoding."""

from __future__ import annotations

import codecs
import re
from typing import Final

from distinguo.documents.alphabets import LATIN, USUAL, plausibility
from distinguo.errors import DataError

_BOMS: Final = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_CONTROLS: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n\r\f\x1b"))
_SAMPLE: Final = 20_000  # bytes that an encoding is told by
_PLAUSIBLE: Final = 0.6
_CLEAR: Final = (
    0.06  # two readings nearer than this to each other are equally likely; the shorter, the nearer
)
_UNWANTED: Final = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]"  # colours and cursor movements of a terminal
    r"|[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]"
)
_BREAK: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def clean(text: str) -> str:
    """`text` without control characters, its lines ended by line feeds."""
    return _UNWANTED.sub("", _BREAK.sub("\n", text))


def mark_of(content: bytes) -> str:
    """The encoding that a byte-order mark at the head of `content` names, or ""."""
    return next((name for mark, name in _BOMS if content.startswith(mark)), "")


def decoded(content: bytes, declared: str = "") -> str:
    """The clean text of `content`.

    Its encoding is told by a byte-order mark, else by what it declares itself, else it is UTF-8, else the one
    that gives the likeliest text. Raises `DataError` for what is no text, or in no encoding that is clear.
    """
    return clean(_decoded(content, declared))


def _decoded(content: bytes, declared: str) -> str:
    if mark := mark_of(content):
        return strictly(content, mark)
    if b"\x1b$" in content and (text := _tried(content, "iso2022_jp")) is not None:
        return text
    if (wide := _wide(content)) and (text := _tried(content, wide)) is not None:
        return text
    if is_binary(content):
        raise DataError("binary: not a text")
    codec = _codec(declared)
    # Western is what a page declares that knows no better, and hardly any Western text is UTF-8 by accident.
    for name in ("utf-8", codec) if codec == "cp1252" else (codec, "utf-8"):
        if name and (text := _tried(content, name)) is not None:
            return text
    return _likeliest(content)


def strictly(content: bytes, encoding: str) -> str:
    """`content` in `encoding`. Raises `DataError`, which names the byte that does not fit."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"not valid {encoding.removesuffix('-sig').upper()} at byte {error.start}") from error


def is_binary(content: bytes) -> bool:
    """Whether `content` is no text in any encoding without a byte-order mark."""
    sample = content[:_SAMPLE]
    share = (len(sample) - len(sample.translate(None, _CONTROLS))) / max(len(sample), 1)
    is_utf8 = _tried(sample[:-3], "utf-8") is not None or _tried(sample, "utf-8") is not None
    return share > (0.3 if is_utf8 else 0.03)


def _wide(content: bytes) -> str:
    """UTF-16 without a mark, told by the empty halves of its ASCII characters."""
    sample = content[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if len(content) % 2 or max(even, odd) < 0.7 * half or min(even, odd) > 0.02 * half:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _codec(name: str) -> str:
    """The codec of a declared `name`; as in browsers, who says ISO-8859-1 means its superset."""
    try:
        found = codecs.lookup(name.strip()).name if name.strip() else ""
    except (LookupError, ValueError):
        return ""
    western = {"ascii", "iso8859-1"}
    superset = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949"}
    return "cp1252" if found in western else superset.get(found, found)


def _tried(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (LookupError, ValueError):  # no codec, none for text, or not of this one
        return None


def _likeliest(content: bytes) -> str:
    """The reading of highest plausibility; of equal ones the more usual, if both are of one script."""
    sample = content[:_SAMPLE].rpartition(b"\n")[0] or content[:_SAMPLE]
    readings = [(name, text) for name in USUAL if (text := _tried(sample, name)) is not None]
    scored = [(plausibility(text, name), name, text) for name, text in readings]
    best, first, _ = max(scored, default=(0.0, "", ""), key=lambda each: each[0])
    clear = _CLEAR if first in LATIN else _CLEAR + 1 / sum(byte > 0x7F for byte in sample)
    likely = [(name, text) for score, name, text in scored if score > best - clear]
    name, text = likely[0] if best >= _PLAUSIBLE else ("", "")
    rivals = [other for other, read in likely if read != text]
    if not name or (rivals and not LATIN.issuperset({name, *rivals})):
        guess = f"perhaps {name}, perhaps {rivals[0]}" if name else "and no other encoding fits"
        try:
            return strictly(content, "utf-8")
        except DataError as error:
            raise DataError(f"{error}, {guess}; save it as UTF-8") from error
    if (whole := _tried(content, name)) is None:
        raise DataError(f"begins as {name} and does not go on so; save it as UTF-8")
    return whole
