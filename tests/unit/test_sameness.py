"""Texts that differ in layout alone have one essence; a word more or less is another text."""

import pytest

from distinguo.text.sameness import essence


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("The same words.", "the  same\nWORDS"),
        ("ﬁnd it", "find it"),
        ("co-operate", "co operate"),
        ("below < 5 %, -3 °C", "Below <5%; −3°C!"),
        ("dose ≤5 mg", "Dose <= 5 mg"),
        ("- a point of a list\n\n# A heading", "a point of a list a heading"),
        ("国際標準化に関する動向。", "国際標準化に関する動向"),
    ],
)
def test_layout_does_not_count(one: str, two: str) -> None:
    assert essence(one) == essence(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("version 4.1 of the manual", "version 4.2 of the manual"),
        ("open on Monday", "not open on Monday"),
        ("ab c", "a bc"),
        ("…", "!"),
        ("", " "),
        ("résumé", "resume"),
        ("at -5 degrees", "at 5 degrees"),
        ("less than <5 mg", "less than >5 mg"),
        ("written in C++", "written in C#"),
        ("rose 5%", "rose 5"),
    ],
)
def test_every_word_does(one: str, two: str) -> None:
    assert essence(one) != essence(two)


def test_half_a_character_is_no_error() -> None:
    assert len(essence("\ud800")) == 16
