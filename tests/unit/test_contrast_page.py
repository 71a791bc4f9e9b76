"""What the page on contrast adds: who was chosen, and how far two lists are apart."""

import pytest

from bench.contrast import Apart, apart, best
from distinguo.records import Example, Question
from distinguo.results.rows import Row, Weighed

EXAMPLES = tuple(Example(Question(id_, "?"), ("gold",), ("d1",)) for id_ in "abcd")


def rows(answers: str, *passages: str) -> dict[str, Row]:
    evidence = tuple(Weighed(name, name, 1.0, "similarity") for name in passages)
    return {
        example.question.id: Row(example.question.id, "answered", answer=answer, evidence=evidence)
        for example, answer in zip(EXAMPLES, answers.split(), strict=True)
    }


def test_only_questions_that_the_one_has_right_and_the_other_wrong_are_looked_at() -> None:
    one, other = rows("gold gold gold no", "d1", "d2"), rows("no gold no no", "d3", "d4")
    assert apart(EXAMPLES, one, other, right_by="EM") == Apart(2, 2)
    assert apart(EXAMPLES, other, one, right_by="EM") == Apart(0, 0)
    assert apart(EXAMPLES, one, rows("no gold no no", "d2", "d9"), right_by="EM") == Apart(2, 0)
    assert (str(Apart(0, 0)), str(Apart(2, 1))[:12]) == ("none", "1 of 2, 0.50")


def test_passages_below_the_fifth_do_not_count() -> None:
    one, other = rows("gold no no no", *"12345x"), rows("no no no no", *"67890x")
    assert apart(EXAMPLES, one, other, right_by="EM") == Apart(1, 1)


def test_nothing_found_shares_nothing_and_does_not_count() -> None:
    one, other = rows("gold gold gold gold", "d1"), rows("no no no no")
    other["a"] = Row("a", "unreadable")
    assert apart(EXAMPLES, one, other, right_by="EM") == Apart(0, 0)


def test_beside_it_stands_what_all_questions_share() -> None:
    one, other = rows("gold no no no", "d1"), rows("no gold no no", "d2")
    assert apart(EXAMPLES, one, other, right_by="") == Apart(4, 4)


def test_the_best_on_the_development_questions_is_chosen() -> None:
    pytest.importorskip("ir_measures", reason="the extra 'eval' is not here")
    runs = {"worse": rows("x x x x", "d2", "d1"), "better": rows("x x x x", "d1", "d2")}
    assert best(EXAMPLES, runs, measure="nDCG@10") == "better"
