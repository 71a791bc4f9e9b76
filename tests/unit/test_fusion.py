import pytest

from distinguo.backends.index.fusion import RRF_C, fuse, interleave


def test_shares_of_all_rankings_add_up() -> None:
    assert fuse(["ab", "cb"]) == pytest.approx(
        {"a": 1 / (RRF_C + 1), "b": 2 / (RRF_C + 2), "c": 1 / (RRF_C + 1)}
    )


def test_a_duplicate_counts_once_and_those_below_move_up() -> None:
    assert fuse(["aab"]) == fuse(["ab"])


def test_the_constant_can_be_chosen() -> None:
    assert fuse(["a"], c=9.0) == {"a": 0.1}


def test_no_rankings_give_nothing() -> None:
    assert fuse([]) == fuse([[], []]) == {}


def test_by_turns_the_first_ranking_begins_and_nothing_stands_twice() -> None:
    assert interleave(["ab", "cad"]) == {"a": 1, "c": 1 / 2, "b": 1 / 3, "d": 1 / 4}
    assert interleave([]) == {}
    assert list(interleave([[None, "a"], []])) == [None, "a"], "any item can stand in a ranking"
