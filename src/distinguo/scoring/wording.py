"""The words of an answer, without what does not change it: case, width, punctuation, articles, spacing."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ARTICLES: Final = frozenset({"a", "an", "the"})
_DROPPED: Final = ("P", "S", "Cf")
"""Unicode categories: punctuation, symbols (both are `string.punctuation` in ASCII), invisible formatting."""

_UNSPACED: Final = (  # Han and Kana; Thai and Lao, Burmese, Khmer
    r"\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


def normalised(text: str) -> str:
    """`text` as SQuAD's evaluation normalises it (Rajpurkar et al. 2016), for all scripts.

    NFKC and case folding; punctuation, symbols and invisible signs are dropped, so that "well-known" is
    "wellknown"; the words "a", "an" and "the" are dropped, but not if nothing else is left (an answer may be
    the letter A); one space between words. For ASCII this is SQuAD's own rule but for that exception.
    Empty if `text` has neither letters nor digits.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(character for character in folded if not _is_dropped(character))
    words = unicodedata.normalize("NFKC", kept).split()  # what stood apart may have come together
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def tokens(text: str) -> tuple[str, ...]:
    """The words of `text`, normalised. Scripts that put no spaces between words give single characters.

    These are Chinese, Japanese, Thai, Lao, Burmese and Khmer; Korean does put spaces and gives words.
    """
    return tuple(_TOKEN.findall(normalised(text)))


def first_line(text: str) -> str:
    """The first line of `text` that is not blank; empty if there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _is_dropped(character: str) -> bool:
    return unicodedata.category(character).startswith(_DROPPED)
