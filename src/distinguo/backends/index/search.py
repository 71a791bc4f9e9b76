"""One search: what an engine ranks, joined with the truth that it is in step with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, final

from distinguo.backends.index.engine import Engine, Scores
from distinguo.backends.index.recent import Recent
from distinguo.backends.index.rows import Key, Row
from distinguo.errors import ConfigError
from distinguo.records import Condition, Passage
from distinguo.trace import note

if TYPE_CHECKING:
    from distinguo.protocols import Vector

POOL: Final = 100
"""How many passages each positive probe brings in before a signed lexical query re-scores them all."""

_NOTHING: Final = 1e-4  # signed sums of BM25 scores that are all this small are rounding errors

Probes = Sequence[tuple[str, float]]
"""Texts with their weights."""

Scored = tuple[tuple[Passage, float], ...]
"""Passages with their scores, best first, ties by passage id; of those that are the same words the first."""


class _Named(Protocol):
    @property
    def number(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def essence(self) -> bytes: ...


Combine = Callable[[Iterable[Iterable[bytes]]], dict[bytes, float]]
"""Makes one ranking of several: the score of each item; see `distinguo.backends.index.fusion`."""

Item = TypeVar("Item", bound=_Named)
Read = Callable[[Iterable[int]], Sequence[Item]]


@final
@dataclass(frozen=True, slots=True)
class Search:
    """A search of `engine`, joined with the truth; passages that the truth does not have are left out."""

    recent: Recent
    engine: Engine
    where: Sequence[Condition]

    def lexical(self, probes: Probes, k: int) -> Scored:
        """The `k` best by the weighted sum of BM25 scores, out of the pools of the positive probes."""
        return _scored(self._lexical(probes, k, self.recent.rows))

    def dense(self, vector: Vector, k: int) -> Scored:
        """The `k` best by inner product with `vector`."""
        return _scored(self._dense(vector, k, self.recent.rows))

    def hybrid(self, probes: Probes, vector: Vector, k: int, *, depth: int, combine: Combine) -> Scored:
        """The `k` best of what `combine` makes of the `depth` best of both."""
        lists = (
            self._lexical(probes, depth, self.recent.keys),
            self._dense(vector, depth, self.recent.keys),
        )
        scores = combine([key.essence for key, _ in ranking] for ranking in lists)
        first: dict[bytes, Key] = {}
        for key, _ in lists[0] + lists[1]:
            known = first.setdefault(key.essence, key)
            if key.id < known.id:
                first[key.essence] = key
        best = sorted(first.values(), key=lambda key: (-scores[key.essence], key.id))[:k]
        rows = {row.number: row for row in self.recent.rows(key.number for key in best)}
        return tuple((rows[key.number].passage, scores[key.essence]) for key in best)

    def _lexical(self, probes: Probes, k: int, read: Read[Item]) -> list[tuple[Item, float]]:
        among = self._among()
        depth = k if len(probes) == 1 else max(k, POOL)
        return _different(lambda depth: self._sum(probes, depth, among), read, k, depth=depth)

    def _dense(self, vector: Vector, k: int, read: Read[Item]) -> list[tuple[Item, float]]:
        among = self._among()
        return _different(lambda depth: self.engine.dense(vector, depth, among=among), read, k, depth=k)

    def _sum(self, probes: Probes, depth: int, among: set[int] | None) -> Scores:
        engine = self.engine
        if len(probes) == 1 and probes[0][1] == 1.0:
            return engine.lexical(probes[0][0], depth, among=among)
        found = [(engine.lexical(text, depth, among=among), weight) for text, weight in probes if weight > 0]
        pool = {number for scores, _ in found for number in scores}
        if len(probes) > 1 and pool:
            found = [(engine.lexical(text, len(pool), among=pool), weight) for text, weight in probes]
        sums = _weighted(found, pool)
        is_signed = any(weight < 0 for _, weight in found)
        if not is_signed or any(abs(score) > _NOTHING for score in sums.values()):
            return sums
        note("probes cancel out", left_out=[text for text, weight in probes if weight < 0])
        return _weighted([(scores, weight) for scores, weight in found if weight > 0], pool)

    def _among(self) -> set[int] | None:
        """Numbers of the passages that meet all conditions; None if there are no conditions."""
        for condition in self.where:
            self._check(condition)
        return self.recent.truth.meeting(self.where) if self.where else None

    def _check(self, condition: Condition) -> None:
        field, comparison, value = condition.field, condition.comparison, condition.value
        if isinstance(value, tuple) != (comparison == "in"):
            expected = "several values" if comparison == "in" else "one value"
            raise ConfigError(f"the condition {field!r} {comparison} {value!r}: expected {expected}")
        if isinstance(value, bool) and comparison not in ("==", "!="):
            raise ConfigError(f"cannot order {field!r} against {value!r}; expected a number or a text")
        if not self.recent.truth.has_field(field):
            names = self.recent.truth.field_names()
            near = get_close_matches(field, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
            raise ConfigError(f"no document has the metadata field {field!r}; {hint}")


def _different(
    search: Callable[[int], Scores], read: Read[Item], k: int, *, depth: int
) -> list[tuple[Item, float]]:
    """The `k` best of different words that `search` finds, best first, ties by id.

    It looks deeper while passages of the same words, or such as are not there, fill the places.
    """
    while True:
        scores = search(depth)
        ranked = sorted(read(scores), key=lambda item: (-scores[item.number], item.id))
        different: dict[bytes, Item] = {}
        for item in ranked:
            different.setdefault(item.essence, item)
        if len(different) >= k or len(scores) < depth:
            return [(item, scores[item.number]) for item in different.values()][:k]
        depth *= 4


def _weighted(found: Sequence[tuple[Scores, float]], pool: Iterable[int]) -> Scores:
    return {number: sum(weight * scores.get(number, 0.0) for scores, weight in found) for number in pool}


def _scored(ranked: Iterable[tuple[Row, float]]) -> Scored:
    return tuple((row.passage, score) for row, score in ranked)
