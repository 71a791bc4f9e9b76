"""What holds of every metric, whatever the answer or the ranking."""

from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.retrieval import retrieval_values
from distinguo.scoring.significance import bootstrap, compare, wilson
from distinguo.scoring.value import Undefined, mean
from distinguo.scoring.wording import normalised, tokens

TEXTS = st.text(max_size=40) | st.text(alphabet="aA theB .,1天气\n", max_size=20)
DOCUMENTS = st.sampled_from("ABCDEFG")
RANKINGS = st.lists(DOCUMENTS, max_size=12)
GOLD = st.dictionaries(DOCUMENTS, st.integers(1, 3), min_size=1, max_size=4)
MEASURES = ("recall@1", "recall@3", "success@3", "nDCG@3", "nDCG@10", "MRR", "MRR@2")
VALUES = st.floats(0, 1)


def value(measure: str, gold: dict, ranked: list) -> float:
    return retrieval_values([measure], {"q": gold}, {"q": ranked}, ignore_self=False)[measure]["q"]


@pytest.mark.parametrize("name", ANSWER_METRICS)
@given(answer=TEXTS, golds=st.lists(TEXTS, max_size=3))
def test_a_value_of_an_answer_is_bounded_and_blind_to_the_order_of_golds(name, answer, golds) -> None:
    metric = ANSWER_METRICS[name]
    found = metric(answer, golds)
    assert isinstance(found, Undefined) or 0 <= found <= 1
    assert metric(answer, golds[::-1]) == found


@pytest.mark.parametrize("name", ANSWER_METRICS)
@given(answer=TEXTS, golds=st.lists(TEXTS, min_size=1, max_size=3))
def test_whether_a_value_is_defined_depends_on_the_gold_alone(name, answer, golds) -> None:
    metric = ANSWER_METRICS[name]
    assert isinstance(metric(answer, golds), Undefined) == isinstance(metric("", golds), Undefined)


@given(answer=TEXTS, golds=st.lists(TEXTS, min_size=1, max_size=3))
def test_an_exact_match_is_a_full_overlap_and_is_contained(answer, golds) -> None:
    if ANSWER_METRICS["EM"](answer, golds) == 1:
        assert ANSWER_METRICS["F1"](answer, golds) == 1
        assert ANSWER_METRICS["contains_words"](answer, golds) == 1


@given(text=TEXTS)
def test_normalising_twice_changes_nothing(text) -> None:
    once = normalised(text)
    assert normalised(once) == once
    assert "".join(tokens(text)) == once.replace(" ", "")


@pytest.mark.parametrize("measure", MEASURES)
@given(gold=GOLD, ranked=RANKINGS)
@settings(max_examples=40, deadline=None)
def test_a_value_of_a_ranking_is_bounded_and_safe_from_duplicates(measure, gold, ranked) -> None:
    found = value(measure, gold, ranked)
    assert 0 <= found <= 1
    doubled = [document for document in ranked for _ in range(2)]
    assert value(measure, gold, doubled) == found
    assert value(measure, gold, [*ranked, *ranked]) == found


@given(gold=GOLD, ranked=st.lists(DOCUMENTS, max_size=7, unique=True))
@settings(max_examples=60, deadline=None)
def test_values_are_those_of_the_formulas(gold, ranked) -> None:
    found = retrieval_values(MEASURES, {"q": gold}, {"q": ranked}, ignore_self=False)
    hits = [document in gold for document in ranked]
    first = next((rank for rank, is_hit in enumerate(hits, 1) if is_hit), None)
    gains = [gold.get(document, 0) / log2(rank + 1) for rank, document in enumerate(ranked, 1)]
    best = [gain / log2(rank + 1) for rank, gain in enumerate(sorted(gold.values(), reverse=True), 1)]
    expected = {
        "recall@1": sum(hits[:1]) / len(gold),
        "recall@3": sum(hits[:3]) / len(gold),
        "success@3": float(any(hits[:3])),
        "nDCG@3": sum(gains[:3]) / sum(best[:3]),
        "nDCG@10": sum(gains) / sum(best),
        "MRR": 1 / first if first else 0.0,
        "MRR@2": 1 / first if first and first <= 2 else 0.0,
    }
    assert {name: by_question["q"] for name, by_question in found.items()} == pytest.approx(expected)


@pytest.mark.parametrize("measure", MEASURES)
@given(
    ranked=st.lists(st.sampled_from("BCDEFG"), min_size=1, max_size=6, unique=True), place=st.integers(0, 5)
)
@settings(max_examples=30, deadline=None)
def test_moving_the_hit_down_never_helps(measure, ranked, place) -> None:
    above = min(place, len(ranked) - 1)
    higher = [*ranked[:above], "A", *ranked[above:]]
    lower = [*ranked[: above + 1], "A", *ranked[above + 1 :]]
    assert value(measure, {"A": 1}, lower) <= value(measure, {"A": 1}, higher)


@given(rows=st.permutations(list("pqrs")), rankings=st.lists(RANKINGS, min_size=4, max_size=4))
@settings(max_examples=30, deadline=None)
def test_the_order_of_a_file_changes_no_value(rows, rankings) -> None:
    runs = dict(zip("pqrs", rankings, strict=True))
    grades = {id_: {"A": 1, "B": 2} for id_ in "pqrs"}
    shuffled = {id_: grades[id_] for id_ in rows}, {id_: runs[id_] for id_ in rows}
    assert retrieval_values(MEASURES, *shuffled, ignore_self=False) == retrieval_values(
        MEASURES, grades, runs, ignore_self=False
    )


@given(values=st.lists(VALUES, min_size=1, max_size=12), order=st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_a_mean_and_its_interval_know_no_order_and_stay_within_the_values(values, order) -> None:
    shuffled = order.sample(values, len(values))
    assert mean(shuffled) == mean(values)
    found = bootstrap(values, resamples=1000)
    assert found == bootstrap(shuffled, resamples=1000)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9


@given(n=st.integers(1, 500), share=st.floats(0, 1))
def test_a_share_lies_in_its_interval(n, share) -> None:
    ones = round(share * n)
    found = wilson(ones, n)
    assert 0 <= found.low <= ones / n + 1e-12
    assert ones / n - 1e-12 <= found.high <= 1


@given(
    first=st.dictionaries(st.sampled_from("abcdef"), VALUES, min_size=1),
    second=st.dictionaries(st.sampled_from("abcdef"), VALUES, min_size=1),
)
@settings(max_examples=25, deadline=None)
def test_a_comparison_turned_around_is_its_mirror(first, second) -> None:
    there, back = compare(first, second), compare(second, first)
    if isinstance(there, Undefined):
        assert isinstance(back, Undefined)
        return
    assert there.difference == -back.difference
    assert (there.better, there.worse, there.n) == (back.worse, back.better, back.n)
    assert there.p == back.p
    assert 0 < there.p <= 1
