"""One process at a time holds an index."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self, final

from distinguo.errors import DataError


@final
class Lock:
    """An exclusive lock on a folder, held until `close` or the end of the process.

    The system frees it when the process dies, however it dies; the number in the file then means nothing.
    """

    def __init__(self, file: int) -> None:
        self._file = file

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Hold `folder`. Raises `DataError` that names the process that does."""
        import fcntl

        path = folder / "lock"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DataError(f"cannot open {str(path)!r}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(file, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(file)
            raise DataError(
                f"the index {str(folder)!r} is in use by process {holder}; wait until it ends, or stop it"
            ) from error
        _write_pid(file)
        return cls(file)

    def close(self) -> None:
        """Let go. A second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _write_pid(file: int) -> None:
    """Who holds the lock is a courtesy: a full disk must not keep anybody out."""
    try:
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode("ascii"))
    except OSError:
        return
