"""Frozen values that pass between the rooms.

A method sees a `Question`; gold answers live in an `Example`, which only scoring and training may hold.
Every score carries its scale: comparing two scales raises `ScaleError`, and the type checker says so first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, Literal, Self, final

from distinguo.errors import ScaleError

Scalar = str | int | float | bool
Meta = tuple[tuple[str, Scalar], ...]
"""Metadata of a document or passage: sorted (field, value) pairs."""

Role = Literal["query", "passage"]
"""Which side of an asymmetric embedder a text belongs to."""

# ── questions ────────────────────────────────────────────────────────────────────────────────────────────

QuestionKind = Literal["short", "choice", "yes_no", "long", "number", "code"]


@final
@dataclass(frozen=True, slots=True)
class Question:
    """What a method sees: the user's text, and options if it is multiple choice."""

    id: str
    text: str
    choices: tuple[str, ...] = ()
    kind: QuestionKind = "short"


@final
@dataclass(frozen=True, slots=True)
class Example:
    """A question with its gold: for scoring and training only.

    `gold` lists accepted answers (empty: the corpus cannot answer it), `gold_ids` the passages with them.
    """

    question: Question
    gold: tuple[str, ...] = ()
    gold_ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def is_answerable(self) -> bool:
        """Whether any answer is right; otherwise only silence is."""
        return bool(self.gold)


# ── documents ────────────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document begins at character `start`, under `heading`, on `page` (from 1; 0: no pages)."""

    start: int
    heading: str = ""
    page: int = 0


@final
@dataclass(frozen=True, slots=True)
class Document:
    """One text as it was read, before chunking.

    Attributes:
        source: where it came from: a path or an address.
        sections: where its headings and pages begin, in order; none: it has no parts.
        stamp: tells the bytes of its file, and the reader that read them, from all others; empty: unknown.
    """

    id: str
    text: str
    title: str = ""
    source: str = ""
    meta: Meta = ()
    sections: tuple[Section, ...] = ()
    stamp: str = ""


@final
@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document: `text` is the document's text from character `start` up to `end`.

    `heading` and `page` are those of the section that holds most of it; "" and 0 where there are none.
    """

    id: str
    text: str
    title: str = ""
    document: str = ""
    source: str = ""
    start: int = 0
    end: int = 0
    meta: Meta = ()
    heading: str = ""
    page: int = 0


# ── scores ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=True, order=False)
class Score:
    """A finite number with a scale (its class) and a name (who gave it). Abstract: use a scale below.

    Scores of one scale are ordered by value. Another scale raises `ScaleError`: a cross-encoder's logit is
    never silently held against a probability threshold.
    """

    value: float
    name: str = ""

    def __post_init__(self) -> None:
        if not isfinite(self.value):
            raise ScaleError(
                f"{type(self).__name__} {self.name!r} is {self.value!r}; expected a finite number"
            )

    @property
    def scale(self) -> str:
        """The scale's name as results and traces write it."""
        return type(self).__name__.lower()

    def __ge__(self, threshold: Self) -> bool:
        return self.value >= self._same(threshold)

    def __gt__(self, threshold: Self) -> bool:
        return self.value > self._same(threshold)

    def __le__(self, threshold: Self) -> bool:
        return self.value <= self._same(threshold)

    def __lt__(self, threshold: Self) -> bool:
        return self.value < self._same(threshold)

    def _same(self, other: Self) -> float:
        if type(self) is not type(other):
            raise ScaleError(
                f"cannot compare {type(self).__name__}({self.value:g}, {self.name!r}) with {other!r}: "
                f"the scales differ; give the threshold on the scale {type(self).__name__!r}"
            )
        return other.value


@final
@dataclass(frozen=True, slots=True)
class Probability(Score):
    """A probability in [0, 1]."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:
            raise ScaleError(f"Probability {self.name!r} is {self.value!r}; expected a number from 0 to 1")


@final
@dataclass(frozen=True, slots=True)
class Logit(Score):
    """An unbounded log-odds value, as cross-encoders give."""


@final
@dataclass(frozen=True, slots=True)
class Similarity(Score):
    """An inner product of embeddings; the cosine in [-1, 1] when one unit-weight probe met unit vectors."""


@final
@dataclass(frozen=True, slots=True)
class Bm25(Score):
    """An Okapi BM25 score, comparable within one query only."""


@final
@dataclass(frozen=True, slots=True)
class ReciprocalRank(Score):
    """1 / place, or a sum of 1 / (c + rank), of fused lists; it tells the order, and nothing of relevance."""


# ── retrieval ────────────────────────────────────────────────────────────────────────────────────────────

ProbeRole = Literal["main", "positive", "negative", "expansion"]
Comparison = Literal["==", "!=", "<", "<=", ">", ">=", "in"]


@final
@dataclass(frozen=True, slots=True)
class Probe:
    """One text to search with. A negative weight pushes away."""

    text: str
    weight: float = 1.0
    role: ProbeRole = "main"


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """A metadata filter, applied before ranking. `value` is a tuple for ``in`` and a scalar otherwise."""

    field: str
    comparison: Comparison
    value: Scalar | tuple[Scalar, ...]


@final
@dataclass(frozen=True, slots=True)
class Query:
    """Weighted, signed probes, and the conditions that every passage found must meet (all of them)."""

    probes: tuple[Probe, ...]
    where: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, text: str, where: Iterable[Condition] = ()) -> Self:
        """A query of one probe of weight 1."""
        return cls((Probe(text),), tuple(where))


@final
@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a retriever found; `rank` counts from 1.

    `parts`: its score for each probe of the query alone, in their order; empty where the retriever cannot
    tell, or where there is one probe.
    """

    passage: Passage
    score: Score
    rank: int
    parts: tuple[Score, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage as weighed for the answer; `score` may be the retriever's own or a scorer's."""

    passage: Passage
    score: Score


# ── models ───────────────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@final
@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages under a name; traces and cost tables group by the name."""

    name: str
    messages: tuple[Message, ...]


@final
@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn.

    Attributes:
        temperature: 0 is greedy.
        top_p: nucleus mass in (0, 1].
        seed: five samples are five calls with five seeds.
        max_tokens: limit on the reply's length, in the model's tokens.
        stop: strings that end the reply; none of them is part of it.
        schema: a JSON schema as text, or empty; the reply must be a document of it.
        first_token: words whose log-probability as the reply's beginning is wanted: ("Yes", "No").
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    schema: str = ""
    first_token: tuple[str, ...] = ()


GREEDY: Final = Sampling()


@final
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `is_cached`: it was answered from the cache, and the bill does not count it."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_cached: bool = False


@final
@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply; `text` is without `thinking`, which stood in thinking blocks.

    `is_truncated`: it was cut by the token limit, or ended inside a thinking block. `first_token`: (word,
    log-probability before any mask) of those wanted words that the backend could tell.
    """

    text: str
    is_truncated: bool = False
    usage: Usage = field(default_factory=Usage)
    thinking: str = ""
    first_token: tuple[tuple[str, float], ...] = ()


# ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with the evidence that was shown and the ids of the passages that it cites."""

    text: str
    citations: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Abstention:
    """A reasoned silence, with the evidence that was weighed."""

    reason: str
    evidence: tuple[Evidence, ...] = ()

    @classmethod
    def because(cls, reason: str, evidence: Iterable[Evidence] = ()) -> Self:
        """An abstention for `reason`."""
        return cls(reason, tuple(evidence))


@final
@dataclass(frozen=True, slots=True)
class Unreadable:
    """The model replied, and nobody could read it; `raw` is the reply."""

    reason: str
    raw: str


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """The question could not be put: `error` is the class of the error, `reason` its message."""

    error: str
    reason: str


Outcome = Answer | Abstention
State = Literal["answered", "abstained", "unreadable", "failed"]


@final
@dataclass(frozen=True, slots=True)
class Result:
    """How one question ended. Made by `distinguo.running` alone."""

    question: Question
    outcome: Answer | Abstention | Unreadable | Failure
    trace: str
    seconds: float

    @property
    def state(self) -> State:
        """One of the four states that every table counts."""
        match self.outcome:
            case Answer():
                return "answered"
            case Abstention():
                return "abstained"
            case Unreadable():
                return "unreadable"
            case Failure():
                return "failed"
