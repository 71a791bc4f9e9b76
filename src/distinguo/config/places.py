"""Where Distinguo keeps its files, and the environment variables that move them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, final

from distinguo.errors import ConfigError


@final
@dataclass(frozen=True, slots=True)
class Places:
    """Folders, none of them made yet.

    Attributes:
        home: DISTINGUO_HOME, or the platform's folder for a user's data.
        models: DISTINGUO_MODELS, or ``home/models``.
        cache: DISTINGUO_CACHE, or ``home/cache``.
        is_offline: DISTINGUO_OFFLINE is set: nothing is fetched.
        data: DISTINGUO_DATA, or ``../shared/data`` if that is there: a folder of sets of questions.
    """

    home: Path
    models: Path
    cache: Path
    is_offline: bool = False
    data: Path | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """The places that `environment` names. Raises `ConfigError` where one is nowhere."""
        home = _folder(environment, "DISTINGUO_HOME") or _user_data()
        return cls(
            home,
            _folder(environment, "DISTINGUO_MODELS") or home / "models",
            _folder(environment, "DISTINGUO_CACHE") or home / "cache",
            environment.get("DISTINGUO_OFFLINE", "") not in ("", "0"),
            _folder(environment, "DISTINGUO_DATA") or _data_beside(),
        )

    def moved(self, home: Path) -> Self:
        """The same models, with all else under another `home`."""
        home = located(home)
        return replace(self, home=home, cache=home / "cache")

    @property
    def indexes(self) -> Path:
        """One folder per index."""
        return self.home / "indexes"

    @property
    def traces(self) -> Path:
        """One file per question asked."""
        return self.home / "traces"


def located(path: str | Path) -> Path:
    """`path` from the root, with ``~`` resolved. Raises `ConfigError`."""
    try:
        return Path(path).expanduser().absolute()
    except (RuntimeError, OSError) as error:  # no such user or home; a current folder that is gone
        raise ConfigError(f"cannot tell where {str(path)!r} is: {error}; give a whole path") from error


def _folder(environment: Mapping[str, str], name: str) -> Path | None:
    value = environment.get(name, "")
    try:
        return located(value) if value else None
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error


def _data_beside() -> Path | None:
    folder = located(Path("..", "shared", "data"))
    return folder if folder.is_dir() else None


def _user_data() -> Path:
    from platformdirs import user_data_path

    with suppress(RuntimeError):  # no home: some versions raise, others leave the ~ as it is
        path = user_data_path("distinguo", appauthor=False)
        if path.is_absolute():
            return path
    raise ConfigError("this user has no home folder; set DISTINGUO_HOME to a whole path")
