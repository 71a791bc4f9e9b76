"""In which scripts a text is written."""

import pytest

from distinguo.stages.search import tell_other_script
from distinguo.text.scripts import scripts
from distinguo.trace import Trace, tracing


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Who?", {"LATIN"}),
        ("谁赢得了 NFL？", {"CJK", "LATIN"}),
        ("من هو؟", {"ARABIC"}),
        ("42 …", set()),
    ],
)
def test_the_scripts_of_letters_are_told(text: str, found: set[str]) -> None:
    assert scripts(text) == found


@pytest.mark.parametrize(
    ("question", "written", "told"),
    [
        ("谁赢得了超级碗？", "The Patriots won.", 1),
        ("谁赢得了超级碗？", "新英格兰爱国者队 (Patriots) 赢得了", 0),
        ("who won", "The Patriots won.", 0),
        ("1 + 1 = ?", "Two.", 0),
        ("who won", "42", 0),
    ],
)
def test_a_query_without_a_letter_of_the_question_is_told(question: str, written: str, told: int) -> None:
    trace = Trace("t", "q")
    with tracing(trace):
        tell_other_script(question, written)
    assert [event.name for event in trace.events] == ["query in another script"] * told
