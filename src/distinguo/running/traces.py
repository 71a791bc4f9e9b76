"""Keep finished questions on disk, so that each can be explained later."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from distinguo.errors import DataError
from distinguo.private import make_folder, write_whole
from distinguo.records import Abstention, Answer, Evidence, Failure, Question, Result, Unreadable
from distinguo.trace import Event, Json, Trace

FORMAT = 1
"""What was added since (a hit's place and parts) is lacking in older traces; nothing has another meaning."""


def new_trace(question: Question) -> Trace:
    """An empty trace under a fresh id: the day and eight random hex digits."""
    return Trace(f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(4)}", question.text)


def result_as_json(result: Result) -> dict[str, Json]:
    """`result` as the JSON that ``ask --json`` prints: always the same keys, null where there is nothing."""
    outcome = result.outcome
    row: dict[str, Json] = {
        "id": result.question.id,
        "question": result.question.text,
        "state": result.state,
        "answer": None,
        "reason": None,
        "citations": [],
        "evidence": [],
        "raw": None,
        "trace": result.trace,
        "seconds": round(result.seconds, 3),
    }
    match outcome:
        case Answer(text, citations, evidence):
            row |= {"answer": text, "citations": list(citations), "evidence": _evidence(evidence, citations)}
        case Abstention(reason, evidence):
            row |= {"reason": reason, "evidence": _evidence(evidence, ())}
        case Unreadable(reason, raw):
            row |= {"reason": reason, "raw": raw}
        case Failure(error, reason):
            row |= {"reason": f"{error}: {reason}"}
    return row


def as_stored(result: Result, trace: Trace) -> dict[str, Json]:
    """What is kept of a question: how it ended, and every event in the order of its beginning."""
    return {
        "format": FORMAT,
        "result": result_as_json(result),
        "events": [_as_json(event) for event in trace.in_order()],
    }


def _as_json(event: Event) -> dict[str, Json]:
    return {**asdict(event), "path": list(event.path)}


def events_of(stored: Mapping[str, Json]) -> list[Event]:
    """The events that `as_stored` wrote. Raises `DataError` where one is damaged."""
    match stored.get("events"):
        case list(events):
            return [_event(value) for value in events]
        case other:
            raise DataError(f"its events are {other!r}; expected a list")


def save(folder: Path, result: Result, trace: Trace) -> Path:
    """Write the trace to ``<id>.json``, private to the user, named so only when whole. Raises `DataError`."""
    path = folder / f"{trace.id}.json"
    try:
        make_folder(folder)
        # A lone surrogate in a model's reply becomes its JSON escape.
        text = json.dumps(as_stored(result, trace), ensure_ascii=False)
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise DataError(
            f"cannot write the trace {str(path)!r}: {error.strerror}; free space there, or set "
            "DISTINGUO_HOME to another folder"
        ) from error
    return path


def load(folder: Path, name: str) -> dict[str, Json]:
    """The stored trace whose id begins with `name`, or the newest for ``last``. Raises `DataError`."""
    kept = sorted((path for path in folder.glob("*.json") if path.is_file()), key=_age)
    found = kept[-1:] if name == "last" else [path for path in kept if path.stem.startswith(name)]
    if len(found) != 1:
        there = f"{len(found)} traces begin so" if found else f"{str(folder)!r} holds {len(kept)} traces"
        raise DataError(
            f"no single trace {name!r}: {there}; expected the id that `distinguo ask` printed, or 'last'"
        )
    try:
        content = json.loads(found[0].read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (OSError, ValueError) as error:
        raise DataError(f"the trace {str(found[0])!r} cannot be read ({error}); delete it") from error
    if not isinstance(content, dict) or cast("dict[str, Json]", content).get("format") != FORMAT:
        raise DataError(
            f"{str(found[0])!r} is no trace of this version of Distinguo (format {FORMAT}); delete it"
        )
    stored = cast("dict[str, Json]", content)
    try:
        _check(stored)
    except DataError as error:
        raise DataError(f"the trace {str(found[0])!r} is damaged: {error}; delete it") from error
    return stored


def _check(stored: Mapping[str, Json]) -> None:
    match stored.get("result"):
        case {
            "state": str(),
            "question": str(),
            "trace": str(),
            "seconds": int() | float(),
            "answer": _,
            "reason": _,
            "raw": _,
            "evidence": list(evidence),
        } if all(map(_is_evidence, evidence)):
            events_of(stored)
        case other:
            raise DataError(f"its result is {other!r}; expected how a question ended")


def _is_evidence(value: Json) -> bool:
    match value:
        case {"passage": str(), "source": str(), "title": str(), "text": str(), "is_cited": bool()}:
            return True
        case _:
            return False


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _event(value: Json) -> Event:
    match value:
        case {
            "kind": "call" | "span" | "note" as kind,
            "name": str(name),
            "path": list(path),
            "at": int() | float() as at,
            "seconds": int() | float() as seconds,
            "fields": dict(fields),
        }:
            return Event(kind, name, tuple(map(str, path)), at, seconds, fields)
        case _:
            raise DataError(f"an event is {value!r}; expected kind, name, path, at, seconds and fields")


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


def _evidence(evidence: tuple[Evidence, ...], cited: tuple[str, ...]) -> list[Json]:
    return [
        {
            "passage": item.passage.id,
            "title": item.passage.title,
            "source": item.passage.source,
            "heading": item.passage.heading,
            "page": item.passage.page,
            "start": item.passage.start,
            "end": item.passage.end,
            "text": item.passage.text,
            "score": item.score.value,
            "scale": item.score.scale,
            "is_cited": item.passage.id in cited,
        }
        for item in evidence
    ]
