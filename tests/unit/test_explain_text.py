"""An explanation as a person reads it."""

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from distinguo.cli.explain import show_explanation
from distinguo.cli.remarks import WORDS, worded
from distinguo.records import Probe
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

QUESTION = "Which gate opens first?"
NOTHING = Explanation((), (), (), (), (), (), (), Stage("total"))


def place(number: int) -> Place:
    return Place(f"gates.md#{number}", source="gates.md", heading=f"Gate {number}", start=1, end=5)


def found(rank: int, score: float, *parts: float, scale: str = "similarity") -> Found:
    return Found(rank, place(rank), score, scale, parts)


def search(*hits: Found, probes: tuple[Probe, ...] = (Probe(QUESTION),), k: int = 5) -> Search:
    return Search("dense", k, probes, (), hits, "")


def shown(explanation: Explanation, *, width: int = 100, is_terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=is_terminal, color_system=None, markup=False, highlight=False
    )
    show_explanation(console, explanation, QUESTION)
    return file.getvalue()


def lines(explanation: Explanation, **how) -> list[str]:
    """The lines, each with single spaces."""
    return [" ".join(line.split()) for line in shown(explanation, **how).splitlines()]


SIGNED = replace(
    NOTHING,
    hypotheses=(Hypotheses("The north gate.", "The south gate."),),
    searches=(
        search(
            found(1, 0.41, 0.81, 0.8),
            found(2, -0.02, 0.2, 0.44),
            probes=(
                Probe("The north gate.", 1.0, "positive"),
                Probe("The south gate.", -0.5, "negative"),
            ),
        ),
    ),
    evidence=(Kept(place(1), 0.41, "similarity", "cited", 1), Kept(place(2), -0.02, "similarity", "shown")),
    stages=(Stage("hypothesise", 1, 0, 1_200, 40, 2.0), Stage("read", 0, 1, 0, 0, 0.5)),
    total=Stage("total", 1, 1, 1_200, 40, 2.5),
)


def test_a_signed_search_shows_hypotheses_query_both_similarities_and_the_signed_score():
    assert lines(SIGNED) == [
        "Question",
        QUESTION,
        "",
        "Hypotheses",
        "H⁺ The north gate.",
        "H⁻ The south gate.",
        "",
        "Search: dense, k = 5, by signed similarity",
        "+1 positive H⁺",
        "-0.5 negative H⁻",
        "",
        "H⁺ H⁻ score",
        "1 0.810 0.800 0.410 cited [1] gates.md, *Gate 1*",
        "2 0.200 0.440 -0.020 shown gates.md, *Gate 2*",
        "",
        "Cost",
        "calls cached tokens in tokens out seconds",
        "hypothesise 1 1,200 40 2.00",
        "read 1 0.50",
        "total 1 1 1,200 40 2.50",
        "",
    ]


def test_k_of_five_fits_on_one_screen():
    hits = [found(rank, 1 / rank, 0.5, 0.5) for rank in range(1, 6)]
    probes = SIGNED.searches[0].probes
    explanation = replace(SIGNED, searches=(search(*hits, probes=probes),))
    for width, most in ((100, 30), (60, 36)):
        assert len(lines(explanation, width=width, is_terminal=True)) <= most


def test_a_contrast_shows_delta_status_and_the_candidates_not_chosen():
    contrast = Contrast(
        "Which gate opens last?",
        "first, not last",
        0.9,
        "nearest",
        (Candidate("Which gate opens last?", 0.9), Candidate("Which gate closes?", 0.5)),
    )
    said = lines(replace(NOTHING, contrasts=(contrast,)))
    assert said[3:9] == [
        "Contrast",
        "near Which gate opens last?",
        "Δ first, not last",
        "chosen similarity 0.900: the nearest to the band: none lies in it",
        "not chosen similarity 0.500: Which gate closes?",
        "",
    ]
    none = lines(replace(NOTHING, contrasts=(Contrast("", "", 0.0, "none", ()),)))
    assert "chosen there is none, and the question itself was searched with" in none


def test_passages_that_were_weighed_show_their_score_and_why_they_were_dropped():
    weighed = replace(
        NOTHING,
        searches=(search(*(found(rank, 0.03, scale="reciprocalrank") for rank in (1, 2, 3, 4, 5))),),
        evidence=(Kept(place(1), 0.91, "probability", "cited", 1),),
        dropped=(
            Dropped("gates.md#2", 0.25, 0.7, "not above the threshold"),
            Dropped("gates.md#3", 0.7, 0.7, "not above the threshold"),
            Dropped("gates.md#4", None, None, "its relevance cannot be read"),
            Dropped("walls.md#9", None, None, "too long"),
        ),
    )
    assert lines(weighed)[3:] == [
        "Search: dense, k = 5, by fused ranks",
        "+1 main question",
        "",
        "score weighed",
        "1 0.0300 0.910 cited [1] gates.md, *Gate 1*",
        "2 0.0300 0.250 dropped gates.md, *Gate 2*",
        "3 0.0300 0.700 dropped gates.md, *Gate 3*",
        "4 0.0300 dropped: its relevance cannot be read gates.md, *Gate 4*",
        "5 0.0300 gates.md, *Gate 5*",
        "2 dropped: not above the threshold, 0.7",
        "",
        "From elsewhere",
        "walls.md#9 dropped: too long",
        "",
        *lines(NOTHING)[3:],
    ]


def test_of_many_passages_the_kept_ones_are_shown_whatever_their_rank():
    hits = [found(rank, 1 / rank) for rank in range(1, 101)]
    kept = (Kept(place(77), 1 / 77, "similarity", "shown"),)
    one = lines(replace(NOTHING, searches=(search(*hits),), evidence=kept))
    assert "20 0.050 gates.md, *Gate 20*" in one
    assert "77 0.013 shown gates.md, *Gate 77*" in one
    assert "and 79 more" in one
    two = lines(replace(NOTHING, searches=(search(*hits), search(*hits))))
    assert two.count("and 95 more") == 2


def test_texts_of_probes_are_shown_once_and_named_afterwards():
    texts = (Probe(QUESTION, 5.0), Probe("a passage", 1.0, "expansion"))
    said = lines(replace(NOTHING, searches=(search(found(1, 2.0, 0.5, 0.25), probes=texts),)))
    assert said[4:8] == ["+5 main question", "+1 expansion a passage", "", "question 2 score"]


def test_scores_of_probes_are_left_out_where_they_are_not_of_each_probe():
    texts = (Probe(QUESTION), Probe("a passage"), Probe("another"))
    said = lines(replace(NOTHING, searches=(search(found(1, 2.0, 0.5, 0.25), probes=texts),)))
    assert said[8:10] == ["score", "1 2.000 gates.md, *Gate 1*"]


def test_a_search_without_hits_says_so():
    empty = Search("lexical", 3, (Probe(QUESTION),), ("year >= 2020",), (), "")
    failed = replace(empty, error="BackendError: no index")
    said = lines(replace(NOTHING, searches=(empty, failed)))
    assert said.count("Search: lexical, k = 3, where year >= 2020") == 2
    assert "nothing was found" in said
    assert "failed: BackendError: no index" in said


# ── notes ────────────────────────────────────────────────────────────────────────────────────────────────


def test_notes_are_said_in_plain_words_and_equal_ones_once():
    cut = Remark("text cut", "search", {"tokens": 300, "kept": 256})
    said = lines(replace(NOTHING, remarks=(cut, cut, Remark("odd", "", {"why": "because", "n": 3}))))
    assert "search a text of 300 tokens was cut to the 256 that the encoder reads (2 times)" in said
    assert "· odd: why=because n=3" in said


@pytest.mark.parametrize(
    ("remark", "words"),
    [
        (
            Remark("nothing passes", "", {"kept": "p1", "score": 0.25, "threshold": 0.7}),
            "no passage is above the threshold 0.7; the best, 0.25, was taken all the same",
        ),
        (Remark("nothing passes", "", {"threshold": 0.7}), "no passage is above the threshold 0.7"),
        (Remark("mimic dropped", "", {"why": "{reason}"}), "mimic dropped: why={reason}"),
        (
            Remark("mimic dropped", "", {"reason": "{0} {problem}"}),
            "H⁻ was dropped, and λ is 0 for this question: {0} {problem}",
        ),
        (Remark("never heard of", "", {}), "never heard of"),
    ],
)
def test_a_note_of_another_form_is_said_by_its_fields(remark: Remark, words: str):
    assert worded(remark) == words


def test_sentences_are_of_notes_that_are_written(pytestconfig: pytest.Config):
    """A note that is renamed takes its sentence with it."""
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (pytestconfig.rootpath / "src" / "distinguo").rglob("*.py")
        if path.name != "remarks.py"
    )
    assert not {name for name in WORDS if f'"{name}"' not in source}


# ── any text, any width ──────────────────────────────────────────────────────────────────────────────────

ARABIC = "متى تغادر العبّارة إلى الجزيرة؟"
CHINESE = "渡轮什么时候离开大陆前往岛屿？" * 12
NASTY = "[red]x[/red] [/] :smile: \x1b[2J \u202e {0}"


@pytest.mark.parametrize("width", [24, 44, 80, 200])
@pytest.mark.parametrize("text", [ARABIC, CHINESE, NASTY, "word " * 3_000, "", "a\n\nb\tc"])
def test_any_text_stands_as_it_is_and_within_the_width(text: str, width: int):
    explanation = replace(
        SIGNED,
        hypotheses=(Hypotheses(text, "x"),),
        contrasts=(Contrast(text, text, 0.9, "band", (Candidate("y", None),)),),
        searches=(
            Search(
                "dense",
                1,
                (Probe(text, 1.0, "expansion"), Probe("z")),
                (),
                (Found(1, Place("p", title=text, source="a/b.md"), 0.5, "similarity", ()),),
                "",
            ),
        ),
        remarks=(Remark("odd", "here", {"text": text}),),
    )
    printed = shown(explanation, width=width, is_terminal=True)
    assert all(cell_len(line) <= width for line in printed.splitlines())
    assert not set(printed) & set("\x1b\u202e\x00")
    if text == NASTY and width == 200:
        assert printed.count("[red]x[/red] [/] :smile: ␛[2J <U+202E> {0}") >= 4


def test_a_long_text_is_cut_with_a_sign():
    printed = lines(replace(NOTHING, hypotheses=(Hypotheses("word " * 200, "x"),)), width=2_000)
    (line,) = [line for line in printed if line.startswith("H⁺")]
    assert line.endswith("…")
    assert len(line) < 300
