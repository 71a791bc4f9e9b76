"""Metrics of answers beyond the examples of docs/metrics.md."""

import pytest

from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.value import Mean, Undefined, mean
from distinguo.scoring.wording import first_line, normalised, tokens

EM, F1 = ANSWER_METRICS["EM"], ANSWER_METRICS["F1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Spice\tGirls!", "spice girls"),
        ("Spice a Girls", "spice girls"),
        ("Atheneum and another", "atheneum and another"),
        ("well-known", "wellknown"),
        ("1930–1939", "19301939"),
        ("‘Röntgen’ «x»", "röntgen x"),
        ("ＲＥＡＤＩＮＧ", "reading"),
        ("STRASSE Straße", "strasse strasse"),
        ("Cafe\u0301", "café"),
        ("zero\u200bwidth", "zerowidth"),
        ("$5 + 5%", "5 5"),
        ("A", "a"),
        ("the The", "the the"),
        ("。", ""),
        ("", ""),
        ("नमस्ते", "नमस्ते"),
    ],
)
def test_what_changes_no_answer_is_taken_away(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天 3 月", ("今", "天", "3", "月")),
        ("iPhone手机", ("iphone", "手", "机")),
        ("カタカナ", ("カ", "タ", "カ", "ナ")),
        ("서울 특별시", ("서울", "특별시")),
        ("ไทย", ("ไ", "ท", "ย")),
        ("", ()),
    ],
)
def test_scripts_without_spaces_give_characters(text: str, expected: tuple[str, ...]) -> None:
    assert tokens(text) == expected


def test_the_first_line_is_the_first_that_says_something() -> None:
    assert (first_line("\n  \n 10 \nmore"), first_line(" \n")) == ("10", "")


@pytest.mark.parametrize("name", ANSWER_METRICS)
@pytest.mark.parametrize(
    "text", ["The north gate opens at seven.", "今天天气很好", "one\ntwo lines", "بوابة الشمال", "1,500"]
)
def test_an_answer_equal_to_its_gold_is_right_by_every_metric(name: str, text: str) -> None:
    assert ANSWER_METRICS[name](text, [text]) == 1
    assert ANSWER_METRICS[name](f"<think>\nno, {text}x\n</think>\n {text} ", ["other", text]) == 1


@pytest.mark.parametrize("name", ANSWER_METRICS)
@pytest.mark.parametrize("answer", ["", " ", "I can't help with that", "<think>Paris", "..."])
def test_what_says_nothing_right_is_zero_and_divides_by_nothing(name: str, answer: str) -> None:
    assert ANSWER_METRICS[name](answer, ["Paris"]) == 0


@pytest.mark.parametrize("name", ANSWER_METRICS)
@pytest.mark.parametrize("golds", [[], ["  "]])
def test_without_anything_to_compare_with_every_metric_is_undefined(name: str, golds: list[str]) -> None:
    assert isinstance(ANSWER_METRICS[name]("Paris", golds), Undefined)


@pytest.mark.parametrize("name", ["EM", "F1", "contains_normalised", "contains_words"])
def test_a_gold_of_signs_alone_matches_nothing(name: str) -> None:
    assert isinstance(ANSWER_METRICS[name]("?", ["?", "！"]), Undefined)
    assert ANSWER_METRICS[name]("", ["?", "Paris"]) == 0


def test_an_answer_in_another_script_is_wrong_and_not_always_right() -> None:
    assert EM("不知道", ["天气"]) == F1("不知道", ["天气"]) == 0
    assert EM("天气", ["天气"]) == 1


def test_a_gold_of_several_lines_is_held_against_the_whole_answer() -> None:
    assert EM("one\ntwo", ["one\ntwo"]) == 1
    assert EM("one\ntwo", ["one"]) == 1
    assert EM("one", ["one\ntwo"]) == 0


def test_a_word_of_the_gold_counts_as_often_as_the_answer_has_it() -> None:
    assert F1("seal seal seal", ["seal seal"]) == pytest.approx(0.8)


def test_words_are_found_at_both_ends() -> None:
    contains = ANSWER_METRICS["contains_words"]
    assert contains("north gate", ["gate"]) == contains("north gate", ["north"]) == 1
    assert contains("north gate", ["north south"]) == contains("north", ["north gate"]) == 0


def test_a_mean_tells_what_is_in_it_and_what_is_not() -> None:
    told = mean([1.0, Undefined("b"), 0.0, Undefined("a"), Undefined("b"), Undefined("c"), Undefined("d")])
    assert told == Mean(0.5, 2, 5, ("b", "a", "c"))


def test_a_mean_of_nothing_is_undefined_for_the_first_reason() -> None:
    assert mean([Undefined("prose"), Undefined("other")]) == Mean(
        Undefined("prose"), 0, 2, ("prose", "other")
    )
    assert isinstance(mean([]).value, Undefined)
