"""Shards part any ids: each id is in one, on every machine the same, and none is much larger than another."""

from hypothesis import given
from hypothesis import strategies as st

from distinguo.running.shards import WHOLE, Shard

ids = st.text(st.characters(exclude_categories=[]))


@given(ids, st.integers(1, 20))
def test_every_id_is_in_exactly_one_shard(name: str, count: int) -> None:
    assert sum(name in Shard(number, count) for number in range(1, count + 1)) == 1
    assert name in WHOLE


@given(st.integers(2, 8), st.text(max_size=3))
def test_no_shard_is_much_larger_than_another(count: int, prefix: str) -> None:
    size = 400 * count
    for number in range(1, count + 1):
        part = sum(f"{prefix}{name}" in Shard(number, count) for name in range(size))
        assert 280 < part < 520  # six standard deviations
