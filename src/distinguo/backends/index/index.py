"""An index on disk: the truth in SQLite, a search engine over it, and one process at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final, Self, final

from distinguo.backends.index.edge import ANALYSER, Edge
from distinguo.backends.index.engine import Scores
from distinguo.backends.index.fingerprint import Fingerprint, mismatch
from distinguo.backends.index.following import applied, follow, follower, reserve
from distinguo.backends.index.lock import Lock
from distinguo.backends.index.truth import Change, Row, Truth
from distinguo.errors import BackendError, ConfigError, DataError, DistinguoError
from distinguo.private import make_folder
from distinguo.records import Condition, Passage

if TYPE_CHECKING:
    from distinguo.protocols import Vector

POOL: Final = 100
"""How many passages each positive probe brings in before a signed lexical query re-scores them all."""

Scored = tuple[tuple[Passage, float], ...]
"""Passages with their scores, best first, ties by passage id; of those that are the same words the first."""


@final
class Index:
    """Passages with their vectors, searchable by words and by meaning.

    Safe to call from several threads; one call runs at a time, because the engine holds the interpreter lock.
    Every change is committed to SQLite first and then applied to the engine; opening applies what a crash
    left out, and builds an engine that is lost or damaged anew. Every method raises `DataError` when the disk
    fails.
    """

    def __init__(self, folder: Path, lock: Lock, truth: Truth, edge: Edge) -> None:
        self._folder, self._lock, self._truth, self._edge = folder, lock, truth, edge
        self._turn = RLock()

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(cls, folder: Path, *, encoder: str) -> Self:
        """The index in `folder`, to search it with the encoder of the fingerprint `encoder`.

        Raises:
            DataError: there is no index, or another process holds it.
            MismatchError: it was made with another encoder, analysis or version of Distinguo.
        """
        if not _is_there(folder):
            raise DataError(f"there is no index in {str(folder)!r}; build one: distinguo index <documents>")
        return cls._open(folder, lambda made: _check_readable(folder, made, encoder))

    @classmethod
    def make(cls, folder: Path, fingerprint: Fingerprint) -> Self:
        """The index in `folder`, to change it; a new one where there is none.

        Raises:
            DataError: another process holds it, or the folder cannot be written.
            MismatchError: any part of its fingerprint differs, or its version.
        """
        try:
            make_folder(folder)
        except OSError as error:
            raise DataError(f"cannot make the folder {str(folder)!r}: {error.strerror}") from error
        if not _is_there(folder):
            reserve(folder, 0)
        return cls._open(folder, lambda made: made.check(fingerprint, index=str(folder)), new=fingerprint)

    @classmethod
    def _open(
        cls, folder: Path, check: Callable[[Fingerprint], None], *, new: Fingerprint | None = None
    ) -> Self:
        lock = Lock.take(folder)
        truth: Truth | None = None
        try:
            path = folder / "truth.sqlite"
            truth = Truth.open(path) if new is None or path.exists() else Truth.create(path, new)
            check(truth.fingerprint)
            return cls(folder, lock, truth, follower(folder, truth))
        except BaseException:
            if truth is not None:
                truth.close()
            lock.close()
            raise

    # ── changing ─────────────────────────────────────────────────────────────────────────────────────────

    def unknown(self, contents: Iterable[str]) -> set[str]:
        """Those of `contents` (see `content_of`) whose vectors are not kept."""
        wanted = set(contents)
        with self._turn:
            return wanted - self._truth.vectors(wanted).keys()

    def keep_vectors(self, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Commit vectors by content, so that a later run need not make them again.

        Raises `BackendError` for a vector of another dimension or with a number that is not finite.
        """
        rows = [(content, _blob(vector, self.fingerprint.dimension)) for content, vector in vectors]
        with self._turn:
            reserve(self._folder, sum(len(blob) for _, blob in rows))
            self._truth.keep_vectors(rows)

    def replace(self, changes: Sequence[Change]) -> None:
        """Commit documents, each in place of that of its id. All passages' vectors must be kept already."""
        texts = sum(len(passage.text) for change in changes for passage in change.passages)
        passages = sum(len(change.passages) for change in changes)
        with self._turn:
            reserve(self._folder, 4 * (texts + passages * self.fingerprint.dimension))
            self._truth.replace(changes)
            follow(self._folder, self._truth, self._edge)

    def delete(self, documents: Iterable[str]) -> int:
        """Commit that documents are no more; how many of them there were."""
        with self._turn:
            reserve(self._folder, 0)
            count = self._truth.delete(documents)
            follow(self._folder, self._truth, self._edge)
            return count

    def keep_roots(self, roots: Sequence[str]) -> None:
        """Commit the places that the index is made from, in place of those before."""
        with self._turn:
            self._truth.keep_roots(roots)

    def sweep(self) -> None:
        """Forget vectors that no passage has."""
        with self._turn:
            self._truth.sweep()

    # ── searching ────────────────────────────────────────────────────────────────────────────────────────

    def lexical(
        self, probes: Sequence[tuple[str, float]], k: int, *, where: Sequence[Condition] = ()
    ) -> Scored:
        """The `k` best by the weighted sum of BM25 scores, out of the pools of the probes of positive weight.

        Raises `ConfigError` for a condition on a field that no document has.
        """
        with self._turn:
            among = self._meeting(where)
            depth = k if len(probes) == 1 else max(k, POOL)
            return self._best(lambda depth: self._sum(probes, depth, among), k, depth=depth)

    def dense(self, vector: Vector, k: int, *, where: Sequence[Condition] = ()) -> Scored:
        """The `k` best by inner product with `vector` (exact; of any length, never normalised here).

        Raises `ConfigError` for a vector of another dimension or a condition on a field that no document has.
        """
        if vector.shape != (self.fingerprint.dimension,):
            raise ConfigError(f"a vector of shape {vector.shape!r}; expected ({self.fingerprint.dimension},)")
        with self._turn:
            among = self._meeting(where)
            return self._best(lambda depth: self._edge.dense(vector, depth, among=among), k, depth=k)

    def passages(self, ids: Sequence[str]) -> tuple[Passage, ...]:
        """The passages with `ids`, in their order. Raises `DataError` for an id that is not there."""
        return tuple(row.passage for row in self._rows(ids))

    def vectors(self, ids: Sequence[str]) -> tuple[Vector, ...]:
        """The vectors of the passages with `ids`, float32, in their order. Raises `DataError`."""
        import numpy as np

        with self._turn:
            contents = [row.content for row in self._rows(ids)]
            blobs = self._truth.vectors(contents)
            return tuple(np.frombuffer(blobs[content], "<f4").astype(np.float32) for content in contents)

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────

    @property
    def fingerprint(self) -> Fingerprint:
        """What the index was made with."""
        return self._truth.fingerprint

    @property
    def fields(self) -> tuple[str, ...]:
        """The metadata fields that conditions can name."""
        with self._turn:
            return tuple(self._truth.field_names())

    def count(self) -> int:
        """The number of passages."""
        with self._turn:
            return self._truth.count()

    def hashes(self) -> dict[str, bytes]:
        """The documents' ids, and hashes of what they were when they were added (see `hash_of`)."""
        with self._turn:
            return self._truth.hashes()

    def corpus(self) -> str:
        """What tells the passages that can be found from those of every other index, wherever they lie."""
        with self._turn:
            contents = self._truth.contents()
        return sha256(
            "".join(f"{passage}\0{content}\n" for passage, content in contents).encode()
        ).hexdigest()

    def sources(self) -> dict[str, str]:
        """Where the documents came from, by id."""
        with self._turn:
            return self._truth.sources()

    def stamps(self) -> dict[str, str]:
        """The stamp of every document, by id."""
        with self._turn:
            return self._truth.stamps()

    def essences(self) -> dict[bytes, str]:
        """Documents' ids by the essence of their texts; of those that are the same words, the first."""
        with self._turn:
            return self._truth.essences()

    def roots(self) -> tuple[str, ...]:
        """The places that the index is made from, as `keep_roots` kept them."""
        with self._turn:
            return self._truth.roots()

    def check(self) -> tuple[str, ...]:
        """What is broken, in plain words; empty if passages, vectors and engine agree and files are sound."""
        with self._turn:
            return tuple(self._faults())

    def close(self) -> None:
        """Close all files and let the next process in. A second call does nothing."""
        with self._turn:
            with suppress(DistinguoError):  # all is committed; a failing close must not keep the lock
                self._edge.close()
            self._truth.close()
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _faults(self) -> Iterator[str]:
        yield from self._truth.faults()
        numbers, there = set(self._truth.numbers()), self._edge.numbers()
        if lacking := len(numbers - there):
            yield f"the search engine lacks {lacking} passages"
        if surplus := len(there - numbers):
            yield f"the search engine holds {surplus} passages that were deleted"
        if (reached := applied(self._folder)) != self._truth.sequence:
            yield f"the search engine is at change {reached}, the truth at {self._truth.sequence}"

    def _rows(self, ids: Sequence[str]) -> list[Row]:
        with self._turn:
            found = {row.passage.id: row for row in self._truth.rows_of(ids)}
        for id_ in ids:
            if id_ not in found:
                raise DataError(f"the index {str(self._folder)!r} has no passage {id_!r}")
        return [found[id_] for id_ in ids]

    def _sum(self, probes: Sequence[tuple[str, float]], depth: int, among: set[int] | None) -> Scores:
        found = [
            (self._edge.lexical(text, depth, among=among), weight) for text, weight in probes if weight > 0
        ]
        pool = {number for scores, _ in found for number in scores}
        if len(probes) > 1 and pool:
            found = [(self._edge.lexical(text, len(pool), among=pool), weight) for text, weight in probes]
        return {number: sum(weight * scores.get(number, 0.0) for scores, weight in found) for number in pool}

    def _best(self, search: Callable[[int], Scores], k: int, *, depth: int) -> Scored:
        """The `k` best of different words that `search` finds: it looks deeper while equal ones fill it."""
        while True:
            scores = search(depth)
            ranked = sorted(self._truth.rows(scores), key=lambda row: (-scores[row.number], row.passage.id))
            different: dict[bytes, tuple[Passage, float]] = {}
            for row in ranked:
                different.setdefault(row.essence, (row.passage, scores[row.number]))
            if len(different) >= k or len(scores) < depth:
                return tuple(different.values())[:k]
            depth *= 4

    def _meeting(self, where: Sequence[Condition]) -> set[int] | None:
        """Numbers of the passages that meet all conditions; None if there are no conditions."""
        for condition in where:
            self._check_condition(condition)
        return self._truth.meeting(where) if where else None

    def _check_condition(self, condition: Condition) -> None:
        field, comparison, value = condition.field, condition.comparison, condition.value
        if isinstance(value, tuple) != (comparison == "in"):
            expected = "several values" if comparison == "in" else "one value"
            raise ConfigError(f"the condition {field!r} {comparison} {value!r}: expected {expected}")
        if isinstance(value, bool) and comparison not in ("==", "!="):
            raise ConfigError(f"cannot order {field!r} against {value!r}; expected a number or a text")
        if not self._truth.has_field(field):
            names = self._truth.field_names()
            near = get_close_matches(field, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
            raise ConfigError(f"no document has the metadata field {field!r}; {hint}")


def _check_readable(folder: Path, made: Fingerprint, encoder: str) -> None:
    for part, was, now in (("encoder", made.encoder, encoder), ("analyser", made.analyser, ANALYSER)):
        if was != now:
            raise mismatch(str(folder), part, made=was, now=now)


def _blob(vector: Vector, dimension: int) -> bytes:
    import numpy as np

    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
        vector = vector.astype("<f4")
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise BackendError(
            f"the encoder gave a vector of shape {vector.shape!r} or with numbers that are not finite; "
            f"expected ({dimension},), all finite"
        )
    return vector.tobytes()


def _is_there(folder: Path) -> bool:
    path = folder / "truth.sqlite"
    try:
        return path.exists()
    except OSError as error:
        raise DataError(f"cannot look at {str(path)!r}: {error.strerror}") from error


def erase(folder: Path) -> None:
    """Remove the index in `folder`, if there is one. Raises `DataError` if a process holds it."""
    if not _is_there(folder):
        return
    lock = Lock.take(folder)
    try:
        # The truth goes first: without it there is no index, and to make one removes what else is left.
        for name in ("truth.sqlite", "truth.sqlite-wal"):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / "engine", ignore_errors=True)
    except OSError as error:
        raise DataError(f"cannot remove the index in {str(folder)!r}: {error.strerror}") from error
    finally:
        lock.close()
