"""Reads questions with their gold: one JSON object a line.

::

    {"id": "q1", "question": "…", "answers": ["…"], "gold_ids": ["doc1"], "split": "open", "meta": {…}}

Only `id` and `question` must be there. `gold_documents` is another name for `gold_ids`: both are ids of
documents. `choices`, `set`, `kind`, `type`, `lang`, `tags` and `answerable` may stand in the row or in its
`meta`. Other fields are left alone, unless they look like a slip of the pen.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path
from typing import Final, cast

from distinguo.datasets.lines import Fields, identifier, json_object, read_lines, unicode
from distinguo.errors import DataError
from distinguo.records import Example, Question
from distinguo.text.sentences import is_blank

UNJUDGED: Final = "unjudged"
"""Tag of a question whose right answer is not known: only what was found for it can be judged."""

_SILENT_KINDS: Final = ("unanswerable", "false-premise")
_SLICES: Final = ("set", "kind", "type", "lang")
_KNOWN: Final = (
    "id _id question answers gold_ids gold_documents split meta choices answerable tags".split()  # noqa: SIM905
)
_LIKENESS: Final = 0.66
"""`golden_answers` is like `answers` (0.67), `gold_quotes` is not like `gold_ids` (0.63)."""


def read_questions(path: Path, *, split: str = "") -> tuple[Example, ...]:
    """The questions of `path` in the file's order; those of `split` if one is given.

    A question without accepted answers asks for silence if it is said to be unanswerable (`answerable` is
    false, or its kind is ``unanswerable`` or ``false-premise``), or if `answers` is an empty list and no
    document is gold either; else it is tagged `UNJUDGED`. Answers of a question that is said to be
    unanswerable are not accepted. Other tags are ``set=…``, ``kind=…``, ``type=…``, ``lang=…``, and those of
    the row.

    Raises `DataError` that tells all faults with their lines, or that no question is left.
    """
    seen: set[str] = set()

    def parse(line: str) -> tuple[Example, str]:
        fields = json_object(line)
        example = _example(fields)
        if example.question.id in seen:
            raise DataError(f"the id {example.question.id!r} was used before")
        seen.add(example.question.id)
        return example, _text(fields, "split")

    rows = read_lines(path, parse)
    if not rows:
        raise DataError(f"{str(path)!r} has no questions; expected one JSON object a line")
    splits = sorted({found for _, found in rows})
    if split and split not in splits:
        raise DataError(f"{str(path)!r} has no questions of the split {split!r}; there are {splits!r}")
    return tuple(example for example, found in rows if split in ("", found))


def _example(fields: Fields) -> Example:
    _check_names(fields)
    id_ = identifier(fields)
    text, choices = _text(fields, "question"), _texts(fields, "choices")
    if is_blank(text):
        raise DataError(f"the question {id_!r} is empty: {text!r}")
    gold, gold_ids = _texts(fields, "answers"), _gold_ids(fields)
    match _answerable(fields):
        case False:
            gold, is_unjudged = (), False
        case True:
            is_unjudged = not gold
        case None:
            is_unjudged = not gold and (bool(gold_ids) or fields.get("answers") is None)
    question = Question(id_, text.strip(), choices, "choice" if choices else "short")
    return Example(question, gold, gold_ids, (*_tags(fields), *((UNJUDGED,) if is_unjudged else ())))


def _answerable(fields: Fields) -> bool | None:
    """What the row says about it; None if nothing."""
    said = _anywhere(fields, "answerable")
    if said is not None and not isinstance(said, bool):
        raise DataError(f"'answerable' is {said!r}; expected true or false")
    return False if _anywhere(fields, "kind") in _SILENT_KINDS else said


def _gold_ids(fields: Fields) -> tuple[str, ...]:
    both = (*_texts(fields, "gold_ids"), *_texts(fields, "gold_documents"))
    return tuple(dict.fromkeys(both))


def _tags(fields: Fields) -> tuple[str, ...]:
    slices = [(name, _anywhere(fields, name)) for name in _SLICES]
    named = [f"{name}={value}" for name, value in slices if isinstance(value, str) and value]
    return (*named, *_texts(fields, "tags"))


def _anywhere(fields: Fields, name: str) -> object:
    return fields.get(name, _meta(fields).get(name))


def _meta(fields: Fields) -> Fields:
    meta = _or(fields.get("meta"), {})
    if not isinstance(meta, dict):
        raise DataError(f"'meta' is {meta!r}; expected an object")
    return cast("Fields", meta)


def _text(fields: Fields, name: str) -> str:
    value = _or(fields.get(name), "")
    if not isinstance(value, str):
        raise DataError(f"{name!r} is {value!r}; expected a text")
    return unicode(value)


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    """A list of texts, none of them empty; a field that is not there is an empty list."""
    values = _or(fields.get(name), [])
    if not isinstance(values, list):
        raise DataError(f"{name!r} is {values!r}; expected a list of texts")
    for value in cast("list[object]", values):
        if not isinstance(value, str) or is_blank(value):
            raise DataError(f"{name!r} holds {value!r}; expected texts that are not empty")
    return tuple(map(unicode, cast("list[str]", values)))


def _or(value: object, otherwise: object) -> object:
    """`otherwise` for null and for what is not there."""
    return otherwise if value is None else value


def _check_names(fields: Collection[str]) -> None:
    """Raise `DataError` for a name that is nearly one that counts: its gold would be lost in silence."""
    for name in fields:
        likely = get_close_matches(name, _KNOWN, 1, _LIKENESS)
        if name not in _KNOWN and likely and likely[0] not in fields:
            raise DataError(
                f"unknown field {name!r}; did you mean {likely[0]!r}? Put what is neither into 'meta'"
            )
