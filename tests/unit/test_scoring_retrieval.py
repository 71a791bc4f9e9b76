"""Metrics of what was found: duplicates, ties, gaps, own ids."""

import sys
from math import log2

import pytest

from distinguo.errors import ConfigError
from distinguo.records import Example, Question
from distinguo.results.rows import Row, Weighed
from distinguo.scoring.retrieval import NO_GOLD, cutoff, gold_grades, ranking, retrieval_values

ALL = ("recall@1", "recall@3", "recall@10", "success@1", "success@5", "nDCG@3", "nDCG@10", "MRR", "MRR@2")


def values(grades: dict, rankings: dict, *, measures=ALL, ignore_self: bool = False) -> dict:
    return retrieval_values(measures, grades, rankings, ignore_self=ignore_self)


def test_a_document_found_twice_counts_once() -> None:
    once = values({"q": {"A": 1}}, {"q": ["A"]})
    assert values({"q": {"A": 1}}, {"q": ["A", "A", "A"]}) == once
    assert all(found == {"q": 1.0} for found in once.values())


def test_duplicates_take_no_ranks() -> None:
    assert values({"q": {"A": 1}}, {"q": ["B", "B", "B", "A"]}, measures=["MRR"]) == {"MRR": {"q": 0.5}}


def test_passages_rank_their_documents_in_the_order_given_whatever_their_scores() -> None:
    row = Row(
        "q",
        "answered",
        evidence=tuple(
            Weighed(passage, passage.partition("#")[0], 1.0, "cosine") for passage in ("b#2", "a#1", "b#1")
        ),
    )
    assert ranking(row) == ("b", "a")
    assert ranking(Row("q", "answered", evidence=(Weighed("lone", "", 1.0, "cosine"),))) == ("lone",)


def test_moving_the_hit_down_lowers_what_looks_at_ranks() -> None:
    found = [
        values({"q": {"A": 1}}, {"q": [*"XYZ"[:above], "A"]}, measures=["nDCG@10", "MRR"])
        for above in range(4)
    ]
    assert [value["nDCG@10"]["q"] for value in found] == pytest.approx([1 / log2(2 + n) for n in range(4)])
    assert [value["MRR"]["q"] for value in found] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])


def test_a_question_that_nothing_was_found_for_counts_as_zero() -> None:
    found = values({"q1": {"A": 1}, "q2": {"A": 1}, "q3": {"A": 1}}, {"q1": ["A"], "q3": []})
    assert all(by_question == {"q1": 1.0, "q2": 0.0, "q3": 0.0} for by_question in found.values())
    assert all(by_question == {"q1": 0.0} for by_question in values({"q1": {"A": 1}}, {}).values())


def test_a_question_without_gold_documents_is_kept_and_undefined() -> None:
    found = values({"q1": {"A": 1}, "q2": {}, "q3": {"B": 0}}, {"q1": ["A"], "q2": ["A"], "q3": ["B"]})
    assert all(by_question == {"q1": 1.0, "q2": NO_GOLD, "q3": NO_GOLD} for by_question in found.values())
    assert values({"q2": {}}, {"q2": ["A"]}, measures=["MRR"]) == {"MRR": {"q2": NO_GOLD}}


def test_an_empty_context_is_no_recall() -> None:
    row = Row("q", "answered", evidence=(Weighed("", "", 1.0, "cosine"),))
    assert values({"q": {"Paris": 1}}, {"q": ranking(row)}, measures=["recall@10"]) == {
        "recall@10": {"q": 0.0}
    }


def test_judgements_of_irrelevance_alone_change_nothing() -> None:
    with_them = values({"q": {"A": 1, "B": 0, "C": -1}}, {"q": ["C", "B", "A"]})
    assert with_them == values({"q": {"A": 1}}, {"q": ["X", "Y", "A"]})


def test_grades_are_gains() -> None:
    found = values({"q": {"A": 3, "B": 1}}, {"q": ["B", "X", "A"]}, measures=["nDCG@10"])
    best = 3 + 1 / log2(3)
    assert found["nDCG@10"]["q"] == pytest.approx((1 + 3 / log2(4)) / best)


def test_own_ids_are_kept_or_ignored_as_is_said() -> None:
    grades, rankings = {"7": {"7": 1}, "8": {"9": 1}}, {"7": ["7"], "8": ["8", "9"]}
    assert values(grades, rankings, measures=["MRR"]) == {"MRR": {"7": 1.0, "8": 0.5}}
    assert values(grades, rankings, measures=["MRR"], ignore_self=True) == {"MRR": {"7": NO_GOLD, "8": 1.0}}


def test_found_questions_that_nobody_asked_are_left_aside() -> None:
    assert values({"q": {"A": 1}}, {"q": ["A"], "z": ["A"]}, measures=["MRR"]) == {"MRR": {"q": 1.0}}


def test_gold_ids_have_grade_one() -> None:
    examples = [Example(Question("q", "?"), gold_ids=("a", "b")), Example(Question("r", "?"))]
    assert gold_grades(examples) == {"q": {"a": 1, "b": 1}, "r": {}}


@pytest.mark.parametrize(
    "name", ["recall", "recall@0", "recall@01", "precision@5", "nDCG@", "ndcg@10", "MRR@", "R@5", "accuracy"]
)
def test_an_unknown_measure_is_refused_with_examples(name: str) -> None:
    with pytest.raises(ConfigError, match="'recall@5'"):
        cutoff(name)


def test_cutoffs_are_told() -> None:
    assert (cutoff("recall@12"), cutoff("MRR"), cutoff("MRR@3")) == (12, None, 3)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(ConfigError, match=r"distinguo\[eval\]"):
        values({"q": {"A": 1}}, {"q": ["A"]})
