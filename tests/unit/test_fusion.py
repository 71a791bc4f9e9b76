import pytest

from distinguo.backends.index.fusion import RRF_C, fuse
from distinguo.records import Hit, Passage, ReciprocalRank, Similarity


def _list(*ids: str) -> list[Hit]:
    return [Hit(Passage(id_, id_), Similarity(-rank, "s"), rank) for rank, id_ in enumerate(ids, 1)]


def _ids(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.passage.id for hit in hits]


def test_what_both_lists_hold_comes_first() -> None:
    hits = fuse([_list("a", "b"), _list("c", "b")], 3)
    assert _ids(hits) == ["b", "a", "c"]
    assert hits[0].score == ReciprocalRank(2 / (RRF_C + 2), "rrf")
    assert hits[1].score.value == pytest.approx(1 / 61)


def test_ranks_count_from_one_without_gaps() -> None:
    assert [hit.rank for hit in fuse([_list("a", "b", "c")], 2)] == [1, 2]


def test_a_duplicate_counts_once_and_those_below_move_up() -> None:
    assert fuse([_list("a", "a", "b")], 9) == fuse([_list("a", "b")], 9)


def test_the_same_words_in_another_layout_come_once_and_others_fill_the_place() -> None:
    assert _ids(fuse([_list("one two", "One: two!", "two")], 2)) == ["one two", "two"]


def test_ties_go_by_passage_id() -> None:
    assert _ids(fuse([_list("b"), _list("a")], 2)) == ["a", "b"]


def test_no_lists_give_nothing() -> None:
    assert fuse([], 5) == fuse([[], []], 5) == ()
