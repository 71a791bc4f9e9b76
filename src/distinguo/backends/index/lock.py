"""One process at a time changes an index."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Final, Self, final

from distinguo.errors import DataError

WAIT: Final = 60.0
"""Seconds to wait for another process: to change a few documents takes no longer."""

_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.5

_log: Final = logging.getLogger(__name__)


@final
class Lock:
    """An exclusive lock on a folder, held until `close` or the end of the process.

    The system frees it when the process dies, however it dies; the number in the file then means nothing.
    """

    def __init__(self, file: int) -> None:
        self._file = file

    @classmethod
    def take(cls, folder: Path, *, wait: float = WAIT) -> Self:
        """Hold `folder`, within `wait` seconds. Raises `DataError` that names the process that does."""
        path = folder / "lock"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DataError(f"cannot open {str(path)!r}: {error.strerror}") from error
        try:
            _lock(file, folder, wait)
        except BaseException:
            os.close(file)
            raise
        _write(file, f"{os.getpid()}\n")
        return cls(file)

    def close(self) -> None:
        """Let go. A second call does nothing."""
        if self._file >= 0:
            _write(self._file, "")  # so that the next one is not taken for this process
            os.close(self._file)
            self._file = -1


def _lock(file: int, folder: Path, wait: float) -> None:
    import fcntl

    deadline, pause, is_told = time.monotonic() + wait, _FIRST_PAUSE, False
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            if holder == str(os.getpid()):
                raise DataError(
                    f"this process already holds the index {str(folder)!r} to change it: close it there first"
                ) from error
            if time.monotonic() >= deadline:
                raise DataError(
                    f"the index {str(folder)!r} is being changed by process {holder}; "
                    "wait until it ends, or stop it"
                ) from error
        if pause == _LONGEST_PAUSE and not is_told:
            is_told = True
            _log.warning("waiting for process %s, which changes the index %r", holder, str(folder))
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _write(file: int, text: str) -> None:
    """Who holds the lock is a courtesy: a full disk must not keep anybody out."""
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, text.encode("ascii"), 0)
    except OSError:
        return
