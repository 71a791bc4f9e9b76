"""The terms of a text for lexical search, whatever its script.

Words of spaced scripts are terms. Scripts that write without spaces are cut into overlapping pieces of fixed
lengths, so that a query finds itself inside a longer run: no dictionary decides where a word begins.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

ANALYSER: Final = "terms 1"
"""Name and version of this analysis; part of an index's fingerprint. Any change of `terms` changes it."""

# Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs and tatweel of Arabic: writers leave
# them out, so they must not part a word from itself. Vowel signs of Indic and Thai scripts are letters.
_MARKS: Final = re.compile(
    r"[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    r"\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u08d3-\u08ff]"
)
# Letters that Arabic and Persian keyboards exchange for one another.
_ARABIC: Final = str.maketrans("ٱىیېئؤةکھہۃ", "اييييوهكههه")
_ARTICLES: Final = ("وال", "بال", "كال", "فال", "لل", "ال")
_SHORTEST_STEM: Final = 3

_IDEOGRAPHIC: Final = (  # Han, Kana and Hangul
    r"\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_SPACELESS: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_SIGNS: Final = r"\u0900-\u0963\u0966-\u0dff\u0f18-\u0fbc"  # Indic and Tibetan: vowel signs are no \w
_TERM: Final = re.compile(
    rf"(?P<ideographic>[{_IDEOGRAPHIC}]+)"
    rf"|(?P<spaceless>[{_SPACELESS}]+)"
    rf"|(?P<word>(?:(?![{_IDEOGRAPHIC}{_SPACELESS}])[^\W_]|[{_SIGNS}])+(?:(?<=\d)[.,]\d+)*)"
)


_ASCII: Final = re.compile(r"[a-z0-9]+(?:(?<=\d)[.,]\d+)*")


def terms(text: str) -> list[str]:
    """The terms of `text` in order, folded for case, width, accents and Arabic spelling; may be empty.

    Chinese, Japanese and Korean runs give every character and every pair; Thai, Lao, Burmese and Khmer runs
    every pair and triple. Numbers keep their inner points: "2.1" is one term and not "2", "1".
    """
    if text.isascii():  # most of English, in an eighth of the time
        return _ASCII.findall(text.lower())
    return [term for match in _TERM.finditer(_fold(text)) for term in _pieces(match)]


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKC", _MARKS.sub("", decomposed)).casefold().translate(_ARABIC)


def _pieces(match: re.Match[str]) -> list[str]:
    run = match.group()
    match match.lastgroup:
        case "ideographic":
            return _grams(run, 1, 2)
        case "spaceless":
            return _grams(run, 2, 3)
        case _:
            return [_without_article(run)]


def _grams(run: str, *sizes: int) -> list[str]:
    return [run[i : i + size] for size in sizes for i in range(len(run) - size + 1)] or [run]


def _without_article(word: str) -> str:
    """`word` without the Arabic article and what is written together with it."""
    if word.startswith(_ARTICLES):
        for article in _ARTICLES:
            if word.startswith(article) and len(word) - len(article) >= _SHORTEST_STEM:
                return word.removeprefix(article)
    return word
