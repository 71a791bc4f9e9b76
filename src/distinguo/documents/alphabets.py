"""Tells how much a text looks like a language that an encoding was made for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

_LETTERS: Final = MappingProxyType(
    {  # the letters outside ASCII of each language, roughly by how often they occur, capitals left out
        "cs": "íáěéšřčžýůúťňďó",
        "da": "åøæé",
        "de": "üäöß",
        "el": "αοιετσνηυρπκμλςωγδβχθφξζψόάίήέύώϊ",
        "es": "óíáéñúü",
        "fr": "éèàêçôîûâùïœëÿæü",
        "he": "יוהלאתרבמשנדחקםעפטגצןסכזךףץ",
        "hu": "áéőöíüóúű",
        "it": "èàùòìéó",
        "ar": "ايلنمروتبعدسفهكقجحصطخشةضذغأثإءئىزظؤآ،؟ًٌٍَُِّْ",
        "nl": "ëéïèöüó",
        "pl": "łęóążśćńź",
        "pt": "ãçéáíóêõâôúà",
        "ro": "ăîâşţșț",
        "ru": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфёъ",
        "sq": "ëç",
        "sv": "äåöé",
        "th": "านรอกเงมยลวดตสท่ี้ัปบคหแจพชขใไโะำผู็ึ์ืซุิฟถศธญษณภฐๆฮฉ",
        "tr": "ıüşğçöİâ",
        "uk": "оаинтірвеслкдупмязьбгючйхцїжшщєфґ",
        "vi": "đưàơảăạáấâầậắặềếệộớờợủứ",
    }
)
_SIGNS: Final = frozenset("’‘“”„–—…«»€£°·•©®™§±×÷½¼¾²³µ¿¡ªº№")
_FINALS: Final = frozenset("ςךםןףץ")  # letters that only end words
_CAPITAL: Final = 0.9  # a text all in capitals is rarely one
_APOSTROPHES: Final = frozenset("’‘·")

_WRITTEN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "cp1252": ("fr", "de", "es", "pt", "it", "da", "nl", "sq", "sv"),
        "cp1250": ("pl", "cs", "hu", "ro", "de"),
        "iso8859_2": ("pl", "cs", "hu", "ro", "de"),
        "cp1251": ("ru", "uk"),
        "koi8_r": ("ru",),
        "cp1253": ("el",),
        "cp1254": ("tr",),
        "cp1255": ("he",),
        "cp1256": ("ar",),
        "cp1258": ("vi",),
        "cp874": ("th",),
    }
)

# The common characters of an East Asian standard lie in rows of their own: (first, last lead byte, weight).
# What any of these languages could have written weighs less than what one alone writes, kana and Hangul.
_MARKS: Final = range(0xA1, 0xA4)  # punctuation, but also all kinds of rare symbols
_EAST_ASIAN_MARKS: Final = re.compile(r"[\u3000-\u303f\uff00-\uffef]")
_Rows = tuple[tuple[int, int, float], ...]
_JAPANESE: Final[_Rows] = ((0xA1, 0xA3, 0.9), (0xA4, 0xA5, 1.0), (0xB0, 0xCF, 0.8))
_ROWS: Final[Mapping[str, tuple[str, _Rows]]] = MappingProxyType(
    {
        "cp932": ("euc_jp", _JAPANESE),
        "euc_jp": ("euc_jp", _JAPANESE),
        "gb18030": ("gb2312", ((0xA1, 0xA3, 0.9), (0xB0, 0xD7, 0.85))),
        "big5": ("big5", ((0xA1, 0xA3, 0.9), (0xA4, 0xC6, 0.85))),
        "cp949": ("euc_kr", ((0xA1, 0xA3, 0.9), (0xB0, 0xC8, 1.0))),
    }
)

USUAL: Final = (*_WRITTEN, *_ROWS)
"""The encodings that `plausibility` knows, the more usual of two equals first."""

_OTHER_SCRIPTS: Final = frozenset({"ar", "el", "he", "ru", "th", "uk"})
LATIN: Final = frozenset(name for name, languages in _WRITTEN.items() if not _OTHER_SCRIPTS & {*languages})
"""Those of them that are for Latin letters alone."""

_Test = Callable[[str], float]


def plausibility(text: str, encoding: str) -> float:
    """From 0 to 1: how well the characters of `text` outside ASCII suit the best language of `encoding`."""
    padded = f" {text} "
    found = [padded[i - 1 : i + 2] for i in range(1, len(padded) - 1) if padded[i] > "\x7f"]
    if encoding in _ROWS:
        tests = [_row_test(*_ROWS[encoding])]
    else:
        tests = [_letter_test(_LETTERS[language]) for language in _WRITTEN[encoding]]
    is_latin, prior = encoding in LATIN, 1.0
    if not is_latin:  # a text in another script has most of its letters there
        letters = sum(character.isalpha() for character in text)
        prior = 0.5 + 0.5 * min(1.0, 3 * len(found) / max(letters, 1))
    sums = (sum(_weight(each, test, is_latin=is_latin) for each in found) for test in tests)
    return prior * max(sums) / max(len(found), 1)


def _weight(trio: str, test: _Test, *, is_latin: bool) -> float:
    """The weight of the character in the middle: a word is of one script, no sign or capital within it."""
    before, character, after = trio
    if character in _SIGNS:
        return float(character in _APOSTROPHES or not (before.isalpha() and after.isalpha()))
    is_mixed = not is_latin and any(each.isascii() and each.isalpha() for each in (before, after))
    is_flipped = before.islower() and character.isupper()
    is_misplaced = character in _FINALS and after.isalpha()
    if is_mixed or is_flipped or is_misplaced:
        return 0.0
    return test(character) * (_CAPITAL if character.isupper() else 1.0)


def _letter_test(letters: str) -> _Test:
    weights = {letter: 1 - 0.7 * i / len(letters) for i, letter in enumerate(letters)}
    return lambda character: weights.get(character, weights.get(character.lower(), 0.0))


def _row_test(standard: str, rows: _Rows) -> _Test:
    def test(character: str) -> float:
        lead = ord(character.encode(standard, "ignore")[:1] or b"\0")
        is_odd = lead in _MARKS and not _EAST_ASIAN_MARKS.fullmatch(character)
        return (
            0.0
            if is_odd
            else max((weight for first, last, weight in rows if first <= lead <= last), default=0)
        )

    return test
