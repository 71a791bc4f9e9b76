"""The commands on what is kept on this machine: models and replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

models = typer.Typer(help="The embedded models: list, get, where.", no_args_is_help=True)
cache = typer.Typer(help="The replies that are kept: info, clear.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@models.command("list")
def list_models(as_json: JsonOption = False) -> None:
    """List the models by name, with licence, size, and whether they are here."""
    from distinguo.cli.housekeeping import list_models

    list_models(as_json=as_json)


@models.command("get")
def get_model(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names (default: what the starter needs).")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="A file or folder that you have, instead of fetching.")
    ] = None,
) -> None:
    """Fetch models, check their hashes, and resume what was broken off."""
    from distinguo.cli.housekeeping import get_models

    get_models(names or [], source)


@models.command("where")
def where_model(
    name: Annotated[str | None, typer.Argument(help="A model's name (default: the folder of all).")] = None,
) -> None:
    """Print the folder of a model that is here, or of all models."""
    from distinguo.cli.housekeeping import where_model

    where_model(name)


@cache.command("info")
def cache_info(as_json: JsonOption = False) -> None:
    """Say where replies are kept, how many, and their size."""
    from distinguo.cli.housekeeping import cache_info

    cache_info(as_json=as_json)


@cache.command("clear")
def cache_clear(
    older_than: Annotated[
        float | None, typer.Option("--older-than", min=0, help="Days; all when left out.")
    ] = None,
) -> None:
    """Forget kept replies; they will be asked for again."""
    from distinguo.cli.housekeeping import cache_clear

    cache_clear(older_than)
