"""``distinguo init``, ``methods``, ``models`` and ``cache``."""

from __future__ import annotations

import inspect
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final, get_args, get_origin

from rich.table import Table

from distinguo.backends.cache import CallCache
from distinguo.cli.console import err, out, print_json, progress, styled
from distinguo.cli.setting_up import places
from distinguo.config.build import find
from distinguo.config.names import METHODS
from distinguo.config.signatures import hints_of
from distinguo.config.starter import STARTER
from distinguo.errors import ConfigError, DataError
from distinguo.models.store import Store
from distinguo.protocols import Embedder

STARTER_MODELS: Final = ("qwen2.5-coder-1.5b-instruct", "all-minilm-l6-v2-int8")
DAY: Final = 86_400.0


def write_starter(path: Path) -> None:
    """Write the starter configuration to `path`, unless there is a file."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(STARTER)
    except FileExistsError as error:
        raise ConfigError(f"{str(path)!r} exists; delete it first, or name another file") from error
    except OSError as error:
        raise DataError(f"cannot write {str(path)!r}: {error.strerror}") from error
    err().print(styled(f"wrote {path}"))


def list_methods(*, as_json: bool) -> None:
    """Every method with what it does and its settings."""
    rows = [(name, *_described(name)) for name in METHODS]
    if as_json:
        print_json([{"name": n, "summary": s, "settings": t} for n, s, t in rows])
        return
    table = _table("method", "what it does", "settings")
    for name, summary, settings in rows:
        table.add_row(name, summary, ", ".join(f"{key} = {value}" for key, value in settings.items()))
    out().print(table)


def list_models(*, as_json: bool) -> None:
    """Every model of the catalogue, and whether it is here."""
    listing = _store().listing()
    if as_json:
        rows = [
            {
                "name": row.model.name,
                "kind": row.model.kind,
                "licence": row.model.licence,
                "bytes": row.model.size,
                "state": row.state,
            }
            for row in listing
        ]
        print_json(rows)
        return
    table = _table("model", "kind", "licence", "MB", "here")
    for row in listing:
        size = f"{row.model.size / 1e6:,.0f}"
        table.add_row(row.model.name, row.model.kind, row.model.licence, size, row.state)
    out().print(table)


def get_models(names: list[str], source: Path | None) -> None:
    """Fetch models into the store, or take one from `source`."""
    if source is not None and len(names) != 1:
        raise ConfigError(f"--from takes one model's name, got {len(names)}: {names!r}")
    store = _store()
    for name in names or STARTER_MODELS:
        with progress(unit="bytes", is_bytes=True) as step:
            folder = store.get(name, progress=step, source=source)
        out().print(styled(f"{name}: {folder}"))


def where_model(name: str | None) -> None:
    """Print a model's folder, or the folder of all."""
    folder = _store().folder if name is None else _store().where(name)
    if folder is None:
        raise DataError(f"the model {name!r} is not here; fetch it with `distinguo models get {name}`")
    out().print(styled(str(folder)))


def cache_info(*, as_json: bool) -> None:
    """What the cache holds."""
    with closing(CallCache(places().cache)) as cache:
        info = cache.info()
    if as_json:
        print_json({"path": str(info.path), "entries": info.entries, "bytes": info.bytes})
    else:
        out().print(styled(f"{info.path}: {info.entries:,} replies, {info.bytes / 1e6:,.1f} MB"))


def cache_clear(days: float | None) -> None:
    """Forget replies."""
    with closing(CallCache(places().cache)) as cache:
        forgotten = cache.clear(None if days is None else days * DAY)
    out().print(f"{forgotten:,} replies forgotten")


def _described(name: str) -> tuple[str, dict[str, str]]:
    factory = find("method", name, path="method.name")
    summary = (inspect.getdoc(factory) or "").partition("\n")[0]
    hints = hints_of(factory)
    settings = {
        key: _default(key, hints[key], parameter.default)
        for key, parameter in inspect.signature(factory).parameters.items()
    }
    return summary, settings


def _default(name: str, hint: object, default: object) -> str:
    if default is not inspect.Parameter.empty:
        return repr(default)
    if get_origin(hint) is Annotated:
        return repr(get_args(hint)[1])
    if hint is Embedder:
        return "that of the index"
    return "'default'" if name == "llm" else "that of llm"


def _store() -> Store:
    here = places()
    return Store(here.models, offline=here.is_offline)


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, justify="right" if column == "MB" else "left")
    return table
