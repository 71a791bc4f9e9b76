"""Read a configuration file into records; what is wrong in it is named by its path."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeVar, cast, final

from distinguo.config.signatures import Spec, Table, call, known, table
from distinguo.config.starter import STARTER
from distinguo.errors import ConfigError

Kind = TypeVar("Kind")

FILE_NAME: Final = "distinguo.toml"


@final
@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How an index is made."""

    encoder: Spec = "all-minilm-l6-v2-int8"
    chunk_tokens: int = 200
    chunk_overlap: int = 40


@final
@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A model under a name of the user's."""

    llm: Spec


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may spend."""

    calls_in_flight: int = 64
    max_calls: int = 0


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
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"cannot read the configuration {str(path)!r} ({error}); expected a TOML file in UTF-8, "
                "as `distinguo init` writes it"
            ) from error
        return cls.parse(text, source=str(path))

    @classmethod
    def parse(cls, text: str = STARTER, *, source: str = "the starter configuration") -> Self:
        """The settings in `text`; a section that it leaves out is as in the starter. Raises `ConfigError`."""
        starter = cast("Table", tomllib.loads(STARTER))
        try:
            written = cast("Table", tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{source} is not TOML: {error}") from error
        known(written, starter, path="")
        sections = {name: table(written.get(name, starter[name]), path=name) for name in starter}
        return cls(
            source,
            _named(ModelSettings, "models", sections["models"], starter),
            _named(IndexSettings, "indexes", sections["indexes"], starter),
            sections["method"],
            cast("Limits", call(Limits, sections["limits"], path="limits")),
        )


def _named(kind: type[Kind], section: str, written: Table, starter: Table) -> dict[str, Kind]:
    rows = {"default": cast("Table", starter[section])["default"], **written}
    return {
        name: cast("Kind", call(kind, table(row, path=f"{section}.{name}"), path=f"{section}.{name}"))
        for name, row in rows.items()
    }
