"""Part the questions of a run among machines, by their ids alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Self, final

from distinguo.errors import ConfigError


@final
@dataclass(frozen=True, slots=True)
class Shard:
    """The `number`-th of `count` parts, from 1. Every id is in exactly one, on every machine the same."""

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise ConfigError(
                f"the shard {self.number}/{self.count} does not exist; expected 1/{self.count} "
                f"to {self.count}/{self.count}"
            )

    @classmethod
    def of(cls, text: str) -> Self:
        """The shard that `text` names, such as ``1/2``. Raises `ConfigError`."""
        if not re.fullmatch(r"[0-9]{1,9}/[1-9][0-9]{0,8}", text):
            raise ConfigError(
                f"the shard is {text!r}; expected its number and how many there are, like '1/2'"
            )
        number, _, count = text.partition("/")
        return cls(int(number), int(count))

    def __contains__(self, id: str) -> bool:  # noqa: A002  a question's own field
        return _lot(id) % self.count == self.number - 1


WHOLE: Final = Shard()
"""All questions."""


def _lot(id: str) -> int:  # noqa: A002
    return int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
