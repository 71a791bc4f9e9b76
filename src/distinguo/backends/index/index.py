"""An index on disk: the truth in SQLite, one writer at a time, and searches from any number of processes."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final, Self, final

from distinguo.backends.index.building import Progress, build_apart
from distinguo.backends.index.copies import READERS, Copies
from distinguo.backends.index.edge import ANALYSER
from distinguo.backends.index.engine import Connect
from distinguo.backends.index.fingerprint import Fingerprint, mismatch
from distinguo.backends.index.folders import clear
from distinguo.backends.index.following import Following, Shared
from distinguo.backends.index.fusion import fuse
from distinguo.backends.index.generations import FOLDER
from distinguo.backends.index.lock import Lock
from distinguo.backends.index.origins import identity_of, sources_of
from distinguo.backends.index.recent import Recent
from distinguo.backends.index.room import reserve
from distinguo.backends.index.rows import Change, Row
from distinguo.backends.index.search import POOL, Combine, Probes, Scored, Search
from distinguo.backends.index.sqlite import sides
from distinguo.backends.index.truth import FILE, Truth
from distinguo.errors import BackendError, ConfigError, DataError
from distinguo.private import make_folder
from distinguo.records import Condition, Passage

if TYPE_CHECKING:
    from distinguo.protocols import Vector

__all__ = ["POOL", "Index", "Scored", "erase", "sources_of"]

_log: Final = logging.getLogger(__name__)


@final
class Index:
    """Passages with their vectors, searchable by words and by meaning.

    Any number of processes may have it open to search; one at a time may have it open to change it. A change
    is committed to SQLite and then there for all. Every search sees all that was committed before it, and
    nothing of what is committed during it.

    Safe to call from several threads; one call runs at a time, because the engine holds the interpreter lock.
    Every method raises `DataError` when the disk fails.
    """

    def __init__(self, folder: Path, truth: Truth, server: Connect | None, lock: Lock | None) -> None:
        self._folder, self._truth, self._lock = folder, truth, lock
        self._following: Following = Shared(server) if server else Copies(folder)
        self._recent, self._turn = Recent(truth, 0), RLock()

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(cls, folder: Path, *, encoder: str, server: Connect | None = None) -> Self:
        """The index in `folder`, to search it with the encoder of the fingerprint `encoder`.

        `server` reaches an engine that all processes share; without it each makes its own, embedded.

        Raises:
            DataError: there is no index.
            MismatchError: it was made with another encoder, analysis or version of Distinguo.
        """
        if not _is_there(folder):
            raise DataError(f"there is no index in {str(folder)!r}; build one: distinguo index <documents>")
        truth = Truth.open(folder / FILE)
        try:
            _check_readable(folder, truth.fingerprint, encoder)
        except BaseException:
            truth.close()
            raise
        return cls(folder, truth, server, None)

    @classmethod
    def make(cls, folder: Path, fingerprint: Fingerprint, *, server: Connect | None = None) -> Self:
        """The index in `folder`, to change it; a new one where there is none.

        Raises:
            DataError: another process has it open to change it, or the folder cannot be written.
            MismatchError: any part of its fingerprint differs, or its version.
        """
        try:
            make_folder(folder)
        except OSError as error:
            raise DataError(f"cannot make the folder {str(folder)!r}: {error.strerror}") from error
        is_new = not _is_there(folder)
        if is_new:
            reserve(folder, 0)
        lock = Lock.take(folder)
        truth: Truth | None = None
        try:
            path = folder / FILE
            truth = Truth.open(path, "write") if path.exists() else Truth.create(path, fingerprint)
            truth.fingerprint.check(fingerprint, index=str(folder))
            index = cls(folder, truth, server, lock)
            index._following.committed(truth)
        except BaseException:
            if truth is not None:
                truth.close()
            lock.close()
            raise
        return index

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
        with self._changing():
            reserve(self._folder, sum(len(blob) for _, blob in rows))
            self._truth.keep_vectors(rows)

    def replace(self, changes: Sequence[Change]) -> None:
        """Commit documents, each in place of that of its id. All passages' vectors must be kept already."""
        texts = sum(len(passage.text) for change in changes for passage in change.passages)
        passages = sum(len(change.passages) for change in changes)
        with self._changing():
            reserve(self._folder, 4 * (texts + passages * self.fingerprint.dimension))
            self._truth.replace(changes)
            self._following.committed(self._truth)

    def delete(self, documents: Iterable[str]) -> int:
        """Commit that documents are no more; how many of them there were."""
        with self._changing():
            reserve(self._folder, 0)
            count = self._truth.delete(documents)
            self._following.committed(self._truth)
            return count

    def keep_roots(self, roots: Sequence[str]) -> None:
        """Commit the places that the index is made from, in place of those before."""
        with self._changing():
            self._truth.keep_roots(roots)

    def sweep(self) -> None:
        """Forget vectors that no passage has."""
        with self._changing():
            self._truth.sweep()

    def settle(self, progress: Progress = lambda done, total: None) -> None:
        """Call it when a series of changes is complete: it makes them quick to load for every process.

        A child process builds a new generation of the engine, where enough has changed; searches go on. If it
        fails, the generation before stays in force, and the log says why.
        """
        with self._changing():
            self._truth.keep_settled()
            is_due = self._following.is_due(self._truth)
        try:
            if is_due:
                build_apart(self._folder / FILE, progress)
        except DataError as error:
            _log.warning("%s; searches take longer to begin until the next one", error)

    # ── searching ────────────────────────────────────────────────────────────────────────────────────────

    def lexical(self, probes: Probes, k: int, *, where: Sequence[Condition] = ()) -> Scored:
        """The `k` best by the weighted sum of BM25 scores, out of the pools of the probes of positive weight.

        Raises `ConfigError` for a condition on a field that no document has.
        """
        with self._search(where) as search:
            return search.lexical(probes, k)

    def dense(self, vector: Vector, k: int, *, where: Sequence[Condition] = ()) -> Scored:
        """The `k` best by inner product with `vector` (of any length, never normalised here).

        Raises `ConfigError` for a vector of another dimension or a condition on a field that no document has.
        """
        self._check_vector(vector)
        with self._search(where) as search:
            return search.dense(vector, k)

    def hybrid(
        self,
        probes: Probes,
        vector: Vector,
        k: int,
        *,
        depth: int,
        combine: Combine = fuse,
        where: Sequence[Condition] = (),
    ) -> Scored:
        """The `k` best of what `combine` makes of the `depth` best of both. Raises as they do."""
        self._check_vector(vector)
        with self._search(where) as search:
            return search.hybrid(probes, vector, k, depth=depth, combine=combine)

    def passages(self, ids: Sequence[str]) -> tuple[Passage, ...]:
        """The passages with `ids`, in their order. Raises `DataError` for an id that is not there."""
        with self._reading():
            return tuple(row.passage for row in self._rows(ids))

    def vectors(self, ids: Sequence[str]) -> tuple[Vector, ...]:
        """The vectors of the passages with `ids`, float32, in their order. Raises `DataError`."""
        import numpy as np

        with self._reading():
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
        with self._reading():
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
            faults = [*self._truth.faults(), *self._following.faults(self._truth)]
            with self._search(()) as search:
                numbers, there = set(self._truth.numbers()), search.engine.numbers()
        if lacking := len(numbers - there):
            faults.append(f"the search engine lacks {lacking} passages")
        if surplus := len(there - numbers):
            faults.append(f"the search engine holds {surplus} passages that were deleted")
        return tuple(faults)

    def close(self) -> None:
        """Close all files and let the next writer in. A second call does nothing."""
        with self._turn:
            self._following.close()
            self._truth.close()
            if self._lock:
                self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _search(self, where: Sequence[Condition]) -> Generator[Search]:
        with self._turn:
            self._renew()
            self._following.prepare(self._truth)
            with self._truth.snapshot():
                engine, sequence = self._following.engine(self._truth), self._truth.sequence
                if (self._recent.truth, self._recent.sequence) != (self._truth, sequence):
                    self._recent = Recent(self._truth, sequence)
                yield Search(self._recent, engine, where)

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Alone in this process, at one moment of the truth."""
        with self._turn:
            self._renew()
            with self._truth.snapshot():
                yield

    def _renew(self) -> None:
        """Go over to the index that was built anew in place of this one, if one was, once it is complete."""
        if self._lock or not self._truth.is_replaced():
            return
        new = Truth.open(self._folder / FILE)
        try:
            new.fingerprint.check(self.fingerprint, index=str(self._folder))
        except BaseException:
            new.close()
            raise
        old, self._truth = (self._truth, new) if new.is_settled else (new, self._truth)
        old.close()

    @contextmanager
    def _changing(self) -> Generator[None]:
        if not self._lock:
            raise DataError(f"the index {str(self._folder)!r} is open to search it, not to change it")
        with self._turn:
            yield

    def _check_vector(self, vector: Vector) -> None:
        if vector.shape != (self.fingerprint.dimension,):
            raise ConfigError(f"a vector of shape {vector.shape!r}; expected ({self.fingerprint.dimension},)")

    def _rows(self, ids: Sequence[str]) -> list[Row]:
        found = {row.passage.id: row for row in self._truth.rows_of(ids)}
        for id_ in ids:
            if id_ not in found:
                raise DataError(f"the index {str(self._folder)!r} has no passage {id_!r}")
        return [found[id_] for id_ in ids]


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
    path = folder / FILE
    try:
        return path.exists()
    except OSError as error:
        raise DataError(f"cannot look at {str(path)!r}: {error.strerror}") from error


def erase(folder: Path, forget: Callable[[str], None] | None = None) -> None:
    """Remove the index in `folder`, if there is one.

    Processes that have it open to search it keep what they have, until another is complete in its place; but
    `forget` is told the identity of its truth, and may remove what a server has of it at once. Raises
    `DataError` if a process has it open to change it.
    """
    if not _is_there(folder):
        return
    lock = Lock.take(folder)
    try:
        if forget and (identity := identity_of(folder / FILE)):
            forget(identity)
        # The truth goes first: without it there is no index, and to make one removes what else is left.
        for path in (folder / FILE, *sides(folder / FILE)):
            path.unlink(missing_ok=True)
        shutil.rmtree(folder / "engine", ignore_errors=True)  # of version 2
        for name in (FOLDER, READERS):
            clear(folder / name, lambda _: False)
    except OSError as error:
        raise DataError(f"cannot remove the index in {str(folder)!r}: {error.strerror}") from error
    finally:
        lock.close()
