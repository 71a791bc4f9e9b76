"""``distinguo ask`` and ``distinguo show``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import cast

from distinguo.cli.console import complain, err, out, print_json, styled
from distinguo.cli.explain import show_explanation
from distinguo.cli.render import Row, show_events, show_result
from distinguo.cli.setting_up import components, places
from distinguo.errors import DataError
from distinguo.records import State
from distinguo.running import explaining
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
    stored = as_stored(result, trace)
    if as_json:
        print_json(_explained(stored) if explain else stored["result"])
        return result.state
    if explain:
        _explain(stored)
    _end(stored, more=f"distinguo show {trace.id}{' --events' if explain else ''}")
    return result.state


def show_stored(name: str, *, events: bool, as_json: bool) -> None:
    """Print the stored trace `name` explained, or all its `events`, with its result."""
    stored = load(places().traces, name)
    if as_json:
        print_json(_explained(stored))
        return
    if events:
        show_events(out(), stored)
    else:
        _explain(stored)
    trace = cast("Row", stored["result"])["trace"]
    _end(stored, more="" if events else f"distinguo show {trace} --events")


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"standard input cannot be read ({error}); expected a question in UTF-8") from error


def _explained(stored: Row) -> dict[str, object]:
    """`stored` with its explanation; the events are in it too."""
    return {
        "format": stored["format"],
        "result": stored["result"],
        "explanation": asdict(explaining.explain(stored)),
        "events": stored["events"],
    }


def _explain(stored: Row) -> None:
    question = str(cast("Row", stored["result"])["question"])
    show_explanation(out(), explaining.explain(stored), question)


def _end(stored: Row, *, more: str) -> None:
    result = cast("Row", stored["result"])
    show_result(out(), result)
    err().print(styled((f"{result['seconds']:.1f} s{'; more: ' * bool(more)}{more}", "dim")))
