"""Asks a new index for what was just written into it: who searches for a text must find that text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from distinguo.backends.index.index import Index, Scored
from distinguo.backends.index.rows import searchable
from distinguo.errors import DataError
from distinguo.records import Passage
from distinguo.text.sameness import essence

_ASKED: Final = 8
_DEPTH: Final = 20
_ROUNDING: Final = 1e-3  # engines and encoders differ by less; other texts by more


def verify(index: Index, documents: Sequence[str]) -> None:
    """Search for the first passages of a few of `documents`, spread over them all.

    By meaning, nothing may come before a passage itself. By words, another may (one that says it all twice),
    and so it is enough if most of them are found. Raises `DataError`.
    """
    asked = documents[:: len(documents) // _ASKED + 1]
    passages = index.passages([f"{document}#1" for document in asked])
    lost = [passage.id for passage in _lost_by_meaning(index, passages)]
    missed = [passage.id for passage in _missed_by_words(index, passages)]
    if lost or len(missed) > len(passages) / 2:
        raise DataError(
            f"the index does not find {', '.join(map(repr, lost or missed))} by their own text: "
            "it would give wrong passages. Build it anew: distinguo index … --rebuild"
        )


def _lost_by_meaning(index: Index, passages: Sequence[Passage]) -> Iterator[Passage]:
    for passage, vector in zip(passages, index.vectors([each.id for each in passages]), strict=True):
        found = index.dense(vector, _DEPTH)
        least = float(vector @ vector) - _ROUNDING
        if not _holds(found, passage) and (len(found) < _DEPTH or found[-1][1] < least):
            yield passage


def _missed_by_words(index: Index, passages: Sequence[Passage]) -> Iterator[Passage]:
    for passage in passages:
        found = index.lexical([(searchable(passage), 1.0)], _DEPTH)
        if found and not _holds(found, passage):  # a text may have no terms at all
            yield passage


def _holds(found: Scored, passage: Passage) -> bool:
    return essence(passage.text) in {essence(each.text) for each, _ in found}
