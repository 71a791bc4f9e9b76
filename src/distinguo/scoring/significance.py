"""How sure a mean or a difference is: seeded resampling, and exact counts where values are 0 or 1.

All functions give the same numbers whatever the order of the questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb, fsum, sqrt
from typing import TYPE_CHECKING, Final, final

from distinguo.scoring.value import Undefined, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES: Final = 10_000
LEVEL: Final = 0.95
_Z: Final = 1.959963984540054
"""The normal deviate of `LEVEL`."""
_AT_ONCE: Final = 500
"""Resamples drawn together: bounds the memory to this many times the number of questions."""


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """The 95 % interval from `low` to `high`; `kind` says how it was found."""

    low: float
    high: float
    kind: str


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the questions that have a number in both.

    Attributes:
        n: how many questions these are.
        only_first: questions with a number in the first run alone; `only_second`: in the second alone.
        difference: mean of the second minus mean of the first.
        interval: of the difference, by paired bootstrap.
        better: questions on which the second is better; `worse`: on which it is worse.
        p: two-sided, of a difference as large by chance: McNemar's exact test where all values are 0 or 1,
            else the paired permutation test (random signs).
        test: which of the two it was.
    """

    n: int
    only_first: int
    only_second: int
    difference: float
    interval: Interval
    better: int
    worse: int
    p: float
    test: str


def interval(values: Sequence[float], *, seed: int = 0) -> Interval | Undefined:
    """The interval of the mean of `values`: Wilson's for shares (all are 0 or 1), else a bootstrap."""
    if _is_binary(values):
        return wilson(round(sum(values)), len(values))
    return bootstrap(values, seed=seed)


def wilson(successes: int, n: int) -> Interval | Undefined:
    """The interval of a share (Wilson 1927): it is never empty and never leaves 0 to 1."""
    if n == 0:
        return Undefined("there are no questions")
    centre, square = successes + _Z**2 / 2, _Z**2
    spread = _Z * sqrt(successes * (n - successes) / n + square / 4)
    return Interval(
        max(0.0, (centre - spread) / (n + square)), min(1.0, (centre + spread) / (n + square)), "Wilson"
    )


def bootstrap(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval | Undefined:
    """The percentile interval of the mean over draws of questions with replacement (Efron 1979)."""
    if not values:
        return Undefined("there are no questions")
    import numpy as np

    kinds, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    drawn = np.concatenate(
        [
            generator.multinomial(len(values), counts / len(values), size) @ kinds / len(values)
            for generator, size in _rounds(seed, resamples)
        ]
    )
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), "bootstrap")


def compare(
    first: Mapping[str, Value], second: Mapping[str, Value], *, seed: int = 0
) -> Comparison | Undefined:
    """Compare two runs question by question: `first` is the baseline."""
    one, two = _numbers(first), _numbers(second)
    shared = sorted(one.keys() & two.keys())
    differences = [two[id_] - one[id_] for id_ in shared]
    spread = bootstrap(differences, seed=seed)
    if isinstance(spread, Undefined):
        return Undefined("the runs have no question in common that has a value in both")
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    is_binary = _is_binary([runs[id_] for runs in (one, two) for id_ in shared])
    return Comparison(
        n=len(shared),
        only_first=len(one) - len(shared),
        only_second=len(two) - len(shared),
        difference=fsum(differences) / len(differences),
        interval=spread,
        better=better,
        worse=worse,
        p=mcnemar(better, worse) if is_binary else permutation(differences, seed=seed),
        test="McNemar" if is_binary else "permutation",
    )


def mcnemar(better: int, worse: int) -> float:
    """The exact two-sided p of `better` gains against `worse` losses, each as likely as the other."""
    n, fewer = better + worse, min(better, worse)
    tail: int = sum(comb(n, count) for count in range(fewer + 1))
    return min(1.0, 2 * tail / 2**n)


def permutation(differences: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """The two-sided p of the mean of `differences` if the sign of each were a coin's, by `resamples` throws.

    The observed signs count as one of the throws, so that p is never 0.
    """
    import numpy as np

    sizes = np.sort(np.abs(np.asarray([d for d in differences if d], np.float64)))
    observed = abs(fsum(differences))
    extreme = sum(
        int(np.count_nonzero(np.abs(_signs(generator, size, len(sizes)) @ sizes) >= observed - 1e-12))
        for generator, size in _rounds(seed, resamples)
    )
    return (extreme + 1) / (resamples + 1)


def _signs(generator: np.random.Generator, rows: int, columns: int) -> NDArray[np.float64]:
    import numpy as np

    return generator.choice(np.array([-1.0, 1.0]), (rows, columns))


def _rounds(seed: int, resamples: int) -> Iterator[tuple[np.random.Generator, int]]:
    import numpy as np

    generator = np.random.default_rng(seed)
    for done in range(0, resamples, _AT_ONCE):
        yield generator, min(_AT_ONCE, resamples - done)


def _numbers(values: Mapping[str, Value]) -> dict[str, float]:
    return {id_: value for id_, value in values.items() if not isinstance(value, Undefined)}


def _is_binary(values: Sequence[float]) -> bool:
    return all(value in (0.0, 1.0) for value in values)
