"""One search: what an engine ranks, joined with the truth that it is in step with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple, final

from distinguo.backends.index.engine import Engine, Scores
from distinguo.backends.index.fusion import fuse
from distinguo.backends.index.truth import Truth
from distinguo.errors import ConfigError
from distinguo.records import Condition, Passage

if TYPE_CHECKING:
    from distinguo.protocols import Vector

POOL: Final = 100
"""How many passages each positive probe brings in before a signed lexical query re-scores them all."""

Probes = Sequence[tuple[str, float]]
"""Texts with their weights."""

Scored = tuple[tuple[Passage, float], ...]
"""Passages with their scores, best first, ties by passage id; of those that are the same words the first."""


class _Found(NamedTuple):
    """Sorts best first."""

    minus_score: float
    id: str
    number: int
    essence: bytes


@final
@dataclass(frozen=True, slots=True)
class Search:
    """A search of `engine`, joined with `truth`; passages that the truth does not have are left out."""

    truth: Truth
    engine: Engine
    where: Sequence[Condition]

    def lexical(self, probes: Probes, k: int) -> Scored:
        """The `k` best by the weighted sum of BM25 scores, out of the pools of the positive probes."""
        return self._read(self._lexical(probes, k, self._among()))

    def dense(self, vector: Vector, k: int) -> Scored:
        """The `k` best by inner product with `vector`."""
        return self._read(self._dense(vector, k, self._among()))

    def hybrid(self, probes: Probes, vector: Vector, k: int, *, depth: int) -> Scored:
        """The `k` best by reciprocal rank fusion of the `depth` best of both."""
        among = self._among()
        lists = (self._lexical(probes, depth, among), self._dense(vector, depth, among))
        scores = fuse([found.essence for found in ranking] for ranking in lists)
        first = {found.essence: found for found in sorted(lists[0] + lists[1], key=_by_id, reverse=True)}
        fused = (_Found(-score, first[e].id, first[e].number, e) for e, score in scores.items())
        return self._read(sorted(fused)[:k])

    def _lexical(self, probes: Probes, k: int, among: set[int] | None) -> list[_Found]:
        depth = k if len(probes) == 1 else max(k, POOL)
        return self._different(lambda depth: self._sum(probes, depth, among), k, depth)

    def _dense(self, vector: Vector, k: int, among: set[int] | None) -> list[_Found]:
        return self._different(lambda depth: self.engine.dense(vector, depth, among=among), k, k)

    def _sum(self, probes: Probes, depth: int, among: set[int] | None) -> Scores:
        engine = self.engine
        found = [(engine.lexical(text, depth, among=among), weight) for text, weight in probes if weight > 0]
        pool = {number for scores, _ in found for number in scores}
        if len(probes) > 1 and pool:
            found = [(engine.lexical(text, len(pool), among=pool), weight) for text, weight in probes]
        return {number: sum(weight * scores.get(number, 0.0) for scores, weight in found) for number in pool}

    def _different(self, search: Callable[[int], Scores], k: int, depth: int) -> list[_Found]:
        """The `k` best of different words that `search` finds: it looks deeper while equal ones fill it."""
        while True:
            scores = search(depth)
            ranked = sorted(
                _Found(-scores[number], id_, number, essence)
                for number, id_, essence in self.truth.keys(scores)
            )
            different: dict[bytes, _Found] = {}
            for found in ranked:
                different.setdefault(found.essence, found)
            if len(different) >= k or len(scores) < depth:
                return list(different.values())[:k]
            depth *= 4

    def _read(self, ranked: Sequence[_Found]) -> Scored:
        rows = {row.number: row.passage for row in self.truth.rows(found.number for found in ranked)}
        return tuple((rows[found.number], -found.minus_score) for found in ranked)

    def _among(self) -> set[int] | None:
        """Numbers of the passages that meet all conditions; None if there are no conditions."""
        for condition in self.where:
            self._check(condition)
        return self.truth.meeting(self.where) if self.where else None

    def _check(self, condition: Condition) -> None:
        field, comparison, value = condition.field, condition.comparison, condition.value
        if isinstance(value, tuple) != (comparison == "in"):
            expected = "several values" if comparison == "in" else "one value"
            raise ConfigError(f"the condition {field!r} {comparison} {value!r}: expected {expected}")
        if isinstance(value, bool) and comparison not in ("==", "!="):
            raise ConfigError(f"cannot order {field!r} against {value!r}; expected a number or a text")
        if not self.truth.has_field(field):
            names = self.truth.field_names()
            near = get_close_matches(field, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
            raise ConfigError(f"no document has the metadata field {field!r}; {hint}")


def _by_id(found: _Found) -> str:
    return found.id
