"""What can be a question, and what is said of the rest."""

import pytest

from distinguo.errors import DataError
from distinguo.running.questions import LONGEST, question_of


def test_white_space_around_it_is_no_part_of_a_question() -> None:
    assert question_of(" When?\n", id="q").text == "When?"
    assert question_of("x" * LONGEST).text == "x" * LONGEST


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n\t\u3000", "empty"),
        ("x" * (LONGEST + 1), "expected at most 16,000"),
        ("caf\udce9?", "half a character"),
    ],
)
def test_the_rest_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        question_of(text)
