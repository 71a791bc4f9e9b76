"""``distinguo index``."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

from rich.markup import escape

from distinguo.backends.index.index import erase
from distinguo.cli.console import err, out, progress
from distinguo.cli.setting_up import places, settings
from distinguo.config.build import Components
from distinguo.documents.readers import Skipped, read
from distinguo.errors import DataError
from distinguo.indexing.build import Report, build
from distinguo.records import Document

MOST_SHOWN = 20


def index_documents(
    sources: list[Path], *, name: str, config: Path | None, rebuild: bool, as_json: bool
) -> None:
    """Read `sources`, and bring the index `name` up to date with them."""
    report = asyncio.run(_build(sources, name=name, config=config, rebuild=rebuild))
    if as_json:
        out().print_json(json.dumps(_as_json(name, report), ensure_ascii=False))
        return
    console = err()
    for skipped in report.skipped[:MOST_SHOWN]:
        console.print(f"[yellow]skipped[/] {escape(skipped.source)}: {escape(skipped.reason)}")
    if len(report.skipped) > MOST_SHOWN:
        console.print(f"[yellow]and {len(report.skipped) - MOST_SHOWN} more; --json lists them all[/]")
    out().print(
        f"index {name!r}: {report.documents} documents "
        f"({report.added} added, {report.changed} changed, {report.unchanged} unchanged), "
        f"{report.passages} passages written, {len(report.skipped)} sources skipped, {report.seconds:.1f} s"
    )


async def _build(sources: list[Path], *, name: str, config: Path | None, rebuild: bool) -> Report:
    found = [item for source in sources for item in read(source)]
    if not any(isinstance(item, Document) for item in found):
        skipped = "; ".join(f"{item.source}: {item.reason}" for item in found if isinstance(item, Skipped))
        raise DataError(f"no document in {', '.join(map(str, sources))} ({skipped or 'nothing is there'})")
    with progress(unit="bytes", is_bytes=True) as fetching:
        components = Components(settings(config), places(), progress=fetching)
        recipe = components.recipe(name)
    async with components:
        if rebuild:
            erase(components.places.indexes / name)
        index = components.make_index(name)
        with progress(unit="documents") as step:
            return build(index, found, recipe, progress=lambda done, total: step("indexing", done, total))


def _as_json(name: str, report: Report) -> dict[str, object]:
    return {"index": name, "documents": report.documents, **asdict(report)}
