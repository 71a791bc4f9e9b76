"""Estimated tokens cover a text, in every script."""

from hypothesis import given
from hypothesis import strategies as st

from distinguo.text.pieces import Pieces


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in Pieces().spans(text)]


def test_letters_digits_and_signs_are_pieces() -> None:
    assert pieces("Refeeding, 1,250 g_x.") == ["Refeed", "ing", ",", "1", ",", "250", "g", "_", "x", "."]


def test_scripts_without_spaces_are_counted_by_character() -> None:
    assert pieces("国際標準") == ["国", "際", "標", "準"]
    assert pieces("ひらがな") == ["ひ", "ら", "が", "な"]
    assert pieces("ภาษา") == ["ภ", "า", "ษ", "า"]


@given(st.text())
def test_every_character_but_white_space_is_in_one_piece(text: str) -> None:
    covered = [position for start, end in Pieces().spans(text) for position in range(start, end)]
    missing = set(range(len(text))) - set(covered)
    assert len(covered) == len(set(covered))
    assert all(text[position].isspace() for position in missing)
