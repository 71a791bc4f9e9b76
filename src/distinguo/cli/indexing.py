"""``distinguo index``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from distinguo.backends.index.index import erase
from distinguo.cli.console import err, out, print_json, progress, styled
from distinguo.cli.setting_up import components
from distinguo.documents.readers import Skipped, read
from distinguo.errors import DataError
from distinguo.indexing.build import Report, build
from distinguo.records import Document

MOST_SHOWN = 20


def index_documents(
    sources: list[Path], *, name: str, config: Path | None, rebuild: bool, as_json: bool
) -> None:
    """Read `sources`, and bring the index `name` up to date with them."""
    report = _build(sources, name=name, config=config, rebuild=rebuild)
    if as_json:
        print_json({"index": name, "documents": report.documents, **asdict(report)})
        return
    console = err()
    for skipped in report.skipped[:MOST_SHOWN]:
        console.print(styled(("skipped", "yellow"), f" {skipped.source}: {skipped.reason}"))
    if len(report.skipped) > MOST_SHOWN:
        more = f"and {len(report.skipped) - MOST_SHOWN} more; --json lists them all"
        console.print(styled((more, "yellow")))
    out().print(
        f"index {name!r}: {report.documents} documents "
        f"({report.added} added, {report.changed} changed, {report.unchanged} unchanged), "
        f"{report.passages} passages written, {len(report.skipped)} sources skipped, {report.seconds:.1f} s"
    )


def _build(sources: list[Path], *, name: str, config: Path | None, rebuild: bool) -> Report:
    found = [item for source in sources for item in read(source)]
    if not any(isinstance(item, Document) for item in found):
        skipped = "; ".join(f"{item.source}: {item.reason}" for item in found if isinstance(item, Skipped))
        raise DataError(f"no document in {', '.join(map(str, sources))} ({skipped or 'nothing is there'})")
    with components(config) as (made, _):
        recipe = made.recipe(name)
        if rebuild:
            erase(made.places.indexes / name)
        index = made.make_index(name)
        with progress(unit="documents") as step:
            return build(index, found, recipe, progress=lambda done, total: step("indexing", done, total))
