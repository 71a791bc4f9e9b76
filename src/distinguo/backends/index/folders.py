"""Folders that a process holds while it lives, and that others clear away when it is dead."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Final, Self, final

_TRIES: Final = 100  # each lost to a process that took a folder for a dead one's within microseconds


@final
class Held:
    """A folder with a lock on it, until `close` or the end of the process, however it ends."""

    def __init__(self, path: Path, file: int) -> None:
        self.path = path
        self._file = file

    @classmethod
    def new(cls, parent: Path, name: str = "") -> Self:
        """A new, private folder in `parent`, held alone. Its name begins with `name`. Raises `OSError`."""
        for _ in range(_TRIES):
            path = parent / f"{name}{token_hex(4)}"
            path.mkdir(mode=0o700)
            try:
                return cls.shared(path, alone=True)
            except FileNotFoundError:
                continue
        raise FileNotFoundError(2, "folders vanish as soon as they are made", str(parent))

    @classmethod
    def shared(cls, path: Path, *, alone: bool = False) -> Self:
        """The folder `path`, held together with others or `alone`. Raises `OSError`, if it is gone too."""
        import fcntl

        file = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            if not os.path.samestat(os.fstat(file), path.stat()):
                raise FileNotFoundError(2, "was cleared away", str(path))
        except BaseException:
            os.close(file)
            raise
        return cls(path, file)

    def close(self) -> None:
        """Let go of the folder, and leave it. A second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Let go of the folder, and of all that is in it."""
        if self._file >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
        self.close()


def clear(parent: Path, is_needed: Callable[[str], bool]) -> None:
    """Remove the folders in `parent` that nobody holds and whose names are not needed."""
    import fcntl

    for path in parent.iterdir() if parent.exists() else ():
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not is_needed(path.name):  # asked under the lock: its maker may just have put it in force
                shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(file)
