"""``distinguo index`` and ``distinguo remove``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from distinguo.cli.console import Part, err, out, print_json, progress, styled
from distinguo.cli.render import nearby
from distinguo.cli.setting_up import components
from distinguo.config.updating import plan_index, remove_from_index, update_index
from distinguo.documents.found import Skipped
from distinguo.indexing.build import Report
from distinguo.indexing.plan import Plan

REASONS: Final = 20
NAMES: Final = 5
"""How much of a summary is shown; ``--json`` has all of it."""


def index_documents(
    places: Sequence[str], *, name: str, config: Path | None, rebuild: bool, prune: bool, as_json: bool
) -> None:
    """Bring the index `name` up to date with `places`, and say what went in and what did not."""
    with components(config) as (made, _), progress(unit="items") as step:
        report = update_index(made, name, places, rebuild=rebuild, prune=prune, progress=step)
    if as_json:
        print_json({"index": name, "documents": report.documents, **_told(report)})
        return
    _show(report)
    out().print(
        f"index {name!r}: {report.documents:,} documents "
        f"({report.added:,} added, {report.changed:,} changed, {report.unchanged:,} unchanged), "
        f"{report.passages:,} passages written, {len(report.skipped):,} sources skipped, "
        f"{len(report.folded):,} folded, {report.deleted:,} deleted, {report.seconds:.1f} s"
    )


def plan_documents(
    places: Sequence[str], *, name: str, config: Path | None, rebuild: bool, prune: bool, as_json: bool
) -> None:
    """Say what `index_documents` would do and need."""
    with components(config) as (made, _):
        plan = plan_index(made, name, places, rebuild=rebuild, prune=prune)
    if as_json:
        print_json({"index": name, **_told(plan)})
        return
    _show(plan)
    out().print(
        f"index {name!r} would have {plan.added:,} documents added, {plan.changed:,} changed, "
        f"{plan.unchanged:,} unchanged, {plan.deleted:,} deleted; "
        f"{len(plan.skipped):,} sources skipped, {len(plan.folded):,} folded\n"
        f"passages to write: {plan.passages:,}; texts to embed: {plan.embedded:,}"
        + (f", at {plan.rate:.0f} a second ({plan.sample} were tried)\n" if plan.sample else "\n")
        + f"time: about {_duration(plan.seconds)}; disk: about {_bytes(plan.size)} "
        f"(by what passages took that were measured); memory: about {_bytes(plan.memory)}\n"
        "nothing was written"
    )


def remove_documents(things: Sequence[str], *, name: str, config: Path | None, as_json: bool) -> None:
    """Take documents out of the index `name`."""
    with components(config) as (made, _):
        removal = remove_from_index(made, name, things)
    if as_json:
        print_json({"index": name, **asdict(removal)})
        return
    for place in removal.forgotten:
        out().print(styled(f"index {name!r} forgets {nearby(place)}"))
    out().print(f"index {name!r}: {len(removal.documents):,} documents removed")
    if removal.returning:
        err().print(
            styled(
                ("note", "yellow"),
                f" still there, and back with the next `distinguo index` unless the files go too: "
                f"{_names(removal.returning)}",
            )
        )


def _told(report: Report | Plan) -> dict[str, object]:
    reasons = {reason: len(items) for reason, items in _by_reason(report.skipped).items()}
    return {**asdict(report), "reasons": reasons}


def _by_reason(skipped: Iterable[Skipped]) -> dict[str, list[str]]:
    """Sources by the reason why they were skipped, the most frequent first."""
    found: dict[str, list[str]] = {}
    for item in skipped:
        found.setdefault(item.reason, []).append(nearby(item.source))
    return dict(sorted(found.items(), key=lambda pair: -len(pair[1])))


def _show(report: Report | Plan) -> None:
    """What did not go in, and why."""
    reasons = _by_reason(report.skipped)
    for reason, sources in list(reasons.items())[:REASONS]:
        _say("skipped", f"{_names(sources)}: {reason}")
    if len(reasons) > REASONS:
        rest = sum(map(len, list(reasons.values())[REASONS:]))
        _say("skipped", f"{rest:,} more, for {len(reasons) - REASONS:,} other reasons; --json lists them")
    for folded in report.folded[:NAMES]:
        _say("folded", f"{nearby(folded.source)}: same words as {folded.same_as}")
    if len(report.folded) > NAMES:
        _say("folded", f"{len(report.folded) - NAMES:,} more; --json lists them")
    if report.stale:
        _say("kept", f"{_names(report.stale)}: as they were, for they could not be read again")
    if report.missing:
        _say("kept", f"{_names(report.missing)}: their files are gone; --prune deletes them")


def _say(what: str, text: str) -> None:
    said: tuple[Part, ...] = ((what, "yellow"), f" {text}")
    err().print(styled(*said))


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES:,} more" if len(names) > NAMES else ""
    count = f"{len(names):,} × " if len(names) > 1 else ""
    return f"{count}{', '.join(names[:NAMES])}{more}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _bytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
