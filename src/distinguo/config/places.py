"""Where Distinguo keeps its files, and the environment variables that move them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, final


@final
@dataclass(frozen=True, slots=True)
class Places:
    """Folders, none of them made yet.

    Attributes:
        home: DISTINGUO_HOME, or the platform's folder for a user's data.
        models: DISTINGUO_MODELS, or ``home/models``.
        cache: DISTINGUO_CACHE, or ``home/cache``.
        is_offline: DISTINGUO_OFFLINE is set: nothing is fetched.
    """

    home: Path
    models: Path
    cache: Path
    is_offline: bool = False

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """The places that `environment` names."""
        home = _folder(environment, "DISTINGUO_HOME") or _user_data()
        return cls(
            home,
            _folder(environment, "DISTINGUO_MODELS") or home / "models",
            _folder(environment, "DISTINGUO_CACHE") or home / "cache",
            environment.get("DISTINGUO_OFFLINE", "") not in ("", "0"),
        )

    def moved(self, home: Path) -> Self:
        """The same models, with all else under another `home`."""
        return replace(self, home=home.absolute(), cache=home.absolute() / "cache")

    @property
    def indexes(self) -> Path:
        """One folder per index."""
        return self.home / "indexes"

    @property
    def traces(self) -> Path:
        """One file per question asked."""
        return self.home / "traces"


def _folder(environment: Mapping[str, str], name: str) -> Path | None:
    value = environment.get(name, "")
    return Path(value).expanduser().absolute() if value else None


def _user_data() -> Path:
    from platformdirs import user_data_path

    return user_data_path("distinguo", appauthor=False)
