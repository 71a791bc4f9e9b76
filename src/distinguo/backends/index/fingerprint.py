"""What an index was made with, so that it is never read with something else."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import final

from distinguo.errors import MismatchError


@final
@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The parts that decide what vectors, passages and terms are.

    Attributes:
        encoder: model, revision, pooling and prefixes: two encoders of one dimension are two vector spaces.
        dimension: length of a vector.
        tokeniser: what counts the tokens of a passage.
        chunking: limit and overlap.
        analyser: what makes terms of a text.
    """

    encoder: str
    dimension: int
    tokeniser: str
    chunking: str
    analyser: str

    def check(self, wanted: Fingerprint, *, index: str) -> None:
        """Raise `MismatchError` at the first part in which `wanted` differs."""
        for part in fields(self):
            made, now = getattr(self, part.name), getattr(wanted, part.name)
            if made != now:
                raise mismatch(index, part.name, made=made, now=now)


def mismatch(index: str, part: str, *, made: object, now: object) -> MismatchError:
    """The refusal of an index that was made with another `part`, and the two remedies."""
    return MismatchError(
        f"the index {index!r} was made with the {part} {made!r}, but is now opened with {now!r}: "
        f"what it holds would not fit. Use {made!r} again, or build it anew: distinguo index --rebuild"
    )
