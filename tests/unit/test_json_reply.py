"""Replies of small models, as they come."""

import pytest

from distinguo.errors import ParseError
from distinguo.text.json_reply import boolean, integers, parse_object, text_or_none


@pytest.mark.parametrize(
    "raw",
    [
        '{"score": 1}',
        'Sure! {"score": 1,}',
        '```json\n{"score": 1}\n```',
        'I use {braces} first. {"score": 1} and then {"score": 2}',
        '\ufeff {"score": 1}',
    ],
)
def test_the_first_object_is_found_however_it_is_wrapped(raw: str) -> None:
    assert parse_object(raw) == {"score": 1}


def test_forgiving_a_comma_changes_no_string() -> None:
    assert parse_object('{"a": "x, ]", "b": ["y", ],}') == {"a": "x, ]", "b": ["y"]}


@pytest.mark.parametrize("raw", ["", "no", "[1]", '{"answer": "cut', "{" * 5000])
def test_anything_else_is_refused_and_kept(raw: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_object(raw)
    assert caught.value.raw == raw


def test_null_is_silence_and_a_missing_key_is_not() -> None:
    assert text_or_none({"answer": None}, "answer", raw="") is None
    assert text_or_none({"answer": "null"}, "answer", raw="") is None
    assert text_or_none({"answer": " 10\n"}, "answer", raw="") == "10"
    with pytest.raises(ParseError):
        text_or_none({}, "answer", raw="")
    with pytest.raises(ParseError):
        text_or_none({"answer": 10}, "answer", raw="")


@pytest.mark.parametrize("value", [None, 1, ["1"], [1.0], [True]])
def test_only_lists_of_whole_numbers_are_integers(value: object) -> None:
    assert integers({"n": [2, 1]}, "n", raw="") == (2, 1)
    with pytest.raises(ParseError):
        integers({"n": value}, "n", raw="")


@pytest.mark.parametrize("value", [None, 1, "true"])
def test_only_true_and_false_are_booleans(value: object) -> None:
    assert boolean({"b": True}, "b", raw="") is True
    with pytest.raises(ParseError):
        boolean({"b": value}, "b", raw="")
