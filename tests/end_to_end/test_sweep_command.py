"""``distinguo sweep`` on a double server: one table, one plot, and what cannot be swept."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    table = page.partition("## chr over penalty on gates")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:4] for line in table.splitlines() if line.startswith("|")][2:]
    assert [cells[0].strip() for cells in rows] == ["0", "0.25", "0.5"]
    assert all(cells[1].strip() == "4" for cells in rows)
    assert all(" to " in cells[2] for cells in rows)
    (image,) = [line for line in table.splitlines() if line.startswith("![")]
    svg = Path("out") / image.partition("(")[2].rstrip(")")
    assert svg.read_text(encoding="utf-8").count("<svg") == 1
    assert svg.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "distinguo sweep chr" in page
    assert len([asked for asked in server.asked if asked.path.endswith("/chat/completions")]) == 4


def test_the_same_results_make_the_same_files(server: Server) -> None:
    command = (*SWEEP, "--over", "penalty=0,1")
    assert distinguo(*command) == 0
    files = [path for path in Path("out").iterdir() if path.suffix in (".svg", ".png", ".md")]
    before = {path: path.read_bytes() for path in files}
    assert distinguo(*command) == 0
    assert {path: path.read_bytes() for path in before} == before
    assert len(before) == 3


def test_two_numbers_give_a_line_for_each_value_of_the_second(server: Server) -> None:
    assert distinguo(*SWEEP, "--over", "penalty=0,1", "--over", "question_weight=0.0,0.5") == 0
    table = Path("out/sweep.md").read_text(encoding="utf-8").partition("## chr over")[2].partition("\n## ")[0]
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
        (["--over", "penalty=0,1", "--over", "penalty=1,2"], "twice"),
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


def test_a_metric_that_no_run_has_is_told(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo(*SWEEP, "--over", "penalty=0,1", "--measure", "F1") == 0
    assert "nothing to plot" in capsys.readouterr().err
