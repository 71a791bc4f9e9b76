"""Find a near question with another answer, and search with what the two differ in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from distinguo.concurrently import each
from distinguo.errors import ParseError
from distinguo.prompts.contrasting import (
    HINTS,
    NEAR_SCHEMA,
    QUERY_SCHEMA,
    SKETCH_SCHEMA,
    Near,
    near,
    query,
    read_near,
    read_query,
    read_sketch,
    sketch,
)
from distinguo.protocols import LLM, Embedder
from distinguo.records import GREEDY, Sampling
from distinguo.stages.ask import ask
from distinguo.stages.search import tell_other_script
from distinguo.text.sameness import essence
from distinguo.trace import note

if TYPE_CHECKING:
    from distinguo.trace import Json

Status = Literal["band", "nearest", "none"]
Form = Literal["sketch", "concatenation", "query"]

_VARIED = 0.7  # the temperature of all candidates but the first


@final
@dataclass(frozen=True, slots=True)
class Band:
    """How like the question a near one must be, as a cosine: both ends are in it (RaCoT, Eq. 2)."""

    low: float
    high: float

    def distance(self, similarity: float) -> float:
        """How far out of the band `similarity` is; 0 inside."""
        return max(self.low - similarity, similarity - self.high, 0.0)


@final
@dataclass(frozen=True, slots=True)
class Contrast:
    """A near question, what sets the question apart from it (Δ), and how like it is (a cosine).

    `status`: it lies in the band, is the nearest to it, or there is none, and all else is empty.
    """

    near: str = ""
    difference: str = ""
    similarity: float = 0.0
    status: Status = "none"


async def contrast(
    teacher: LLM, embedder: Embedder, question: str, *, candidates: int, band: Band
) -> Contrast:
    """Of several near questions the one most like `question` inside the band (RaCoT, Eq. 1 and 2).

    The candidates are asked for together, each with another hint; the first greedily. One that cannot be
    read, says the words of the question, or has the same answer is dropped, and the trace says so. Where
    none lies in the band, the one nearest to it is taken: the paper says nothing of that case.
    """
    written = await each(lambda place: _candidate(teacher, question, place), range(candidates))
    valid = [candidate for candidate in written if candidate]
    likeness = await _likeness(embedder, question, [candidate.question for candidate in valid])
    found = [
        Contrast(one.question, one.difference, similarity, "nearest" if band.distance(similarity) else "band")
        for one, similarity in zip(valid, likeness, strict=True)
    ]
    told: list[Json] = [{"question": one.near, "similarity": one.similarity} for one in found]
    chosen = max(found, key=lambda one: (-band.distance(one.similarity), one.similarity), default=Contrast())
    note(
        "contrast",
        question=chosen.near,
        difference=chosen.difference,
        similarity=chosen.similarity,
        status=chosen.status,
        candidates=told,
    )
    return chosen


async def enrich(llm: LLM, question: str, found: Contrast, *, form: Form) -> str:
    """Q*, what is searched with: `question` itself where there is no contrast (RaCoT, Eq. 3).

    *sketch*: one or two sentences of the ideal passage; *query*: one line of words; *concatenation*: the
    question, the near one and the difference (App. B, without its labels), without a call.
    """
    if found.status == "none":
        return question
    match form:
        case "sketch":
            prompt, read, schema = sketch, read_sketch, SKETCH_SCHEMA
        case "query":
            prompt, read, schema = query, read_query, QUERY_SCHEMA
        case "concatenation":
            return f"{question} {found.near} {found.difference}"
    text = await ask(llm, prompt(question, found.near, found.difference), read, schema=schema)
    note("query", text=text)
    tell_other_script(question, text)
    return text


async def _candidate(teacher: LLM, question: str, place: int) -> Near | None:
    sampling = Sampling(temperature=_VARIED, seed=place) if place else GREEDY
    try:
        prompt = near(question, HINTS[place % len(HINTS)])
        written = await ask(teacher, prompt, read_near, schema=NEAR_SCHEMA, sampling=sampling)
    except ParseError as error:
        note("near question dropped", reason=f"it cannot be read: {error}")
        return None
    if essence(written.question) == essence(question):
        note("near question dropped", question=written.question, reason="it says the words of the question")
        return None
    answer, other = written.answers
    if answer and essence(answer) == essence(other):
        note(
            "near question dropped", question=written.question, answer=other, reason="it has the same answer"
        )
        return None
    return written


async def _likeness(embedder: Embedder, question: str, others: list[str]) -> list[float]:
    if not others:
        return []
    vectors = await each(lambda text: embedder.embed(text, "query"), [question, *others])
    return [float(vectors[0] @ vector) for vector in vectors[1:]]
