"""``distinguo ask`` and ``distinguo show``."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import cast

from distinguo.cli.console import complain, err, out, progress
from distinguo.cli.render import Row, show_result, show_trace
from distinguo.cli.setting_up import places, settings
from distinguo.config.build import Components
from distinguo.errors import DataError
from distinguo.records import Question, Result, State
from distinguo.running.attempt import attempt
from distinguo.running.questions import question_of
from distinguo.running.traces import as_stored, load, new_trace, save
from distinguo.trace import Trace


def ask_once(
    text: str,
    *,
    method: str | None,
    config: Path | None,
    explain: bool,
    as_json: bool,
    max_calls: int | None,
) -> State:
    """Ask `text`, print how it ended, and keep the trace; if it cannot be kept, only a warning is lost."""
    here = places()
    with progress(unit="bytes", is_bytes=True) as fetching:
        components = Components(settings(config), here, max_calls=max_calls, progress=fetching)
        result, trace = asyncio.run(_ask(components, question_of(text), method))
    try:
        save(here.traces, result, trace)
    except DataError as error:
        complain(str(error))
    _print(as_stored(result, trace), explain=explain, as_json=as_json)
    return result.state


def show_stored(name: str, *, as_json: bool) -> None:
    """Print the stored trace `name` with its result."""
    _print(load(places().traces, name), explain=True, as_json=as_json)


async def _ask(components: Components, question: Question, method: str | None) -> tuple[Result, Trace]:
    trace = new_trace(question)
    async with components:
        return await attempt(components.method(method), question, trace), trace


def _print(stored: Row, *, explain: bool, as_json: bool) -> None:
    result = cast("Row", stored["result"])
    if as_json:
        out().print_json(json.dumps(stored if explain else result, ensure_ascii=False))
        return
    if explain:
        show_trace(out(), stored)
    show_result(out(), result)
    err().print(f"[dim]{result['seconds']:.1f} s; more: distinguo show {result['trace']}[/]")
