"""Reads graded judgements: which documents are relevant to which question."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from distinguo.datasets.lines import read_lines
from distinguo.errors import DataError

Grades = dict[str, dict[str, int]]
"""Question id -> document id -> grade; above 0 is relevant."""

_HEADER: Final = ("query-id", "corpus-id", "score")
_TREC_COLUMNS: Final = 4


def read_qrels(path: Path) -> Grades:
    """The judgements of a file in BEIR's form (tab-separated question, document, grade; a heading) or TREC's.

    TREC's has four columns, parted by white space: question, a column that nobody reads, document, grade.
    Raises `DataError` that tells all faults with their lines.
    """
    grades: Grades = {}

    def parse(line: str) -> None:
        columns = _columns(line)
        if columns == _HEADER:
            return
        question, document, grade = columns
        if not _is_whole(grade):
            raise DataError(f"the grade is {grade!r}; expected a whole number")
        if grades.setdefault(question, {}).setdefault(document, int(grade)) != int(grade):
            raise DataError(f"{document!r} was judged before for {question!r}, with another grade")

    read_lines(path, parse)
    if not grades:
        raise DataError(f"{str(path)!r} has no judgements; expected question, document and grade in a line")
    return grades


def _columns(line: str) -> tuple[str, str, str]:
    parts = [part.strip() for part in line.rstrip("\r\n").split("\t")]
    if len(parts) != len(_HEADER):
        parts = line.split()
    if len(parts) == _TREC_COLUMNS:
        parts.pop(1)
    match parts:
        case [question, document, grade]:
            return question, document, grade
        case _:
            raise DataError(f"{len(parts)} columns; expected question, document and grade")


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
