"""Results and traces as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import cast

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule

from distinguo.cli.console import styled
from distinguo.trace import Json

Row = Mapping[str, Json]
WIDEST = 2_000
"""Characters of a prompt or reply that are shown at most; the stored trace has all of them."""


def show_result(console: Console, result: Row) -> None:
    """The answer with its passages, or the reasoned silence."""
    match result["state"]:
        case "answered":
            is_read = bool(result["answer"])
            console.print(styled((str(result["answer"] or "Found, and not read:"), "bold green")))
            shown = [item for item in rows(result["evidence"]) if item["is_cited"] or not is_read]
            for number, item in enumerate(shown, start=1):
                console.print(styled("\n", (f"[{number}]", "bold cyan"), (f" {place(item)}", "cyan")))
                quote(console, str(item["text"]))
        case "abstained":
            console.print(styled(("I cannot say:", "bold yellow"), f" {result['reason']}."))
            looked = rows(result["evidence"])
            if looked:
                places = "; ".join(map(place, looked))
                console.print(styled((f"Looked at {len(looked)} passages: {places}", "dim")))
        case state:
            console.print(styled((f"{state}:", "bold red"), f" {result['reason']}"))
            if result["raw"]:
                quote(console, clip(str(result["raw"])))


def show_events(console: Console, stored: Row) -> None:
    """All that the trace holds, in order: every prompt and reply, every search, every decision."""
    result = cast("Row", stored["result"])
    console.print(Rule(styled(f"trace {result['trace']}"), style="dim"))
    for event in rows(stored["events"]):
        path = " › ".join(map(str, [*cast("list[object]", event["path"]), event["name"]]))
        seconds = cast("float", event["seconds"])
        console.print(styled((str(event["kind"]), "bold"), f" {path} ", (f"{seconds:.2f} s", "dim")))
        for line in _lines(cast("Row", event["fields"])):
            quote(console, line)
    console.print(Rule(style="dim"))


def quote(console: Console, text: str) -> None:
    """`text`, set in by four columns; folded on a terminal, and every line whole when piped."""
    console.print(
        Padding(styled(text), (0, 0, 0, 4), expand=False)
        if console.is_terminal
        else styled(indent(text, " " * 4))
    )


def place(item: Row, *, is_brief: bool = False) -> str:
    """Where a passage stands: its source (from the current folder, if below it), page, and heading or title.

    Characters are counted where it has neither page nor heading, and in brief no title either; a title that
    is the file's name is no news.
    """
    source, page, heading = str(item["source"] or item["passage"]), item.get("page"), item.get("heading")
    title = item["title"] if item["title"] != Path(source).stem else ""
    parts = (
        f"p. {page}" if page else "",
        f"*{heading or title}*" if heading or title else "",
        "" if page or heading or (is_brief and title) else f"characters {item['start']}–{item['end']}",
    )
    return ", ".join([nearby(source), *filter(None, parts)])


def nearby(source: str) -> str:
    """`source` from the current folder, if it lies below it."""
    try:
        return str(Path(source).relative_to(Path.cwd()))
    except (OSError, ValueError):
        return source


def rows(value: Json) -> list[Row]:
    """`value`, known to be a list of objects."""
    return cast("list[Row]", value)


def clip(text: str) -> str:
    """`text`, cut with a sign where it is very long."""
    return text if len(text) <= WIDEST else f"{text[:WIDEST]}… ({len(text) - WIDEST} more characters)"


def pairs(fields: Row) -> str:
    """`fields` on one line, those without a value left out."""
    return clip(
        "  ".join(f"{name}={_short(value)}" for name, value in fields.items() if value not in (None, "", []))
    )


def _lines(fields: Row) -> list[str]:
    lines: list[str] = []
    for name, value in fields.items():
        match value:
            case list() if value and all(isinstance(item, dict) for item in value):
                lines.append(f"{name}:")
                lines.extend(f"  {pairs(item)}" for item in rows(value))
            case dict():
                lines.append(f"{name}: {pairs(value)}")
            case None | "" | []:
                continue
            case _:
                lines.append(f"{name}: {clip(_short(value))}")
    return lines


def _short(value: Json) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
