"""Scores keep their scales apart; the other records are plain values."""

import dataclasses
import math

import pytest

from distinguo.errors import ConfigError, ScaleError
from distinguo.records import (
    Abstention,
    Answer,
    Bm25,
    Evidence,
    Example,
    Failure,
    Logit,
    Passage,
    Probability,
    Query,
    Question,
    ReciprocalRank,
    Result,
    Similarity,
    Unreadable,
)

SCALES = (Probability, Logit, Similarity, Bm25, ReciprocalRank)


@pytest.mark.parametrize("scale", SCALES)
def test_scores_of_one_scale_are_ordered_by_value(scale):
    low, high = scale(0.2, "critic"), scale(0.7, "other critic")
    assert high > low
    assert high >= low
    assert low < high
    assert low <= high
    assert scale(0.5) >= scale(0.5)
    assert not scale(0.5) > scale(0.5)
    assert max([low, high, scale(0.4)]) is high


@pytest.mark.parametrize("compare", ["__ge__", "__gt__", "__le__", "__lt__"])
@pytest.mark.parametrize("one", SCALES)
@pytest.mark.parametrize("other", SCALES)
def test_scores_of_two_scales_are_never_compared(one, other, compare):
    if one is other:
        getattr(one(0.6), compare)(other(0.5))
        return
    with pytest.raises(ScaleError, match=f"{one.__name__}.*{other.__name__}"):
        getattr(one(0.6), compare)(other(0.5))


def test_a_threshold_on_logits_does_not_pass_as_a_probability():
    logits = [Logit(0.6, "cross-encoder"), Logit(5.0, "cross-encoder")]
    with pytest.raises(ScaleError, match="give the threshold on the scale 'Logit'"):
        _ = [score for score in logits if score >= Probability(0.5)]


def test_a_bare_number_is_no_threshold():
    with pytest.raises(ScaleError, match=r"0\.5"):
        _ = Probability(0.6) >= 0.5


def test_a_wrong_scale_is_something_that_the_user_can_mend():
    assert issubclass(ScaleError, ConfigError)


@pytest.mark.parametrize("value", [-0.001, 1.001, math.nan, math.inf, 8.1])
def test_a_probability_lies_between_zero_and_one(value):
    with pytest.raises(ScaleError, match="from 0 to 1"):
        Probability(value, "critic")


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_the_range_are_probabilities(value):
    assert Probability(value).value == value


@pytest.mark.parametrize("scale", [Logit, Similarity, Bm25, ReciprocalRank])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_scores_are_finite(scale, value):
    with pytest.raises(ScaleError, match=r"'critic'.*finite"):
        scale(value, "critic")


def test_equal_numbers_on_two_scales_are_two_scores():
    assert Probability(0.5) != Logit(0.5)
    assert Probability(0.5, "a") == Probability(0.5, "a")


def test_a_scale_has_the_name_that_results_write():
    assert [scale(0.5).scale for scale in SCALES] == [
        "probability",
        "logit",
        "similarity",
        "bm25",
        "reciprocalrank",
    ]


def test_records_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Question("q1", "Who?").text = "Why?"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_query_of_one_text_is_one_probe_of_weight_one():
    (probe,) = Query.of("who?").probes
    assert (probe.text, probe.weight, probe.role) == ("who?", 1.0, "main")


def test_an_example_without_gold_can_only_be_met_with_silence():
    assert Example(Question("q1", "Who?"), gold=("Ann",)).is_answerable
    assert not Example(Question("q1", "Who?")).is_answerable


def test_an_abstention_keeps_what_was_weighed():
    evidence = Evidence(Passage("p1", "text"), Probability(0.2))
    assert Abstention.because("fragile evidence", iter([evidence])).evidence == (evidence,)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Answer("Ann"), "answered"),
        (Abstention("no evidence"), "abstained"),
        (Unreadable("not JSON", "well"), "unreadable"),
        (Failure("BackendError", "down"), "failed"),
    ],
)
def test_every_question_ends_in_one_of_four_states(outcome, state):
    assert Result(Question("q1", "Who?"), outcome, trace="t1", seconds=0.1).state == state
