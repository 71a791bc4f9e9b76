"""``distinguo sweep`` on a double server: one table, one plot, and what cannot be swept."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from distinguo.cli.plotting import curve
from distinguo.config.grid import PlotSettings
from distinguo.running.grid import Cell
from distinguo.scoring import plot
from doubles.command import distinguo
from doubles.house import house, write_set
from doubles.openai_server import Asked, Server

PAIR = json.dumps(
    {
        "answer": "seven",
        "target": "The gate opens at seven.",
        "mimic_answer": "noon",
        "mimic": "It leaves at noon.",
    }
)


def replies(asked: Asked) -> str:
    return PAIR


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    write_set(here / "sets" / "gates")
    monkeypatch.setenv("DISTINGUO_DATA", str(here / "sets"))
    with house(here, replies) as running:
        yield running


PLOT = PlotSettings("gates", "chr", "penalty", measure="recall@1")
CELLS = [Cell("gates", "chr", {"answers": False, "k": 2, "penalty": penalty}) for penalty in (0, 1)]
SWEEP = (
    "sweep",
    "chr",
    "--set",
    "gates",
    "--corpus",
    "gates",
    "--no-answers",
    "--out",
    "out",
    "--with",
    "k=2",
)


def test_one_number_gives_a_table_and_a_plot_with_intervals(server: Server) -> None:
    assert distinguo(*SWEEP, "--over", "penalty=0:0.5:0.25", "--measure", "recall@1") == 0
    page = Path("out/sweep.md").read_text(encoding="utf-8")
    table = page.partition("## recall@1 of chr over penalty on gates")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:4] for line in table.splitlines() if line.startswith("|")][2:]
    assert [cells[0].strip() for cells in rows] == ["0", "0.25", "0.5"]
    assert all(cells[1].strip() == "4" for cells in rows)
    assert all(" to " in cells[2] for cells in rows)
    (image,) = [line for line in table.splitlines() if line.startswith("![")]
    svg = Path("out") / image.partition("(")[2].rstrip(")")
    assert svg.read_text(encoding="utf-8").count("<svg") == 1
    points = [line.split("\t") for line in svg.with_suffix(".tsv").read_text(encoding="utf-8").splitlines()]
    assert points[0] == ["line", "penalty", "n", "recall@1", "low", "high"]
    assert [point[1:3] for point in points[1:]] == [["0", "4"], ["0.25", "4"], ["0.5", "4"]]
    assert svg.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "distinguo sweep chr" in page
    assert "## Against gates.chr.answers=false.k=2.penalty=0.0" in page
    assert len([asked for asked in server.asked if asked.path.endswith("/chat/completions")]) == 4


def test_the_same_results_make_the_same_files(server: Server) -> None:
    command = (*SWEEP, "--over", "penalty=0,1")
    assert distinguo(*command) == 0
    files = [path for path in Path("out").iterdir() if path.suffix != ".jsonl"]
    before = {path: path.read_bytes() for path in files}
    assert distinguo(*command) == 0
    assert {path: path.read_bytes() for path in before} == before
    assert {path.suffix for path in before} == {".svg", ".png", ".tsv", ".md"}


def test_two_numbers_give_a_line_for_each_value_of_the_second(server: Server) -> None:
    assert distinguo(*SWEEP, "--over", "penalty=0,1", "--over", "question_weight=0.0,0.5") == 0
    table = (
        Path("out/sweep.md")
        .read_text(encoding="utf-8")
        .partition("## nDCG@10 of chr over")[2]
        .partition("\n## ")[0]
    )
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("|")][2:]
    assert [(one.strip(), x.strip()) for one, x in rows] == [
        (f"question_weight={weight}", x) for weight in ("0.0", "0.5") for x in ("0", "1")
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--over", "penalty"], "expected a setting and its values"),
        (["--over", "penalty=0:1"], "expected a setting and its values"),
        (["--over", "penalty=nan"], "expected a setting and its values"),
        (["--over", "penalty=0:1:0"], "goes nowhere"),
        (["--over", "penalty=1:0:0.1"], "goes nowhere"),
        (["--over", "penalty=0:1:0.0001"], "1,000 at most"),
        (["--over", "k=1,1e999999"], "expected a setting and its values"),
        (["--over", "penalty=0:1:1e-1000000"], "expected a setting and its values"),
        (["--over", "penalty=0,1", "--with", "question_weight=0\nk=3"], "expected one value"),
        (["--over", "penalty=0,1", "--over", "penalty=1,2"], "'penalty' is named twice"),
        (["--over", "penalty=0,1", "--with", "penalty=1"], "'penalty' is named twice"),
        (["--over", "penalty=0,1", "--with", "method=dense"], "'method' is no setting"),
        (["--over", "penalty=0,1", "--with", "question_weight=[0, 1]"], "expected one value"),
        (["--over", "penalty=0,1", "--measure", "F1"], "nothing that 'F1' could measure"),
        (["--over", "retriever=1"], "runs.retriever: 1 is not a table"),
        (["--over", "a=1", "--over", "b=1", "--over", "c=1"], "3 times"),
        (["--over", "penalt=0,1"], "did you mean 'penalty'"),
        (["--over", "penalty=0,1", "--measure", "nDGC@10"], "nDGC@10"),
        (["--over", "penalty=0,1", "--with", "k"], "expected a setting and its value"),
        (["--over", "penalty=-1,1"], "expected 0 or more"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    server: Server, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo(*SWEEP, *words) == 2
    assert message in capsys.readouterr().err
    assert not [asked for asked in server.asked if asked.path.endswith("/chat/completions")]


@pytest.mark.parametrize(("measure", "lacks"), [("recall@1", "gold_ids"), ("F1", "answers")])
def test_a_measure_without_gold_is_told_before_anything_is_asked(
    server: Server, capsys: pytest.CaptureFixture[str], measure: str, lacks: str
) -> None:
    file = Path("sets/gates/questions.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    kept = [{key: value for key, value in row.items() if key != lacks} for row in rows]
    file.write_text("\n".join(map(json.dumps, kept)), encoding="utf-8")
    command = [word for word in SWEEP if word != "--no-answers"]
    assert distinguo(*command, "--over", "penalty=0,1", "--measure", measure) == 2
    assert f"there is nothing that {measure!r} could measure" in capsys.readouterr().err
    assert server.asked == []


def test_without_matplotlib_a_sweep_says_so_before_anything_is_asked(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plot, "find_spec", lambda name: None)
    assert distinguo(*SWEEP, "--over", "penalty=0,1") == 2
    assert "pip install 'distinguo[plot]'" in capsys.readouterr().err
    assert server.asked == []


def test_a_measure_deeper_than_the_rankings_is_noted_below_its_curve(server: Server) -> None:
    assert distinguo(*SWEEP, "--over", "penalty=0,1") == 0
    curve = Path("out/sweep.md").read_text(encoding="utf-8").partition("## nDCG@10")[2].partition("\n## ")[0]
    assert "No ranking has more than 2 documents; nDCG@10 looked for more." in curve


def test_results_of_other_questions_are_not_shown_as_of_these(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    command = (*SWEEP, "--over", "penalty=0,1", "--sample", "2")
    assert distinguo(*command) == 0
    page = Path("out/sweep.md").read_bytes()
    assert distinguo(*command, "--seed", "7") == 1
    assert "set.seed" in capsys.readouterr().err
    assert Path("out/sweep.md").read_bytes() == page


def test_a_part_of_the_questions_is_no_point(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    command = (*SWEEP, "--over", "penalty=0,1", "--measure", "recall@1")
    assert distinguo(*command) == 0
    first = Path("out/gates.chr.answers=false.k=2.penalty=0.jsonl")
    lines = first.read_text(encoding="utf-8").splitlines(keepends=True)
    first.write_text("".join(lines[:3]), encoding="utf-8")
    verdict = curve(PLOT, CELLS, sorted(Path("out").glob("*.jsonl")), "gates")
    assert [point.number for point in verdict.points] == ["1"]
    assert "left out: gates.chr.answers=false.k=2.penalty=0 is partial" in verdict.notes


def test_a_dollar_is_no_mathematics(server: Server) -> None:
    write_set(Path("sets") / "a$x_{$b")
    words = ["a$x_{$b" if word == "gates" else word for word in SWEEP]
    assert distinguo(*words, "--over", "penalty=0,1") == 0
    (svg,) = Path("out").glob("*.svg")
    assert "a$x_{$b" in svg.read_text(encoding="utf-8")


def test_each_corpus_has_an_index_of_its_own(server: Server, here: Path) -> None:
    assert distinguo(*SWEEP, "--over", "penalty=0,1") == 0
    assert [path.name for path in (here / "home" / "grids" / "sweep" / "indexes").iterdir()] == ["gates"]


def test_answers_are_swept_on_the_index_of_the_user(server: Server) -> None:
    assert distinguo("index", "corpus") == 0
    words = ("sweep", "dense", "--set", "sets/gates", "--over", "k=1,2", "--measure", "contains_raw")
    assert distinguo(*words, "--out", "out", "--sample", "3", "--seed", "1") == 0
    page = Path("out/sweep.md").read_text(encoding="utf-8")
    assert "distinguo sweep dense --set sets/gates --over k=1,2 --sample 3 --seed 1 --measure" in page
    assert "## contains_raw of dense over k on gates-3" in page
    assert page.count("| gates-3.dense.k=") > 2
