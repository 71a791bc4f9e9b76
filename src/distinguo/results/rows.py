"""One question of a run, as a line of its result file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self, cast, final, get_args

from distinguo.errors import DataError
from distinguo.records import State
from distinguo.trace import Json


@final
@dataclass(frozen=True, slots=True)
class Weighed:
    """A passage of the evidence, without its text. `scale` and `name` are those of `score`."""

    passage: str
    document: str
    score: float
    scale: str
    name: str = ""
    is_cited: bool = False


@final
@dataclass(frozen=True, slots=True)
class Row:
    """How one question ended, and what it cost.

    Attributes:
        id: the question's.
        state: answered, abstained, unreadable or failed.
        question: its text; empty where the run was told to leave texts out.
        answer: what was answered; empty in the other states.
        reason: why there is no answer; empty in the state answered.
        raw: the reply that nobody could read; empty in the other states.
        citations: ids of the passages cited.
        evidence: the passages that were weighed, best first.
        calls: model calls that were made; `cached_calls`: those that were answered from the cache instead.
        prompt_tokens, completion_tokens: of the calls made; cached ones cost nothing.
        cached_tokens: prompt and completion tokens of the calls answered from the cache.
        cached_vectors: texts whose vectors another cell of the grid had asked for.
        seconds: from asking to the end, with other questions in flight; see `is_timed`.
        notes: the decisions that its trace notes, each once, a status with them: ``contrast: nearest``.
        trace: the id of the question's trace.
    """

    id: str
    state: State
    question: str = ""
    answer: str = ""
    reason: str = ""
    raw: str = ""
    citations: tuple[str, ...] = ()
    evidence: tuple[Weighed, ...] = ()
    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cached_vectors: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    trace: str = ""

    @property
    def is_timed(self) -> bool:
        """Whether `seconds` tell how long such a question takes: none of its slow steps was left out.

        Beside a call that was made, a vector that was known weighs nothing.
        """
        return not self.cached_calls and (self.calls > 0 or not self.cached_vectors)

    def as_json(self) -> dict[str, Json]:
        """The row as JSON values: always the same keys."""
        return cast("dict[str, Json]", json.loads(json.dumps(asdict(self))))

    @classmethod
    def of_json(cls, values: Mapping[str, Json]) -> Self:
        """The row that `as_json` gave. Raises `DataError` that names the field."""
        names = {part.name for part in fields(cls)}
        if odd := (values.keys() ^ names) - _YOUNG:
            raise DataError(f"a result has or lacks the fields {sorted(odd)!r}; expected {sorted(names)!r}")
        values = {"notes": [], **values}
        for part in fields(cls):
            _check(part.name, values[part.name], cast("object", part.default))
        if values["state"] not in get_args(State):
            raise DataError(f"a result's state is {values['state']!r}; expected one of {get_args(State)!r}")
        known: dict[str, object] = dict(values)
        for name in ("citations", "notes"):
            for text in cast("list[Json]", values[name]):
                _check(name, text, "")
            known[name] = tuple(cast("list[str]", values[name]))
        known["evidence"] = tuple(map(_weighed, cast("list[Json]", values["evidence"])))
        return cls(**cast("dict[str, Any]", known))  # checked above


_YOUNG: Final = {"notes"}
"""Fields that rows of earlier versions lack."""

_NOT_TEXTS: Final[Mapping[str, object]] = {"score": 0.0, "is_cited": False}
"""Values of the types that fields of `Weighed` have; the others are texts."""


def _weighed(value: Json) -> Weighed:
    try:
        weighed = Weighed(**cast("dict[str, Any]", value))
    except TypeError as error:
        raise DataError(f"a result's evidence is {value!r}; expected passages with scores") from error
    for name, given in cast("dict[str, Json]", value).items():
        _check(name, given, _NOT_TEXTS.get(name, ""))
    return weighed


def _check(name: str, value: Json, default: object) -> None:
    """Each field has the type of its default; the two without one are texts."""
    match default:
        case tuple():
            fits = isinstance(value, list)
        case float():
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case bool():
            fits = isinstance(value, bool)
        case int():
            fits = type(value) is int
        case _:
            fits = isinstance(value, str)
    if not fits:
        raise DataError(f"a result's field {name!r} is {value!r}, which is not of its type")
