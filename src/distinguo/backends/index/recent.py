"""Keys that searches read of one moment of a truth, so that they need not read them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from distinguo.backends.index.rows import Key
from distinguo.backends.index.truth import Truth

_MOST: Final = 50_000  # some 10 MB


@final
class Recent:
    """Keys of `truth` at the change `sequence`: of use in snapshots of that moment alone."""

    def __init__(self, truth: Truth, sequence: int) -> None:
        self.truth, self.sequence = truth, sequence
        self._known: dict[int, Key] = {}

    def keys(self, numbers: Iterable[int]) -> list[Key]:
        """As `Truth.keys`; a hybrid search reads 200 of them, which takes a third of a millisecond."""
        known, wanted = self._known, list(numbers)
        if unknown := [number for number in wanted if number not in known]:
            if len(known) > _MOST:
                known.clear()
                unknown = wanted
            known |= {key.number: key for key in self.truth.keys(unknown)}
        return [known[number] for number in wanted if number in known]
