"""Keeps a search engine in step with the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, final

from distinguo.backends.index.engine import Connect, Engine, Point
from distinguo.backends.index.rows import searchable
from distinguo.backends.index.truth import Truth
from distinguo.errors import DataError

_SLICE: Final = 256  # passages on their way to the engine at once: some 40 ms


class Following(Protocol):
    """How the processes of an index come by an engine that is in step with its truth."""

    def prepare(self, truth: Truth) -> None:
        """Called before each snapshot of which `engine` is then asked."""
        ...

    def engine(self, truth: Truth) -> Engine:
        """The engine for a search of the snapshot that `truth` shows; good until its end."""
        ...

    def committed(self, truth: Truth) -> None:
        """Told by the writer after each commit, and when it begins."""
        ...

    def is_due(self, truth: Truth) -> bool:
        """Whether a new generation is worth the time that it takes to build."""
        ...

    def faults(self, truth: Truth) -> Iterator[str]:
        """What is broken beside the engine, in plain words."""
        ...

    def close(self) -> None:
        """Let go of the engine."""
        ...


def replay(
    truth: Truth, engine: Engine, since: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> None:
    """Bring all that changed after `since` in the engine to what it is in the truth.

    To do so twice does no harm. Raises `DataError` if the truth has lost vectors or the engine fails.
    """
    changed = truth.changed_since(since)
    for start in range(0, len(changed), _SLICE):
        progress(start, len(changed))
        _apply(changed[start : start + _SLICE], truth, engine)


def _apply(numbers: Sequence[int], truth: Truth, engine: Engine) -> None:
    rows = truth.rows(numbers)
    vectors = truth.vectors({row.content for row in rows})
    if lost := {row.content for row in rows} - vectors.keys():
        raise DataError(
            f"the index has lost the vectors of {len(lost)} texts: build it anew: distinguo index --rebuild"
        )
    if rows:
        engine.upsert([Point(row.number, searchable(row.passage), vectors[row.content]) for row in rows])
    if gone := {*numbers} - {row.number for row in rows}:
        engine.delete(gone)


@final
class Shared:
    """One engine for all processes, a server: the writer alone changes it, and the others search.

    A search may meet it between two commits, or a moment before the truth: passages that the truth does not
    have are dropped from what it finds.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._truth: Truth | None = None  # the one that the engine is of
        self._reached: Engine | None = None

    def prepare(self, truth: Truth) -> None:
        """Nothing to do."""

    def engine(self, truth: Truth) -> Engine:
        """The one engine. Raises `DataError` if it was never given what `truth` shows."""
        engine, is_first = self._reach(truth)
        if is_first and truth.count() and not engine.count():
            self.close()
            raise DataError(
                "the server has nothing of this index yet, or no more; to send it there: distinguo index"
            )
        return engine

    def committed(self, truth: Truth) -> None:
        """Apply what the engine lacks, and record how far it came."""
        engine, is_first = self._reach(truth)
        sequence = truth.sequence
        if truth.applied != sequence:
            replay(truth, engine, truth.applied or 0)
            engine.flush()
            truth.keep_applied(sequence)
        if is_first and engine.count() != truth.count():  # it is another than it was, or lost something
            engine.delete(engine.numbers() - {*truth.numbers()})
            replay(truth, engine, 0)
            engine.flush()

    def is_due(self, truth: Truth) -> bool:
        """Never: the server optimises by itself."""
        return False

    def faults(self, truth: Truth) -> Iterator[str]:
        """An engine that is behind; the next writer mends that."""
        if (applied := truth.applied) != truth.sequence:
            yield f"the search engine is at change {applied}, the truth at {truth.sequence}"

    def close(self) -> None:
        """Let go of the connection."""
        if self._reached:
            self._reached.close()
        self._truth = self._reached = None

    def _reach(self, truth: Truth) -> tuple[Engine, bool]:
        """The engine, and whether this is the first that is seen of it."""
        if self._reached and self._truth is truth:
            return self._reached, False
        engine = self._connect(truth.identity, truth.fingerprint.dimension)
        self.close()
        self._truth, self._reached = truth, engine
        return engine, True
