from hypothesis import given
from hypothesis import strategies as st

from distinguo.backends.index.fusion import RRF_C, fuse
from distinguo.records import Hit, Passage, Similarity

rankings = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=10), max_size=4)


def _hits(ids: list[str]) -> list[Hit]:
    return [Hit(Passage(id_, id_), Similarity(1 / rank), rank) for rank, id_ in enumerate(ids, 1)]


@given(rankings, st.integers(1, 12))
def test_each_passage_once_best_first_and_bounded(lists, k) -> None:
    hits = fuse(map(_hits, lists), k)
    ids = [hit.passage.id for hit in hits]
    assert len(ids) == len(set(ids)) == min(k, len({id_ for ids in lists for id_ in ids}))
    order = [(-hit.score.value, hit.passage.id) for hit in hits]
    assert order == sorted(order)
    assert all(0 < hit.score.value <= len(lists) / (RRF_C + 1) for hit in hits)


@given(rankings.flatmap(lambda lists: st.tuples(st.just(lists), st.permutations(lists))))
def test_the_order_of_the_lists_does_not_matter(pair) -> None:
    lists, permuted = pair
    assert fuse(map(_hits, lists), 9) == fuse(map(_hits, permuted), 9)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_one_list_keeps_its_order(ids) -> None:
    assert [hit.passage.id for hit in fuse([_hits(ids)], 9)] == ids
