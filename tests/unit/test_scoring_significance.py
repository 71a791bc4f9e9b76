"""Intervals and comparisons, against hand-worked values."""

import random

import pytest

from distinguo.scoring.significance import (
    Comparison,
    Interval,
    bootstrap,
    compare,
    interval,
    mcnemar,
    permutation,
    wilson,
)
from distinguo.scoring.value import Undefined

SOME = [0.0, 0.25, 0.5, 0.5, 0.75, 1.0, 1.0, 0.1]


def test_shares_have_wilsons_interval_and_other_means_a_bootstrap() -> None:
    assert interval([1.0, 0.0, 1.0]) == wilson(2, 3)
    assert interval(SOME) == bootstrap(SOME)
    assert isinstance(interval([]), Undefined)
    assert isinstance(bootstrap([]), Undefined)


def test_a_bootstrap_is_near_the_normal_interval_of_many_values() -> None:
    drawn = random.Random(7)
    values = [drawn.gauss(0.5, 0.1) for _ in range(400)]
    found = bootstrap(values)
    centre = sum(values) / len(values)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((centre - 0.0098, centre + 0.0098), abs=0.0015)


def test_resampling_is_seeded_and_blind_to_order() -> None:
    assert bootstrap(SOME) == bootstrap(SOME[::-1])
    assert bootstrap(SOME, seed=1) != bootstrap(SOME, seed=2)
    signed = [0.5, -0.25, 0.75, 0.1]
    assert permutation(signed) == permutation(signed[::-1])


def test_values_that_are_all_equal_have_an_interval_without_width() -> None:
    assert bootstrap([0.5] * 9) == Interval(0.5, 0.5, "bootstrap")


def test_mcnemar_is_a_coins_two_sided_tail() -> None:
    assert mcnemar(0, 0) == 1
    assert mcnemar(6, 0) == mcnemar(0, 6) == pytest.approx(2 / 64)
    assert mcnemar(7, 2) == pytest.approx(2 * (1 + 9 + 36) / 512)


def test_a_permutation_test_agrees_with_the_exact_tail() -> None:
    assert permutation([1.0] * 7 + [-1.0] * 2) == pytest.approx(mcnemar(7, 2), abs=0.02)
    assert permutation([0.0, 0.0]) == 1
    assert 0 < permutation([1.0] * 40) < 0.001


def test_two_runs_are_compared_where_both_have_a_number() -> None:
    first = {"a": 1.0, "b": 0.0, "c": 0.0, "d": Undefined("x"), "only": 1.0}
    second = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "new": 0.0, "newer": 0.0}
    found = compare(first, second)
    assert isinstance(found, Comparison)
    assert (found.n, found.only_first, found.only_second) == (3, 1, 3)
    assert found.difference == pytest.approx(2 / 3)
    assert (found.better, found.worse, found.p, found.test) == (2, 0, 0.5, "McNemar")


def test_values_between_are_compared_by_permutation() -> None:
    found = compare({"a": 0.5, "b": 0.2}, {"a": 0.7, "b": 0.1})
    assert isinstance(found, Comparison)
    assert (found.test, found.better, found.worse) == ("permutation", 1, 1)
    assert found.interval.low == pytest.approx(-0.1)
    assert found.interval.high == pytest.approx(0.2)


def test_runs_without_a_common_question_are_not_compared() -> None:
    assert isinstance(compare({"a": 1.0}, {"b": 1.0}), Undefined)
