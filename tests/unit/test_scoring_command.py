"""``distinguo score``: files in, tables, a page or JSON out; nothing is run."""

import json
import re
import shlex
from hashlib import sha256
from pathlib import Path

import pytest

from distinguo.datasets.folder import sampled
from distinguo.datasets.questions import read_questions
from distinguo.results.file import FORMAT
from distinguo.results.rows import Row, Weighed
from distinguo.running.shards import Shard
from doubles.command import distinguo

IDS = [f"q{number}" for number in range(12)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a questions file and its corpus; every second question is unanswerable."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "id": id_,
            "question": f"the secret question {id_}",
            "answers": [] if place % 2 else ["Ann"],
            "gold_ids": [] if place % 2 else [f"d{place}"],
            "split": "late" if place > 5 else "early",
        }
        for place, id_ in enumerate(IDS)
    ]
    lines(tmp_path / "questions.jsonl", rows)
    lines(tmp_path / "corpus.jsonl", [{"id": f"d{n}", "text": "passage text"} for n in range(12)])
    return tmp_path


def lines(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def wrote(name: str, ids=IDS, *, says: str = "Ann", header: dict | None = None, segment=None) -> None:
    asked = sha256(Path("questions.jsonl").read_bytes()).hexdigest()
    method = {"name": name.partition("-")[0], "k": 3}
    known = {"format": FORMAT, "method": method, "questions": asked, **(header or {})}
    piece = {"started": "2026-01-01", "questions": "/home/me/q.jsonl", **(segment or {})}
    rows = [
        Row(
            id_,
            "answered",
            "the secret question",
            says,
            evidence=(Weighed(f"d{id_[1:]}#0", f"d{id_[1:]}", 0.5, "similarity"),),
            calls=1,
            seconds=1.5,
        ).as_json()
        for id_ in ids
    ]
    lines(Path(f"{name}.jsonl"), [{"distinguo": known}, {"segment": piece}, *rows])


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert distinguo("score", *arguments, "--gold", "questions.jsonl", "--json") == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert distinguo("score", *arguments, "--gold", "questions.jsonl") in (1, 2)
    return capsys.readouterr().err


def cells(text: str, section: str) -> list[list[str]]:
    """The rows of the first table under a heading."""
    _, _, rest = text.partition(f"## {section}\n")
    table = re.search(r"(?:^\|.*\n?)+", rest, re.MULTILINE)
    assert table is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()]
    return [rows[0], *rows[2:]]


def test_tables_are_printed(capsys) -> None:
    wrote("bm25")
    assert distinguo("score", "bm25.jsonl", "--gold", "questions.jsonl") == 0
    shown = capsys.readouterr().out
    head, row = cells(shown, "Answers")
    assert dict(zip(head, row, strict=True))["`EM`"] == "1.000 (0.610 to 1.000)"
    assert row[:2] == ["bm25", "6"]
    head, whole, _, unanswerable = cells(shown, "Outcomes")
    assert dict(zip(head, whole, strict=True))["right"] == "0.500 (0.254 to 0.746)"
    assert unanswerable[1:3] == ["unanswerable", "6"]
    head, row = cells(shown, "Cost")
    assert row[-3:] == ["1.500", "–", "12"]
    assert "## Runs" not in shown


def test_runs_are_compared_with_a_baseline_in_any_order_of_files(capsys) -> None:
    wrote("bm25", says="Bob")
    wrote("dense")
    one = told(capsys, "bm25.jsonl", "dense.jsonl", "--against", "bm25", "--measure", "EM")
    two = told(capsys, "dense.jsonl", "bm25.jsonl", "--against", "bm25.jsonl", "--measure", "EM")
    assert one == two
    found = one["runs"]["dense"]["against"]["EM"]
    assert (found["difference"], found["better"], found["n"], found["test"]) == (1.0, 6, 6, "McNemar")
    assert found["p"] == pytest.approx(2 / 2**6)
    assert one["runs"]["bm25"]["against"] == {}


def test_a_page_says_how_it_was_made_by_what_and_holds_no_text(capsys) -> None:
    wrote("bm25", says="Bob")
    wrote("dense")
    chosen = ("--measure", "EM", "--measure", "recall@1", "--right-by", "EM", "--ignore-self")
    made = ("bm25.jsonl", "dense.jsonl", "--against", "bm25", "--page", "docs/page.md", "--title", "A page")
    assert distinguo("score", *made, *chosen, "--gold", "questions.jsonl") == 0
    page = Path("docs/page.md").read_text(encoding="utf-8")
    assert page.startswith("# A page\n")
    assert not any(text in page for text in ("secret", "passage text", "Ann", "/home/me"))
    _, *rows = cells(page, "Against bm25")
    assert [row[:4] for row in rows] == [
        ["dense", "`EM`", "6", "+1.000 (+1.000 to +1.000)"],
        ["dense", "`recall@1`", "6", "+0.000 (+0.000 to +0.000)"],
    ]
    assert "left out of rankings" in page
    (header, _) = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    assert header["method"] == {"name": "bm25", "k": 3}
    assert header["segments"] == [{"started": "2026-01-01"}]
    command = re.search(r"```\n(distinguo .*)\n```", page)
    assert command is not None
    Path("docs/page.md").unlink()
    assert distinguo(*shlex.split(command[1])[1:]) == 0
    assert Path("docs/page.md").read_text(encoding="utf-8") == page


def test_a_limit_a_shard_and_a_sample_are_what_the_run_was_to_answer(capsys) -> None:
    examples = read_questions(Path("questions.jsonl"))
    wrote("limit", IDS[:5], segment={"shard": "1/1", "limit": 5})
    part = [id_ for id_ in IDS if id_ in Shard(2, 3)]
    wrote("shard", part, segment={"shard": "2/3", "limit": None})
    late = read_questions(Path("questions.jsonl"), split="late")
    drawn = [one.question.id for one in sampled(late, 3, seed=4)]
    wrote("grid", drawn, header={"set": {"name": "s", "split": "late", "sample": 3, "seed": 4}})
    runs = told(capsys, "limit.jsonl", "shard.jsonl", "grid.jsonl")["runs"]
    assert {name: run["outcomes"]["all"]["n"] for name, run in runs.items()} == {
        "limit": 5,
        "shard": len(part),
        "grid": 3,
    }
    assert not any(run["is_partial"] for run in runs.values())
    assert len(examples) == 12


def test_questions_without_a_row_count_as_zero_and_are_named(capsys) -> None:
    wrote("bm25", IDS[:10])
    run = told(capsys, "bm25.jsonl", "--measure", "EM")["runs"]["bm25"]
    assert run["is_partial"]
    assert run["missing"] == ["q10", "q11"]
    assert run["metrics"]["EM"]["mean"]["value"] == pytest.approx(5 / 6)
    assert run["metrics"]["EM"]["without_failed"]["value"] == 1
    assert "partial: 2 of 12 questions have no row: 'q10', 'q11'" in run["notes"]


def test_a_partial_run_is_marked_and_refused_when_strict(capsys) -> None:
    wrote("bm25", IDS[:10])
    wrote("dense")
    assert distinguo("score", "bm25.jsonl", "--gold", "questions.jsonl") == 0
    assert "| bm25 *partial* |" in capsys.readouterr().out
    assert "['bm25']" in refused(capsys, "bm25.jsonl", "--strict")
    assert distinguo("score", "dense.jsonl", "--gold", "questions.jsonl", "--strict") == 0


def test_shards_are_one_run(capsys) -> None:
    for number in (1, 2):
        ids = [id_ for id_ in IDS if id_ in Shard(number, 2)]
        wrote(f"bm25-{number}", ids, segment={"shard": f"{number}/2"})
    wrote("bm25-whole")
    joined = told(capsys, "bm25-1.jsonl", "bm25-2.jsonl")["runs"]["bm25-1"]
    whole = told(capsys, "bm25-whole.jsonl")["runs"]["bm25-whole"]
    assert joined == whole


def test_a_run_on_other_questions_is_refused_with_their_ids(capsys) -> None:
    wrote("bm25", [*IDS, "z1", "z2"])
    assert "'z1', 'z2'" in refused(capsys, "bm25.jsonl")


def test_a_run_on_another_version_of_the_file_is_remarked_on(capsys) -> None:
    wrote("bm25", header={"questions": "another"})
    assert any(
        "another questions file" in note for note in told(capsys, "bm25.jsonl")["runs"]["bm25"]["notes"]
    )


def test_gold_documents_that_the_corpus_lacks_are_told(capsys) -> None:
    wrote("bm25")
    lines(Path("corpus.jsonl"), [{"id": "d0"}])
    notes = told(capsys, "bm25.jsonl")["runs"]["bm25"]["notes"]
    assert any(note.startswith("5 gold documents are not in 'corpus.jsonl': 'd2', 'd4'") for note in notes)


def test_judgements_beside_the_questions_or_given_are_taken(capsys) -> None:
    wrote("bm25")
    Path("given.tsv").write_text("q0\tother\t1\n", encoding="utf-8")
    measure = ("--measure", "recall@1")
    given = told(capsys, "bm25.jsonl", "--qrels", "given.tsv", *measure)["runs"]["bm25"]
    assert given["metrics"]["recall@1"]["mean"]["value"] == pytest.approx(5 / 6)
    assert told(capsys, "bm25.jsonl", *measure)["runs"]["bm25"]["metrics"]["recall@1"]["mean"]["value"] == 1
    Path("given.tsv").rename("qrels.tsv")
    assert told(capsys, "bm25.jsonl", *measure)["runs"]["bm25"]["metrics"] == given["metrics"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bm25.jsonl", "--measure", "accuracy"), "unknown measure 'accuracy'"),
        (("bm25.jsonl", "--right-by", "accuracy"), "unknown metric 'accuracy' for --right-by"),
        (("bm25.jsonl", "--against", "dense"), "no run 'dense' to compare with; there are ['bm25']"),
        (("nowhere.jsonl",), "nowhere.jsonl"),
        (("questions.jsonl",), "is no result file"),
        (("bm25.jsonl", "--page", "questions.jsonl/page.md"), "cannot write"),
    ],
)
def test_mistakes_are_told(capsys, arguments: tuple[str, ...], message: str) -> None:
    wrote("bm25")
    assert message in refused(capsys, *arguments)


def test_files_of_one_name_are_told_apart_by_their_paths(capsys) -> None:
    wrote("bm25")
    Path("other").mkdir()
    Path("other/bm25.jsonl").write_bytes(Path("bm25.jsonl").read_bytes())
    assert set(told(capsys, "bm25.jsonl", "other/bm25.jsonl")["runs"]) == {"bm25.jsonl", "other/bm25.jsonl"}
