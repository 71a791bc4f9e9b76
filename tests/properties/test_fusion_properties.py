from hypothesis import given
from hypothesis import strategies as st

from distinguo.backends.index.fusion import RRF_C, fuse

rankings = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=10), max_size=4)


@given(rankings)
def test_every_item_has_a_bounded_share(lists) -> None:
    scores = fuse(lists)
    assert scores.keys() == {item for ranking in lists for item in ranking}
    assert all(0 < score <= len(lists) / (RRF_C + 1) for score in scores.values())


@given(rankings.flatmap(lambda lists: st.tuples(st.just(lists), st.permutations(lists))))
def test_the_order_of_the_rankings_does_not_matter(pair) -> None:
    lists, permuted = pair
    assert fuse(lists) == fuse(permuted)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_one_ranking_keeps_its_order(items) -> None:
    scores = fuse([items])
    assert sorted(scores, key=lambda item: -scores[item]) == items
