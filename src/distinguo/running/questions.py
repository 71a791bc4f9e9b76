"""Turn a user's text into a question, or say why it cannot be one."""

from __future__ import annotations

from typing import Final

from distinguo.errors import DataError
from distinguo.records import Question

LONGEST: Final = 16_000
"""Characters, about 4,000 tokens of English; longer texts are documents."""


def question_of(text: str, *, id: str = "") -> Question:  # noqa: A002  the record's own field
    """The question `text`, without the white space around it. Raises `DataError`."""
    asked = text.strip()
    if not asked:
        raise DataError(f"the question is empty: {text!r}; expected at least one word")
    try:
        asked.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"the question {asked!r} is not Unicode: it holds half a character; type it again"
        ) from error
    if len(asked) > LONGEST:
        raise DataError(
            f"the question {asked[:40] + '…'!r} has {len(asked):,} characters; expected at most {LONGEST:,}. "
            "Index long texts as documents, and ask about them"
        )
    return Question(id or "question", asked)
