"""What searches read of one moment of a truth, so that they need not read it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar, final

from distinguo.backends.index.rows import Key, Row
from distinguo.backends.index.truth import Truth

_MOST_KEYS: Final = 50_000  # some 10 MB
_MOST_ROWS: Final = 5_000  # some 10 MB too


class _Numbered(Protocol):
    @property
    def number(self) -> int: ...


Item = TypeVar("Item", bound=_Numbered)


@final
class Recent:
    """Keys and rows of `truth` at the change `sequence`: of use in snapshots of that moment alone."""

    def __init__(self, truth: Truth, sequence: int) -> None:
        self.truth, self.sequence = truth, sequence
        self._keys: dict[int, Key] = {}
        self._rows: dict[int, Row] = {}

    def keys(self, numbers: Iterable[int]) -> list[Key]:
        """As `Truth.keys`; a hybrid search reads 200 of them, which takes a third of a millisecond."""
        return _known(self._keys, self.truth.keys, numbers, most=_MOST_KEYS)

    def rows(self, numbers: Iterable[int]) -> list[Row]:
        """As `Truth.rows`, in the order of `numbers`; the methods of a comparison find the same ones."""
        return _known(self._rows, self.truth.rows, numbers, most=_MOST_ROWS)


def _known(
    known: dict[int, Item], read: Callable[[Sequence[int]], list[Item]], numbers: Iterable[int], *, most: int
) -> list[Item]:
    """Those of `numbers` that exist, out of `known`, which takes up what has to be read."""
    wanted = list(numbers)
    if unknown := [number for number in wanted if number not in known]:
        if len(known) > most:
            known.clear()
            unknown = wanted
        known |= {item.number: item for item in read(unknown)}
    return [known[number] for number in wanted if number in known]
