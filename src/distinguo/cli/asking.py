"""``distinguo ask`` and ``distinguo show``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from distinguo.cli.console import complain, err, out, print_json, styled
from distinguo.cli.render import Row, show_result, show_trace
from distinguo.cli.setting_up import components, places
from distinguo.errors import DataError
from distinguo.records import State
from distinguo.running.attempt import attempt
from distinguo.running.questions import question_of
from distinguo.running.traces import as_stored, load, new_trace, save


def ask_once(
    text: str,
    *,
    method: str | None,
    config: Path | None,
    explain: bool,
    as_json: bool,
    max_calls: int | None,
) -> State:
    """Ask `text` (``-``: standard input), print how it ended, and keep the trace if the disk takes it."""
    question = question_of(_standard_input() if text == "-" else text)
    trace = new_trace(question)
    with components(config, max_calls=max_calls) as (made, runner):
        chosen = made.method(method)
        result = runner.run(attempt(chosen, question, trace))
    try:
        save(made.places.traces, result, trace)
    except DataError as error:
        complain(str(error))
    _print(as_stored(result, trace), explain=explain, as_json=as_json)
    return result.state


def show_stored(name: str, *, as_json: bool) -> None:
    """Print the stored trace `name` with its result."""
    _print(load(places().traces, name), explain=True, as_json=as_json)


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"standard input cannot be read ({error}); expected a question in UTF-8") from error


def _print(stored: Row, *, explain: bool, as_json: bool) -> None:
    result = cast("Row", stored["result"])
    if as_json:
        print_json(stored if explain else result)
        return
    if explain:
        show_trace(out(), stored)
    show_result(out(), result)
    err().print(styled((f"{result['seconds']:.1f} s; more: distinguo show {result['trace']}", "dim")))
