"""The engine that one process has to itself: a copy of the generation in force, and what changed since."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from distinguo.backends.index.edge import Edge
from distinguo.backends.index.folders import Held, clear
from distinguo.backends.index.following import replay
from distinguo.backends.index.generations import FOLDER, Generation
from distinguo.backends.index.room import reserve, reserve_copy
from distinguo.backends.index.truth import Truth
from distinguo.errors import DataError, DistinguoError
from distinguo.private import make_folder

READERS: Final = "readers"

LEAST: Final = 1_000
"""Changes that make a new generation worth while; to replay so many takes a quarter of a second."""

SHARE: Final = 0.1
"""... or this part of all passages, if that is more."""

_log: Final = logging.getLogger(__name__)


@final
@dataclass(slots=True)
class _Copy:
    truth: Truth
    held: Held
    edge: Edge
    generation: str  # as the manifest told it; what cannot be copied is not tried again
    sequence: int

    def close(self) -> None:
        with suppress(DistinguoError):  # it goes away anyhow
            self.edge.close()
        self.held.remove()


@final
class Copies:
    """The engine of this process alone. Nothing in it need be durable: the next process makes its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copy: _Copy | None = None

    def prepare(self, truth: Truth) -> None:
        """Go over to the generation in force. Raises `DataError` if there is no room for a copy."""
        copy, generation = self._copy, truth.generation
        if copy is None or copy.truth is not truth or copy.generation != generation:
            made = self._made(truth)
            self.close()
            self._copy = made

    def engine(self, truth: Truth) -> Edge:
        """The copy, with what changed since. Raises `DataError` if there is no room for that."""
        self._copy = copy = self._copy or self._made(truth)
        sequence = truth.sequence
        if copy.sequence != sequence:
            reserve(copy.held.path, (sequence - copy.sequence) * truth.fingerprint.dimension * 4)
            replay(truth, copy.edge, copy.sequence)
            copy.sequence = sequence
        return copy.edge

    def committed(self, truth: Truth) -> None:
        """Nothing to do: every process follows the truth by itself."""

    def is_due(self, truth: Truth) -> bool:
        """Whether enough has changed since the generation in force, or it is damaged."""
        told = truth.generation
        reached = Generation.parse(told).sequence if told else 0
        return truth.sequence - reached >= max(LEAST, SHARE * truth.count()) or any(self.faults(truth))

    def faults(self, truth: Truth) -> Iterator[str]:
        """Damage of the generation in force; `Index.settle` mends it."""
        while told := truth.generation:
            generation = Generation.parse(told)
            folder = self._folder / FOLDER / generation.name
            if generation.is_sound(folder):
                return
            if truth.generation == told:  # else another took its place, and it was cleared away
                yield f"the generation {str(folder)!r} of the search engine is damaged"
                return

    def close(self) -> None:
        """Remove the copy."""
        if self._copy is not None:
            self._copy.close()
            self._copy = None

    def _made(self, truth: Truth) -> _Copy:
        told = truth.generation
        generation = Generation.parse(told) if told else None
        behind = truth.sequence - (generation.sequence if generation else 0)
        held = self._place(generation, behind * truth.fingerprint.dimension * 4)
        try:
            edge = self._copied(generation, held.path / "copy") if generation else None
            if generation and edge:
                return _Copy(truth, held, edge, told, generation.sequence)
            if truth.generation == told:
                edge = Edge.create(held.path / "engine", truth.fingerprint.dimension)
                return _Copy(truth, held, edge, told, 0)
        except BaseException:
            held.remove()
            raise
        held.remove()
        return self._made(truth)  # another generation took its place, and it was cleared away

    def _copied(self, generation: Generation, target: Path) -> Edge | None:
        """An engine from the generation; None if it is damaged or gone."""
        folder = self._folder / FOLDER / generation.name
        try:
            generation.copy(folder, target)
            edge = Edge.load(target / "engine")
            if edge.count() == generation.count:
                return edge
            edge.close()
            _log.warning("the generation %s lost passages; all changes are replayed instead", folder)
        except (DataError, OSError) as error:
            _log.warning("cannot use a generation; all changes are replayed instead: %s", error)
        return None

    def _place(self, generation: Generation | None, size: int) -> Held:
        """A folder with room for a copy and `size` bytes of changes: in the index, best, to share files."""
        source = self._folder / FOLDER / generation.name if generation else None
        try:
            return _place(self._folder / READERS, source, size)
        except (OSError, DataError):  # it cannot be written, or is full
            readers = Path(tempfile.gettempdir()) / f"distinguo-{os.getuid()}"
        try:
            held = _place(readers, source, size)
        except OSError as error:
            raise DataError(
                f"neither {str(self._folder)!r} nor {str(readers)!r} can be written: {error.strerror}; "
                "a search needs a folder for its copy of the engine: set TMPDIR"
            ) from error
        if readers.stat().st_uid != os.getuid():
            held.remove()
            raise DataError(f"{str(readers)!r} belongs to somebody else: set TMPDIR to a folder of your own")
        return held


def _place(parent: Path, source: Path | None, size: int) -> Held:
    make_folder(parent)
    clear(parent, lambda _: False)
    if source:
        reserve_copy(parent, source)
    reserve(parent, size)
    return Held.new(parent)
