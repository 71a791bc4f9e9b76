"""A converted copy of a GGUF file, kept beside it: it loads several times faster and in less memory."""

from __future__ import annotations

import logging
import os
import shutil
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol, TypeVar

STAMP: Final = "made-from"
"""A file of the copy that tells the runtime's version and the size and time of the GGUF file."""

ROOM: Final = 1.5  # free disk needed, in sizes of the GGUF file; the copy of Q4_K_M takes 1.15

_log = logging.getLogger(__name__)


Loaded_co = TypeVar("Loaded_co", covariant=True)


class Load(Protocol[Loaded_co]):
    """Loads a model from a GGUF file or a folder; `save` leaves the converted model beside the file."""

    def __call__(self, path: Path, *, save: bool) -> Loaded_co:
        """The pipeline of the model at `path`."""
        ...


def load_kept(model: Path, load: Load[Loaded_co]) -> Loaded_co:
    """Load `model` from its copy if there is one; else from the file, leaving a copy if the disk allows."""
    copy, stamp = model.with_suffix(".openvino"), _stamp(model)
    if _read(copy / STAMP) == stamp:
        return load(copy, save=False)
    if shutil.disk_usage(model.parent).free > ROOM * model.stat().st_size:
        try:
            return _convert(model, copy, stamp, load)
        except (OSError, RuntimeError) as error:  # a folder that is read-only, a disk that is full after all
            _log.warning("no converted copy of %s is kept: %s", model, error)
    return load(model, save=False)


def _convert(model: Path, copy: Path, stamp: str, load: Load[Loaded_co]) -> Loaded_co:
    """Load `model` and leave the copy, under its name only when whole."""
    with TemporaryDirectory(prefix=f".{copy.name}-", dir=model.parent) as scratch:
        partial = Path(scratch) / copy.name
        partial.mkdir(mode=0o700)
        link = partial / model.name
        os.link(model, link)  # the runtime saves beside the file that it reads
        pipeline = load(link, save=True)
        link.unlink()
        (partial / STAMP).write_text(stamp, encoding="utf-8", newline="\n")
        for file in partial.iterdir():
            _sync(file)
        shutil.rmtree(copy, ignore_errors=True)  # of another version
        partial.rename(copy)
    return pipeline


def _stamp(model: Path) -> str:
    state = model.stat()
    return f"openvino-genai {version('openvino-genai')}, {state.st_size} bytes, {state.st_mtime_ns} ns\n"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
