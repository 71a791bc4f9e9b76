"""Replies of small models, as they come."""

import time
from contextlib import suppress

import pytest

from distinguo.errors import ParseError
from distinguo.text.json_reply import STARTS, boolean, integers, parse_object, text_or_none


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


@pytest.mark.parametrize(
    "raw",
    [
        'No {} yet. {"score": 1}',
        '{"note": {"score": 2}} {"score": 1}',
        '{"note": 2,} {"score": 1,}',
        'As "x: {"score": 1,}',
    ],
)
def test_an_object_with_the_wanted_keys_comes_before_the_first(raw: str) -> None:
    assert parse_object(raw, "score") == {"score": 1}


def test_without_the_wanted_keys_the_first_object_is_what_there_is() -> None:
    assert parse_object('{"a": 1} {"b": 2}', "score") == {"a": 1}


def test_an_object_inside_a_broken_one_is_not_the_reply() -> None:
    with pytest.raises(ParseError):
        parse_object('{"draft": {"answer": "Rome"}, "answer": "Par', "answer")
    assert parse_object('{"seen": [{"n": 1},], "n": 2}', "n") == {"seen": [{"n": 1}], "n": 2}


@pytest.mark.parametrize(
    "piece",
    ['{"a":[', '{"a":', "{", '{"', '{"a', '{"a":"', '{"a":[1,{"a":1},', '{"\\\n', '\\"', ", ", '{"a":1}'],
)
@pytest.mark.parametrize("before", ["", '{"a":"', '{"'])
def test_a_reply_of_a_megabyte_is_read_at_once(before: str, piece: str) -> None:
    began = time.process_time()
    with suppress(ParseError):
        parse_object(before + piece * (1_000_000 // len(piece)), "wanted")
    assert time.process_time() - began < 3  # a second try at every brace takes minutes


def test_looking_for_an_object_has_an_end() -> None:
    assert parse_object('{"x"} ' * (STARTS - 1) + '{"score": 1}') == {"score": 1}
    with pytest.raises(ParseError):
        parse_object('{"x"} ' * STARTS + '{"score": 1}')


@pytest.mark.parametrize(
    "raw", ["", "no", "[1]", '{"answer": "cut', "{" * 5000, '{"a":[' * 5000, '{"n": ' + "9" * 5000 + "}"]
)
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


@pytest.mark.parametrize(
    ("text", "whole"), [(r"\ud83d", "\ufffd"), (r"x \ude00.", "x \ufffd."), (r"\ud83d\ude00", "\U0001f600")]
)
def test_half_a_surrogate_pair_becomes_a_character_that_can_be_written(text: str, whole: str) -> None:
    assert text_or_none(parse_object(f'{{"answer": "{text}"}}'), "answer", raw="") == whole


@pytest.mark.parametrize(
    ("value", "numbers"),
    [([2, 1], (2, 1)), ([], ()), (["1", " 2 "], (1, 2)), ([1.0, -3.0], (1, -3)), (1, (1,)), ("2", (2,))],
)
def test_whole_numbers_however_they_are_written(value: object, numbers: tuple[int, ...]) -> None:
    found = integers({"n": value}, "n", raw="")
    assert found == numbers
    assert all(type(number) is int for number in found)


@pytest.mark.parametrize(
    "value",
    [None, True, "one", "", [True], [1.5], [None], [[1]], ["1.5"], ["9" * 5000], ["١"], [float("inf")], {}],
)
def test_anything_but_whole_numbers_is_refused(value: object) -> None:
    with pytest.raises(ParseError):
        integers({"n": value}, "n", raw="")


@pytest.mark.parametrize("value", [None, 1, "true"])
def test_only_true_and_false_are_booleans(value: object) -> None:
    assert boolean({"b": True}, "b", raw="") is True
    with pytest.raises(ParseError):
        boolean({"b": value}, "b", raw="")
