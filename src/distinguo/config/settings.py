"""Read a configuration file into records; what is wrong in it is named by its path."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Self, TypeVar, cast, final

from distinguo.config.signatures import Spec, Table, Within, call, known, table
from distinguo.config.starter import STARTER
from distinguo.documents.chunking import Chunking
from distinguo.errors import ConfigError

Kind = TypeVar("Kind")

FILE_NAME: Final = "distinguo.toml"

INDEX_NAME: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""It names a folder too."""


@final
@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How an index is made."""

    encoder: Spec = "all-minilm-l6-v2-int8"
    chunk_tokens: Annotated[int, Within(1)] = 200
    chunk_overlap: Annotated[int, Within(0)] = 40
    engine: Spec = "edge"

    def __post_init__(self) -> None:
        _ = self.chunking  # raises early where the two do not go together

    @property
    def chunking(self) -> Chunking:
        """How long passages are."""
        return Chunking(self.chunk_tokens, self.chunk_overlap)


@final
@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A model under a name of the user's."""

    llm: Spec


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may spend."""

    calls_in_flight: Annotated[int, Within(1)] = 64
    max_calls: Annotated[int, Within(0)] = 0


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """A whole configuration. Components stay as written: their factories' signatures check them."""

    source: str
    models: Mapping[str, ModelSettings]
    indexes: Mapping[str, IndexSettings]
    method: Table
    limits: Limits

    @classmethod
    def load(cls, path: Path) -> Self:
        """The settings in the file at `path`. Raises `ConfigError`."""
        return cls.parse(read_toml(path, hint="as `distinguo init` writes it"), source=str(path))

    @classmethod
    def parse(cls, text: str = STARTER, *, source: str = "the starter configuration") -> Self:
        """The settings in `text`; a section that it leaves out is as in the starter. Raises `ConfigError`."""
        return cls.of(toml(text, source=source), source=source)

    @classmethod
    def of(cls, written: Table, *, source: str) -> Self:
        """The settings that `written` holds, as `parse` reads them. Raises `ConfigError`."""
        starter = cast("Table", tomllib.loads(STARTER))
        known(written, starter, path="")
        sections = {name: table(written.get(name, starter[name]), path=name) for name in starter}
        for name in sections["indexes"]:
            if not re.fullmatch(INDEX_NAME, name):
                raise ConfigError(
                    f"indexes: {name!r} is not the name of an index; expected a letter or digit, "
                    "then letters, digits, '.', '_' or '-', 100 at most"
                )
        return cls(
            source,
            _named(ModelSettings, "models", sections["models"], starter),
            _named(IndexSettings, "indexes", sections["indexes"], starter),
            sections["method"],
            cast("Limits", call(Limits, sections["limits"], path="limits")),
        )


def read_toml(path: Path, *, hint: str) -> str:
    """The text of the configuration at `path`; `hint` says what it is like. Raises `ConfigError`."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read the configuration {str(path)!r} ({error}); expected a TOML file in UTF-8, {hint}"
        ) from error


def toml(text: str, *, source: str) -> Table:
    """The table that `text` is. Raises `ConfigError`."""
    try:
        return cast("Table", tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # also a number too long, lists too deep
        raise ConfigError(f"{source} is not TOML: {error}") from error


def _named(kind: type[Kind], section: str, written: Table, starter: Table) -> dict[str, Kind]:
    rows = {"default": cast("Table", starter[section])["default"], **written}
    return {
        name: cast("Kind", call(kind, table(row, path=f"{section}.{name}"), path=f"{section}.{name}"))
        for name, row in rows.items()
    }
