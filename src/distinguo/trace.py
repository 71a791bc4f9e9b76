"""What happened inside one question: calls, searches, dropped passages, and why it ended as it did.

One write-only context variable holds the current question's trace. Wrappers record calls, methods open spans,
stages note decisions; no code reads the trace to decide anything. A trace holds no keys.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, final

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
EventKind = Literal["call", "span", "note"]


@final
@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: a *call* to a port, a *span* (a phase of the algorithm box) or a *note* (a decision).
        name: the prompt's name, the phase, or the decision.
        path: the enclosing spans, outermost first.
        at: seconds since the trace began, when it began.
        seconds: how long it took; 0 for notes.
        fields: what else is known, as JSON values.
    """

    kind: EventKind
    name: str
    path: tuple[str, ...]
    at: float
    seconds: float
    fields: dict[str, Json]


@final
@dataclass(slots=True)
class Trace:
    """The events of one question, in the order of their beginnings."""

    id: str
    question: str
    began: float = field(default_factory=time.perf_counter)
    events: list[Event] = field(default_factory=list[Event])

    def in_order(self) -> list[Event]:
        """Events by the moment they began (they are recorded when they end)."""
        return sorted(self.events, key=lambda event: event.at)


_current: ContextVar[Trace | None] = ContextVar("distinguo_trace", default=None)
_path: ContextVar[tuple[str, ...]] = ContextVar("distinguo_span", default=())


@contextmanager
def tracing(trace: Trace) -> Generator[Trace]:
    """Let all that happens inside, tasks included, be recorded in `trace`."""
    outer, spans = _current.set(trace), _path.set(())
    try:
        yield trace
    finally:
        _path.reset(spans)
        _current.reset(outer)


@contextmanager
def span(name: str) -> Generator[None]:
    """A phase of a method's algorithm box."""
    began, path = time.perf_counter(), _path.get()
    token = _path.set((*path, name))
    try:
        yield
    finally:
        _path.reset(token)
        _record("span", name, began, path, {})


@contextmanager
def call(name: str, /, **fields: Json) -> Generator[dict[str, Json]]:
    """A call to a port. Add to the yielded fields what is known only afterwards; errors are recorded."""
    began, path = time.perf_counter(), _path.get()
    known: dict[str, Json] = dict(fields)
    try:
        yield known
    except BaseException as error:
        known["error"] = f"{type(error).__name__}: {error}"
        raise
    finally:
        _record("call", name, began, path, known)


def note(name: str, /, **fields: Json) -> None:
    """A decision worth explaining: a passage dropped, a fallback taken, a silence chosen."""
    _record("note", name, time.perf_counter(), _path.get(), dict(fields), seconds=0.0)


def _record(
    kind: EventKind,
    name: str,
    began: float,
    path: tuple[str, ...],
    fields: dict[str, Json],
    *,
    seconds: float | None = None,
) -> None:
    trace = _current.get()
    if trace is None:
        return
    took = time.perf_counter() - began if seconds is None else seconds
    trace.events.append(Event(kind, name, path, began - trace.began, took, fields))
