"""Show an explanation to a person: the steps of the algorithm, what they found, dropped and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from distinguo.cli.console import Part, styled
from distinguo.cli.render import pairs, place
from distinguo.running.explanation import Contrast, Dropped, Explanation, Kept, Remark, Search, Stage
from distinguo.trace import Json

LONGEST: Final = 280
"""Characters of a text that are shown at most."""

ROWS: Final = 20
"""Passages of a search that are shown at most, besides the kept ones; of one among several, a quarter."""

SCALES: Final = {"bm25": ("BM25", 2), "reciprocalrank": ("fused ranks", 4)}
"""What a score is called, and its decimals; of other scales the name as it is, and three."""


def show_explanation(console: Console, explanation: Explanation, question: str) -> None:
    """What happened in `question`, in the order of the algorithm; a step that did not happen is left out."""
    for title, body in _steps(explanation, question):
        console.print(styled((title, "bold cyan")))
        console.print(Padding(body, (0, 0, 1, 2), expand=False))


def brief(text: str) -> str:
    """`text` as one paragraph, cut with a sign where it is very long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _steps(explanation: Explanation, question: str) -> Iterator[tuple[str, RenderableType]]:
    known = _Known.of(explanation, question)
    yield "Question", styled(brief(question))
    for pair in explanation.hypotheses:
        yield "Hypotheses", _labelled(("H⁺", pair.target), ("H⁻", pair.mimic))
    for contrast in explanation.contrasts:
        yield "Contrast", _contrast(contrast)
    for search in explanation.searches:
        yield _title(search), Group(_query(search, known), "", *_found(search, known))
    found = {item.place.passage for search in explanation.searches for item in search.found}
    if elsewhere := [passage for passage in {**known.kept, **known.dropped} if passage not in found]:
        yield "From elsewhere", _labelled(*((passage, known.fate(passage)) for passage in elsewhere))
    if explanation.remarks:
        yield "Noted", _remarks(explanation.remarks)
    yield "Cost", _costs(explanation.stages, explanation.total)


@final
@dataclass(frozen=True, slots=True)
class _Known:
    """What searches are read by: names of texts that are shown above, and the fates of passages."""

    names: dict[str, str]
    kept: dict[str, Kept]
    dropped: dict[str, Dropped]
    room: int

    @classmethod
    def of(cls, explanation: Explanation, question: str) -> _Known:
        names = {contrast.question: "near question" for contrast in explanation.contrasts}
        for pair in explanation.hypotheses:
            names |= {pair.mimic: "H⁻", pair.target: "H⁺"}
        return cls(
            names | {question: "question"},
            {item.place.passage: item for item in explanation.evidence},
            {item.passage: item for item in explanation.dropped},
            ROWS if len(explanation.searches) == 1 else ROWS // 4,
        )

    def fate(self, passage: str, scale: str = "") -> Part:
        """What became of a passage that was found with a score of this `scale`."""
        if item := self.dropped.get(passage):
            return f"dropped: {_why(item)}", "red"
        if kept := self.kept.get(passage):
            said = f"cited [{kept.citation}]" if kept.citation else "shown"
            weighed = f", {kept.scale} {_number(kept.score, kept.scale)}" if kept.scale != scale else ""
            return said + weighed, "green"
        return ""


def _why(item: Dropped) -> str:
    """The reason, with the score and the threshold where they are known."""
    held = [
        f"{name} {value:.3f}"
        for name, value in (("score", item.score), ("threshold", item.threshold))
        if value is not None
    ]
    return ", ".join(filter(None, [brief(item.reason), *held]))


def _labelled(*lines: tuple[str, Part]) -> Table:
    """Texts under one another, each cut where it is very long, behind their labels."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, said in lines:
        text, style = said if isinstance(said, tuple) else (said, "")
        table.add_row(styled((label, "bold")), styled((brief(text) or "–", style)))
    return table


# ── contrast ─────────────────────────────────────────────────────────────────────────────────────────────


def _contrast(contrast: Contrast) -> Table:
    others = [item for item in contrast.candidates if item.question != contrast.question]
    return _labelled(
        ("near", contrast.question),
        ("Δ", contrast.difference),
        ("chosen", ", ".join(filter(None, (contrast.status, _similar(contrast.similarity))))),
        *(("not taken", f"{_similar(item.similarity)}: {item.question}") for item in others),
    )


def _similar(similarity: float | None) -> str:
    return "similarity unknown" if similarity is None else f"similarity {similarity:.3f}"


# ── searches ─────────────────────────────────────────────────────────────────────────────────────────────


def _title(search: Search) -> str:
    scales = {SCALES.get(item.scale, (item.scale, 3))[0] for item in search.found}
    signed = "signed " if any(probe.weight < 0 for probe in search.probes) else ""
    by = [f"by {signed}{scale}" for scale in scales]
    conditions = [f"where {condition}" for condition in search.where]
    return ", ".join([f"Search: {search.retriever}", f"k = {search.k}", *by, *conditions])


def _query(search: Search, known: _Known) -> Table:
    """Of each probe its weight, its role, and its text, or the name of a text that is shown above."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for probe in search.probes:
        name = known.names.get(probe.text)
        text = styled((name, "bold")) if name else styled(brief(probe.text))
        table.add_row(styled(f"{probe.weight:+g}"), styled((probe.role, "dim")), text)
    return table


def _found(search: Search, known: _Known) -> Iterator[RenderableType]:
    """Ranks, scores (for each of several probes alone, too), fates, and places last, for they fold."""
    if not search.found:
        yield styled((f"failed: {search.error}", "red") if search.error else "nothing was found")
        return
    scale = search.found[0].scale
    names = [known.names.get(probe.text, str(number)) for number, probe in enumerate(search.probes, 1)]
    table = _numbers(*(names if search.found[0].parts else ()), "score")
    table.add_column()
    table.add_column(overflow="fold")
    hidden = 0
    for row, item in enumerate(search.found):
        passage = item.place.passage
        if row >= known.room and passage not in known.kept:
            hidden += 1
            continue
        scores = [_number(score, scale) for score in (*item.parts, item.score)]
        where = styled((place(asdict(item.place)), "cyan"))
        table.add_row(str(item.rank), *scores, styled(known.fate(passage, scale)), where)
    yield table
    if hidden:
        yield styled((f"and {hidden} more", "dim"))


def _numbers(*columns: str) -> Table:
    """A table whose first column has no name, and whose numbers stand under one another."""
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    for column in columns:
        table.add_column(styled(column), justify="right", overflow="fold")
    return table


def _number(score: float, scale: str) -> str:
    return f"{score:.{SCALES.get(scale, (scale, 3))[1]}f}"


# ── notes and costs ──────────────────────────────────────────────────────────────────────────────────────


def _remarks(remarks: Sequence[Remark]) -> Table:
    """Each once, with how often it was noted, behind its stage."""
    counted = Counter((remark.stage, _worded(remark)) for remark in remarks)
    return _labelled(
        *(
            (stage or "·", f"{said} ({times} times)" if times > 1 else said)
            for (stage, said), times in counted.items()
        )
    )


def _worded(remark: Remark) -> str:
    """`remark` in plain words; one that is not known here by its name and its fields."""
    match remark.name, remark.fields:
        case "hypotheses asked for one by one", {"problem": problem}:
            return (
                f"the reply with both hypotheses could not be read, each was asked for by itself: {problem}"
            )
        case "mimic dropped", {"reason": reason}:
            return f"H⁻ was dropped, λ = 0 for this question: {reason}"
        case "probes cancel out", _:
            return "the probes cancel each other out: those of negative weight were left out (λ = 0)"
        case "text cut", {"tokens": tokens, "kept": kept}:
            return f"a text of {tokens} tokens was cut to the {kept} that the encoder reads"
        case "unreadable reply", {"prompt": prompt, "problem": problem}:
            return f"the reply to {prompt!r} could not be read and was asked for once more: {problem}"
        case "retry", {"wait": wait, "error": error}:
            return f"a call failed and was made again after {wait} s: {error}"
        case "citations of passages that were not shown", {"numbers": list(numbers), "shown": shown}:
            return f"citations of {_listed(numbers)} were left out: only {shown} passages were shown"
        case "answer without a citation", {"answer": answer}:
            return f"the model said {answer!r} and cited no passage"
        case name, fields:
            return f"{name}: {pairs(fields)}" if fields else name


def _listed(numbers: list[Json]) -> str:
    return ", ".join(f"[{number}]" for number in numbers)


def _costs(stages: Sequence[Stage], total: Stage) -> Table:
    """Zeros are left blank in the stages; the cache is named where it answered a call."""
    columns = {
        "calls": [stage.calls for stage in (*stages, total)],
        "cached": [stage.cached_calls for stage in (*stages, total)],
        "tokens in": [stage.prompt_tokens for stage in (*stages, total)],
        "tokens out": [stage.completion_tokens for stage in (*stages, total)],
    }
    if not total.cached_calls:
        del columns["cached"]
    table = _numbers(*columns, "seconds")
    for row, stage in enumerate((*stages, total)):
        style = "bold" if stage is total else ""
        numbers = [f"{column[row]:,}" if column[row] or stage is total else "" for column in columns.values()]
        table.add_row(styled(stage.name), *numbers, f"{stage.seconds:.2f}", style=style)
    return table
