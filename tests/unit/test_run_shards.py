"""Shards are named as '1/2', and refused where they do not exist."""

import pytest

from distinguo.errors import ConfigError
from distinguo.running.shards import WHOLE, Shard


def test_a_shard_has_a_number_and_a_count() -> None:
    assert Shard.of("2/3") == Shard(2, 3)
    assert Shard.of("1/1") == WHOLE


@pytest.mark.parametrize(
    "text", ["", "1", "0/2", "3/2", "1/0", "1/2/3", "-1/2", "a/b", "1 / 2", "1/2\n", "²/2"]
)
def test_others_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="shard"):
        Shard.of(text)


def test_the_parting_never_changes() -> None:
    """Machines of different versions share one run: this may only change with the format of result files."""
    parts = [
        "".join(str(number) for number in range(10) if f"q{number}" in Shard(part, 3)) for part in (1, 2, 3)
    ]
    assert parts == ["045", "2678", "139"]
