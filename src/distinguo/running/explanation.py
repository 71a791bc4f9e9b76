"""What happened in one question, as records that a writer can show: text for people, JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from distinguo.records import Probe
from distinguo.trace import Json


@final
@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The likely answer H⁺ and its mimic H⁻ as they were written (CHR); an empty one was not."""

    target: str
    mimic: str


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that might have been the near one."""

    question: str
    similarity: float | None


@final
@dataclass(frozen=True, slots=True)
class Contrast:
    """The near question with another answer, and Δ, what tells it from the user's (RaCoT).

    `status` says how it was chosen from the `candidates`; where none served, question and Δ are empty.
    """

    question: str
    difference: str
    similarity: float | None
    status: str
    candidates: tuple[Candidate, ...]


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands, as far as the trace knows: page 0 and empty texts are unknown."""

    passage: str
    title: str = ""
    source: str = ""
    heading: str = ""
    page: int = 0
    start: int = 0
    end: int = 0


@final
@dataclass(frozen=True, slots=True)
class Found:
    """A passage that a search found. `parts`: its score for each probe of the query alone, or none."""

    rank: int
    place: Place
    score: float
    scale: str
    parts: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class Search:
    """A query as it was sent, and what came back; `where`: the conditions on metadata, as texts.

    `error`: why nothing came back; empty where the search succeeded.
    """

    retriever: str
    k: int
    probes: tuple[Probe, ...]
    where: tuple[str, ...]
    found: tuple[Found, ...]
    error: str


@final
@dataclass(frozen=True, slots=True)
class Dropped:
    """A passage that was weighed and left out. Score and threshold are None where none decided."""

    passage: str
    score: float | None
    threshold: float | None
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Kept:
    """A passage of the outcome's evidence.

    Attributes:
        status: of an answer, *cited* or at least *shown* to the reader; of a silence, or where nothing was
            read, *kept*.
        citation: its number among the cited, from 1; 0: it is not cited.
    """

    place: Place
    score: float
    scale: str
    status: Literal["cited", "shown", "kept"]
    citation: int = 0


@final
@dataclass(frozen=True, slots=True)
class Remark:
    """A note that no other part of the explanation tells: a fallback, a repair, a loss."""

    name: str
    stage: str
    fields: dict[str, Json]


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """What a phase of the algorithm box cost.

    Attributes:
        name: of the outermost span; of calls outside any span, the prompt's or the port's name.
        calls: model calls that were made; `cached_calls`: those that the cache answered instead.
        prompt_tokens, completion_tokens: of the calls made; cached ones cost nothing.
        seconds: of the question's own time, to hundredths; where two stages ran at once, the one that began
            first has them.
    """

    name: str
    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of the algorithm, in its order, each empty where there is none of it.

    `total` is the sum of the `stages`. Nothing of a trace is lost: notes that no other part tells are
    `remarks`.
    """

    hypotheses: tuple[Hypotheses, ...]
    contrasts: tuple[Contrast, ...]
    searches: tuple[Search, ...]
    dropped: tuple[Dropped, ...]
    evidence: tuple[Kept, ...]
    remarks: tuple[Remark, ...]
    stages: tuple[Stage, ...]
    total: Stage
