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
from distinguo.cli.remarks import worded
from distinguo.cli.render import place
from distinguo.running.explanation import Contrast, Dropped, Explanation, Kept, Remark, Search, Stage

LONGEST: Final = 280
"""Characters of a text that are shown at most."""

ROWS: Final = 20
"""Passages of a search that are shown at most, besides the kept ones; of one among several, a quarter."""

PROBES: Final = 4
"""Probes whose own scores are shown at most; the JSON has those of more."""

SCALES: Final = {"bm25": ("BM25", 2), "reciprocalrank": ("fused ranks", 4)}
"""What a score is called, and its decimals; of other scales the name as it is, and three."""

STATUSES: Final = {
    "band": "in the band",
    "nearest": "the nearest to the band: none lies in it",
    "none": "there is none, and the question itself was searched with",
}
"""How a near question was chosen."""


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
        yield "From elsewhere", _labelled(*((known.place(one), known.fate(one)) for one in elsewhere))
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

    def place(self, passage: str) -> str:
        """Where `passage` stands; its id, if it was dropped and no search tells."""
        return place(asdict(self.kept[passage].place)) if passage in self.kept else passage

    def fate(self, passage: str) -> Part:
        """What became of `passage`; nothing is known of one that was found and not taken."""
        if item := self.dropped.get(passage):
            return ("dropped" if _is_held(item) else f"dropped: {brief(item.reason)}"), "red"
        if kept := self.kept.get(passage):
            return (f"cited [{kept.citation}]" if kept.citation else kept.status), "green"
        return ""

    def weighed(self, passage: str, scale: str) -> str:
        """Its score where it was weighed after the search, whose scores are of this `scale`."""
        if (item := self.dropped.get(passage)) and item.score is not None:
            return _number(item.score, "")
        if (kept := self.kept.get(passage)) and kept.scale != scale:
            return _number(kept.score, kept.scale)
        return ""


def _is_held(item: Dropped) -> bool:
    """Whether it was dropped for its score, held against a threshold."""
    return item.score is not None and item.threshold is not None


def _labelled(*lines: tuple[str, Part]) -> Table:
    """Texts under one another, each cut where it is very long, behind their labels."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for label, said in lines:
        text, style = said if isinstance(said, tuple) else (said, "")
        table.add_row(styled((label, "bold")), styled((brief(text) or "–", style)))
    return table


# ── contrast ─────────────────────────────────────────────────────────────────────────────────────────────


def _contrast(contrast: Contrast) -> Table:
    others = [item for item in contrast.candidates if item.question != contrast.question]
    status = STATUSES.get(contrast.status, contrast.status)
    return _labelled(
        ("near", contrast.question),
        ("Δ", contrast.difference),
        ("chosen", f"{_similar(contrast.similarity)}: {status}" if contrast.question else status),
        *(("not chosen", f"{_similar(item.similarity)}: {item.question}") for item in others),
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
    ids, scale = [item.place.passage for item in search.found], search.found[0].scale
    shown = [item for item in search.found if item.rank <= known.room or item.place.passage in known.kept]
    weighed = [known.weighed(item.place.passage, scale) for item in shown]
    parts = _parts(search, known)
    table = _numbers(*parts, "score", *["weighed"] * any(weighed))
    table.add_column()
    table.add_column(overflow="fold")
    for item, later in zip(shown, weighed, strict=True):
        scores = [_number(score, scale) for score in (*(item.parts if parts else ()), item.score)]
        where = styled((place(asdict(item.place), is_brief=True), "cyan"))
        numbers = [str(item.rank), *scores, *[later] * any(weighed)]
        table.add_row(*numbers, styled(known.fate(item.place.passage)), where)
    yield table
    if len(shown) < len(ids):
        yield styled((f"and {len(ids) - len(shown)} more", "dim"))
    yield from _reasons([known.dropped[passage] for passage in ids if passage in known.dropped])


def _parts(search: Search, known: _Known) -> list[str]:
    """Names of the probes, where each passage has a score for each and they are not too many for a table."""
    probes = search.probes
    if len(probes) > PROBES or any(len(item.parts) != len(probes) for item in search.found):
        return []
    return [known.names.get(probe.text, str(number)) for number, probe in enumerate(probes, 1)]


def _reasons(dropped: Sequence[Dropped]) -> Iterator[RenderableType]:
    """Why passages were dropped for their scores; each of the others tells it by itself."""
    counted = Counter((item.reason, item.threshold) for item in dropped if _is_held(item))
    for (reason, threshold), times in counted.items():
        yield styled((f"{times} dropped: {brief(reason)}, {threshold:g}", "red"))


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
    counted = Counter((remark.stage, worded(remark)) for remark in remarks)
    return _labelled(
        *(
            (stage or "·", f"{said} ({times} times)" if times > 1 else said)
            for (stage, said), times in counted.items()
        )
    )


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
