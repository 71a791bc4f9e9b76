"""Read a stored trace as the steps of an algorithm: what was supposed, sought, found, dropped and spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar, cast

from distinguo.records import Probe, ProbeRole
from distinguo.running.explanation import (
    Candidate,
    Contrast,
    Dropped,
    Explanation,
    Found,
    Hypotheses,
    Kept,
    Place,
    Remark,
    Search,
    Stage,
)
from distinguo.running.traces import events_of
from distinguo.trace import Event, Json

Row = Mapping[str, Json]
Known = TypeVar("Known")

REST: Final = "rest"
"""The stage that has the seconds of a question in which no span and no call was under way."""


def explain(stored: Row) -> Explanation:
    """The explanation of a trace as `traces.as_stored` makes it and `traces.load` reads it.

    Traces of earlier versions lack the places and the parts of what was found. Notes of a form that is not
    known become `remarks`, with all their fields.
    """
    result = cast("Row", stored["result"])
    events = events_of(stored)
    searches = tuple(_search(event) for event in events if event.fields.get("port") == "retriever")
    sent = {probe.text for search in searches for probe in search.probes}
    notes = [event for event in events if event.kind == "note" and _query(event) not in sent]
    hypotheses, notes = _told(notes, _hypotheses)
    contrasts, notes = _told(notes, _contrast)
    dropped, notes = _told(notes, _dropped)
    stages = _stages(events, _number(result, "seconds") or 0.0)
    return Explanation(
        hypotheses=hypotheses,
        contrasts=contrasts,
        searches=searches,
        dropped=dropped,
        evidence=tuple(_evidence(result)),
        remarks=tuple(map(_remark, notes)),
        stages=stages,
        total=_sum("total", stages),
    )


# ── notes ────────────────────────────────────────────────────────────────────────────────────────────────


def _told(
    notes: Iterable[Event], read: Callable[[Event], Known | None]
) -> tuple[tuple[Known, ...], list[Event]]:
    """What `read` makes of `notes`, and those that it makes nothing of."""
    pairs = [(note, read(note)) for note in notes]
    return tuple(known for _, known in pairs if known), [note for note, known in pairs if not known]


def _query(note: Event) -> str | None:
    """The text of a note of a rewritten query: where it was sent, the search shows it."""
    match note:
        case Event(name="query", fields={"text": str(text)}):
            return text
        case _:
            return None


def _hypotheses(note: Event) -> Hypotheses | None:
    match note:
        case Event(name="hypotheses", fields={"target": str(target), "mimic": str(mimic)}):
            return Hypotheses(target, mimic)
        case _:
            return None


def _contrast(note: Event) -> Contrast | None:
    match note:
        case Event(name="contrast", fields={"question": str(question), "difference": str(difference)}):
            fields = note.fields
            candidates = map(_candidate, _rows(fields, "candidates"))
            return Contrast(
                question,
                difference,
                _number(fields, "similarity"),
                _text(fields, "status"),
                tuple(candidates),
            )
        case _:
            return None


def _candidate(row: Row) -> Candidate:
    return Candidate(_text(row, "question"), _number(row, "similarity"))


def _dropped(note: Event) -> Dropped | None:
    match note:
        case Event(name="passage dropped", fields={"passage": str(passage)}):
            fields = note.fields
            return Dropped(
                passage, _number(fields, "score"), _number(fields, "threshold"), _text(fields, "reason")
            )
        case _:
            return None


def _remark(note: Event) -> Remark:
    return Remark(note.name, " › ".join(note.path), note.fields)


# ── searches and evidence ────────────────────────────────────────────────────────────────────────────────


def _search(call: Event) -> Search:
    fields = call.fields
    return Search(
        retriever=call.name,
        k=int(_number(fields, "k") or 0),
        probes=tuple(map(_probe, _rows(fields, "probes"))),
        where=tuple(
            f"{_text(row, 'field')} {_text(row, 'comparison')} {row.get('value')}"
            for row in _rows(fields, "where")
        ),
        found=tuple(map(_found, _rows(fields, "hits"))),
        error=_text(fields, "error"),
    )


def _probe(row: Row) -> Probe:
    return Probe(_text(row, "text"), _number(row, "weight") or 0.0, cast("ProbeRole", _text(row, "role")))


def _found(row: Row) -> Found:
    parts = row.get("parts")
    return Found(
        rank=int(_number(row, "rank") or 0),
        place=_place(row),
        score=_number(row, "score") or 0.0,
        scale=_text(row, "scale"),
        parts=tuple(float(part) for part in parts if isinstance(part, int | float))
        if isinstance(parts, list)
        else (),
    )


def _evidence(result: Row) -> Iterator[Kept]:
    """The evidence of the outcome; citations are counted in its order, as the answer shows them."""
    cited = 0
    for row in _rows(result, "evidence"):
        place, score, scale = _place(row), _number(row, "score") or 0.0, _text(row, "scale")
        if row.get("is_cited"):
            cited += 1
            yield Kept(place, score, scale, "cited", cited)
        else:
            yield Kept(place, score, scale, "shown" if result.get("answer") else "kept")


def _place(row: Row) -> Place:
    return Place(
        _text(row, "passage"),
        _text(row, "title"),
        _text(row, "source"),
        _text(row, "heading"),
        *(int(_number(row, name) or 0) for name in ("page", "start", "end")),
    )


# ── costs ────────────────────────────────────────────────────────────────────────────────────────────────


def _stages(events: Iterable[Event], seconds: float) -> tuple[Stage, ...]:
    """What each stage cost, in the order of their beginnings, and at last the rest of the `seconds`.

    Every moment belongs to one stage: of those under way, to the one that began first.
    """
    costs: dict[str, list[Stage]] = {}
    end = 0.0  # of all that began outside any span so far
    for event in events:
        is_outermost, ended = not event.path, event.at + event.seconds
        spent = max(0.0, ended - max(event.at, end)) if is_outermost else 0.0
        end = max(end, ended) if is_outermost else end
        if event.kind == "note" or (is_outermost and not spent and not _is_of_model(event)):
            continue
        costs.setdefault((*event.path, event.name)[0], []).append(_cost(event, spent))
    stages = tuple(_sum(name, parts) for name, parts in costs.items())
    rest = round(seconds - sum(stage.seconds for stage in stages), 2)
    return (*stages, Stage(REST, seconds=rest)) if rest > 0 else stages


def _cost(event: Event, seconds: float) -> Stage:
    fields = event.fields
    if not _is_of_model(event) or fields.get("is_cached"):
        return Stage(event.name, cached_calls=int(_is_of_model(event)), seconds=seconds)
    tokens = (int(_number(fields, name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    return Stage(event.name, 1, 0, *tokens, seconds=seconds)


def _is_of_model(event: Event) -> bool:
    return event.kind == "call" and event.fields.get("port") == "llm"


def _sum(name: str, parts: Sequence[Stage]) -> Stage:
    return Stage(
        name,
        sum(part.calls for part in parts),
        sum(part.cached_calls for part in parts),
        sum(part.prompt_tokens for part in parts),
        sum(part.completion_tokens for part in parts),
        round(sum(part.seconds for part in parts), 2),
    )


# ── JSON values ──────────────────────────────────────────────────────────────────────────────────────────


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _number(row: Row, name: str) -> float | None:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else None


def _rows(row: Row, name: str) -> list[Row]:
    value = row.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
