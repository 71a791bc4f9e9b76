"""``distinguo grid`` on a double server: cells, files, one index, and no call twice."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from distinguo.cli import gridding
from distinguo.results.file import ResultFile
from distinguo.results.rows import Row
from doubles.command import distinguo
from doubles.house import CONFIG, CORPUS, ENCODER, house, write_set
from doubles.openai_server import Server

GRID = """
name = "try"
corpus = ["gates"]
[sets.all]
data = "gates"
[sets.two]
data = "gates"
sample = 2
"""

RUNS = """
[[runs]]
sets = "all"
method = ["closed_book", "bm25", "dense"]
k = [1, 2]
"""

CELLS = ["all.closed_book", "all.bm25.k=1", "all.bm25.k=2", "all.dense.k=1", "all.dense.k=2"]


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server, and a set ``gates`` of four questions over the documents of the house."""
    write_set(here / "sets" / "gates")
    monkeypatch.setenv("DISTINGUO_DATA", str(here / "sets"))
    with house(here) as running:
        write(here, running, RUNS)
        yield running


def write(here: Path, server: Server, runs: str) -> None:
    usual = CONFIG.format(url=server.url, dimension=ENCODER.dimension)
    (here / "grid.toml").write_text(GRID + usual + runs, encoding="utf-8")


def rows(cell: str) -> list[Row]:
    found = ResultFile.read(Path("out", f"{cell}.jsonl")).rows
    return sorted((replace(row, seconds=0, trace="") for row in found), key=lambda row: row.id)


def chats(server: Server) -> int:
    return sum(asked.path.endswith("/chat/completions") for asked in server.asked)


def queries(server: Server) -> list[str]:
    texts = [asked.fields["input"] for asked in server.asked if asked.path.endswith("/embeddings")]
    return [text for some in texts for text in some if text.endswith("?")]


def test_every_cell_is_a_result_file(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("grid", "grid.toml", "--out", "out") == 0
    assert {path.stem for path in Path("out").glob("*.jsonl")} == set(CELLS)
    assert {cell: len(rows(cell)) for cell in CELLS} == dict.fromkeys(CELLS, 4)
    printed = capsys.readouterr()
    assert [line.partition(": ")[0] for line in printed.out.splitlines()] == CELLS
    assert "index 'default' of the grid: 2 documents" in printed.err
    header = ResultFile.read(Path("out", "all.dense.k=2.jsonl")).header
    assert header["method"]["k"] == 2
    assert header["set"] == {"name": "all", "split": "", "sample": 0, "seed": 0}


def test_what_does_not_depend_on_what_varies_is_asked_once(server: Server) -> None:
    runs = '[[runs]]\nsets = ["all", "two"]\nmethod = ["dense", "hybrid"]\nk = [1, 2]\n'
    write(Path(), server, runs)
    assert distinguo("grid", "grid.toml", "--out", "out") == 0
    assert len(queries(server)) == len(set(queries(server))) == 4, (
        "2 sets × 2 methods × 2 ks: once a question"
    )
    prompts = [json.dumps(asked.fields) for asked in server.asked if asked.path.endswith("/chat/completions")]
    assert len(prompts) == len(set(prompts)), "no call twice"
    first, second = rows("all.dense.k=1")[0], rows("two.hybrid.k=2")[0]
    assert (first.calls, first.cached_calls, first.cached_vectors) == (1, 0, 0)
    assert (second.calls, second.cached_calls, second.cached_vectors) == (0, 1, 1)
    assert (first.is_timed, second.is_timed) == (True, False)


def test_a_grid_again_asks_nothing_and_a_larger_one_only_what_is_new(server: Server) -> None:
    assert distinguo("grid", "grid.toml", "--out", "out") == 0
    before, files = chats(server), {path: path.read_bytes() for path in Path("out").iterdir()}
    assert distinguo("grid", "grid.toml", "--out", "out") == 0
    assert chats(server) == before
    assert {path: path.read_bytes() for path in Path("out").iterdir()} == files
    write(Path(), server, RUNS.replace("[1, 2]", "[1, 2]\nllm = 'default'"))
    assert distinguo("grid", "grid.toml", "--out", "out") == 0
    assert chats(server) == before, "the same calls under another name come from the cache"


def test_one_cell_of_many(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("grid", "grid.toml", "--out", "out", "--only", "all.bm25.k=2") == 0
    assert [path.name for path in Path("out").iterdir()] == ["all.bm25.k=2.jsonl"]
    assert distinguo("grid", "grid.toml", "--out", "out", "--only", "all.bm25.k=3") == 2
    assert "the grid has no cell 'all.bm25.k=3'; did you mean 'all.bm25.k=2'" in capsys.readouterr().err


def test_a_dry_run_lists_and_touches_nothing(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("grid", "grid.toml", "--out", "out", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines()[0] == "all.closed_book: 0 of 4 questions have ended"
    assert not Path("out").exists()
    assert server.asked == []
    assert distinguo("grid", "grid.toml", "--out", "out", "--only", "all.closed_book") == 0
    capsys.readouterr()
    assert distinguo("grid", "grid.toml", "--out", "out", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "all.closed_book: 4 of 4 questions have ended",
        "all.bm25.k=1: 0 of 4 questions have ended",
    ]


def test_an_error_of_one_cell_is_told_and_the_others_go_on(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").mkdir()
    Path("out", "all.bm25.k=1.jsonl").write_text("my notes\n", encoding="utf-8")
    assert distinguo("grid", "grid.toml", "--out", "out", "--page", "page.md") == 1
    said = capsys.readouterr().err
    assert "the cell 'all.bm25.k=1': the results 'out/all.bm25.k=1.jsonl' are damaged" in said
    assert "left out: the results 'out/all.bm25.k=1.jsonl' are damaged" in said
    page = Path("page.md").read_text(encoding="utf-8")
    assert [cell for cell in CELLS if f"| {cell} " not in page] == ["all.bm25.k=1"]
    assert "1 of 5 cells are not at their end (all.bm25.k=1)" in said
    assert Path("out", "all.bm25.k=1.jsonl").read_text(encoding="utf-8") == "my notes\n"
    assert all(len(rows(cell)) == 4 for cell in CELLS if cell != "all.bm25.k=1")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("k = [1, 2]", "k = [1, 0]", "'k' is 0"),
        ("k = [1, 2]", 'retriever = "dence"', "there is no retriever 'dence'; did you mean 'dense'"),
        ('data = "gates"\n[', 'data = "gate"\n[', "no set 'gate'"),
        ('corpus = ["gates"]', 'corpus = ["boats"]', "no set 'boats'"),
    ],
)
def test_a_mistake_ends_the_grid_before_its_first_cell(
    server: Server, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    path = Path("grid.toml")
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert distinguo("grid", "grid.toml", "--out", "out") == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
    assert chats(server) == 0


def test_a_used_up_limit_ends_the_grid_and_the_same_command_goes_on(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path("grid.toml").read_text(encoding="utf-8")
    Path("grid.toml").write_text(f"{text}[limits]\nmax_calls = 6\n", encoding="utf-8")
    assert distinguo("grid", "grid.toml", "--out", "out") == 1
    assert "4 of 5 cells are not at their end" in capsys.readouterr().err
    assert (len(rows("all.closed_book")), len(rows("all.bm25.k=1"))) == (4, 2)
    Path("grid.toml").write_text(text, encoding="utf-8")
    assert distinguo("grid", "grid.toml", "--out", "out") == 0
    assert all(len(rows(cell)) == 4 for cell in CELLS)


def test_a_limit_of_tokens_is_for_the_whole_grid(server: Server) -> None:
    assert distinguo("grid", "grid.toml", "--out", "out", "--max-cost", "1", "--at-once", "1") == 1
    assert [path.stem for path in Path("out").iterdir()] == ["all.closed_book"]
    assert len(rows("all.closed_book")) == chats(server) == 1


def test_an_interrupted_grid_says_how_to_go_on(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gridding, "bring_to_end", interrupted)
    assert distinguo("grid", "grid.toml", "--out", "out") == 130
    assert "interrupted; what has ended is in 'out': the same command goes on" in capsys.readouterr().err


def test_a_set_without_documents_is_no_corpus(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "sets" / "gates" / "corpus.jsonl").unlink()
    assert distinguo("grid", "grid.toml", "--out", "out") == 2
    assert "corpus: the set 'gates' has no documents" in capsys.readouterr().err


def test_without_a_corpus_the_users_own_index_is_searched(server: Server, here: Path) -> None:
    text = Path("grid.toml").read_text(encoding="utf-8").replace('corpus = ["gates"]', "")
    Path("grid.toml").write_text(text, encoding="utf-8")
    assert distinguo("index", "corpus") == 0
    assert distinguo("grid", "grid.toml", "--out", "out", "--only", "all.bm25.k=1") == 0
    assert not (here / "home" / "grids").exists()
    assert len(rows("all.bm25.k=1")) == 4


def test_what_one_cell_lacks_does_not_keep_the_others(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path("grid.toml").read_text(encoding="utf-8").replace('corpus = ["gates"]', "")
    Path("grid.toml").write_text(text, encoding="utf-8")
    assert distinguo("grid", "grid.toml", "--out", "out") == 1, "nobody made the index"
    said = capsys.readouterr().err
    assert said.count("error: the cell ") == 4
    assert "error: the cell 'all.dense.k=2': " in said
    assert len(rows("all.closed_book")) == 4


def test_the_index_of_a_grid_is_its_own_and_follows_its_corpus(server: Server, here: Path) -> None:
    assert distinguo("grid", "grid.toml", "--out", "out", "--only", "all.bm25.k=1") == 0
    assert not (here / "home" / "indexes").exists()
    (here / "sets" / "gates" / "corpus.jsonl").write_text(
        '{"id": "gates.md", "text": "No gate opens."}', encoding="utf-8"
    )
    assert distinguo("grid", "grid.toml", "--out", "new", "--only", "all.bm25.k=2") == 0
    found = {
        weighed.document
        for row in ResultFile.read(Path("new", "all.bm25.k=2.jsonl")).rows
        for weighed in row.evidence
    }
    assert found == {"gates.md"}


def test_gold_that_is_indexed_under_another_id_is_found(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = {"id": "a twin", "text": CORPUS["gates.md"]}
    with (here / "sets" / "gates" / "corpus.jsonl").open("a", encoding="utf-8") as corpus:
        corpus.write(f"\n{json.dumps(twin)}")
    assert distinguo("grid", "grid.toml", "--out", "out", "--only", "all.bm25.k=1") == 0
    assert "2 documents, 1 folded" in capsys.readouterr().err
    assert {row.evidence[0].document for row in rows("all.bm25.k=1")} == {"a twin"}
    assert distinguo("score", "out/all.bm25.k=1.jsonl", "--gold", "gates", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"].values()
    assert found["metrics"]["recall@1"]["mean"]["value"] == 1.0
    assert "1 gold documents were indexed under the id of another one" in found["notes"][0]


def test_the_page_is_made_of_the_files(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("grid", "grid.toml", "--out", "out", "--page", "page.md", "--omit-texts") == 0
    page = Path("page.md").read_text(encoding="utf-8")
    assert all(cell in page for cell in CELLS)
    assert "When does gate" not in page
    assert {row.question for row in rows("all.bm25.k=1")} == {""}


def test_the_page_compares_with_the_cell_that_the_grid_names(server: Server) -> None:
    assert distinguo("grid", "grid.toml", "--out", "out") == 0
    before = {path: path.read_bytes() for path in Path("out").iterdir()}
    file = Path("grid.toml")
    file.write_text('against = "all.bm25.k=1"\n' + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert distinguo("grid", "grid.toml", "--out", "out", "--page", "page.md") == 0
    assert {path: path.read_bytes() for path in Path("out").iterdir()} == before, "results are the same"
    page = Path("page.md").read_text(encoding="utf-8")
    compared = page.partition("## Against all.bm25.k=1")[2].partition("\n## ")[0]
    assert [cell for cell in CELLS if f"| {cell} " in compared] == [
        cell for cell in CELLS if cell != "all.bm25.k=1"
    ]
    assert "distinguo grid grid.toml --out out --page page.md" in page


def test_a_page_without_results_of_the_cell_that_the_grid_names_compares_nothing(server: Server) -> None:
    file = Path("grid.toml")
    file.write_text('against = "all.bm25.k=1"\n' + file.read_text(encoding="utf-8"), encoding="utf-8")
    command = ("grid", "grid.toml", "--out", "out", "--only", "all.closed_book", "--page", "page.md")
    assert distinguo(*command) == 0
    assert "## Against" not in Path("page.md").read_text(encoding="utf-8")
