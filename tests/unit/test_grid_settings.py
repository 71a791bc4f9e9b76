"""The TOML of a grid becomes sets, cells and settings; what is wrong in it is named by its path."""

import json
import re
from pathlib import Path

import pytest

from distinguo.config.grid import GridSettings, SetSettings
from distinguo.config.settings import INDEX_NAME
from distinguo.errors import ConfigError

BASELINE = Path(__file__).parents[2] / "docs" / "results" / "baseline.toml"

GRID = """
name = "try"
corpus = ["nq_open"]
[sets.nq]
data = "nq_open"
sample = 3
[limits]
max_calls = 7
[indexes.long]
chunk_tokens = 400
[[runs]]
sets = "nq"
method = ["closed_book", "bm25"]
k = [1, 3]
[[runs]]
sets = "nq"
method = "retrieve"
retriever = { name = "dense", index = "long" }
"""


def load(tmp_path: Path, text: str) -> GridSettings:
    path = tmp_path / "grid.toml"
    path.write_text(text, encoding="utf-8")
    return GridSettings.load(path)


def test_a_grid_is_read(tmp_path: Path) -> None:
    grid = load(tmp_path, GRID)
    assert (grid.name, grid.corpus) == ("try", ("nq_open",))
    assert grid.sets == {"nq": SetSettings("nq_open", sample=3)}
    assert [cell.name for cell in grid.cells][:3] == ["nq.closed_book", "nq.bm25.k=1", "nq.bm25.k=3"]
    assert grid.settings.limits.max_calls == 7
    assert grid.settings.indexes["long"].chunk_tokens == 400
    assert grid.indexes(grid.cells) == {"default": ("nq_open",), "long": ("nq_open",)}


def test_an_index_that_no_cell_searches_is_not_made(tmp_path: Path) -> None:
    grid = load(tmp_path, GRID.replace('["closed_book", "bm25"]\nk = [1, 3]', '"closed_book"'))
    assert set(grid.indexes(grid.cells)) == {"long"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "try"', "", "name: None is not the name of a grid"),
        ('name = "try"', 'name = "../try"', "name: '../try' is not"),
        ('corpus = ["nq_open"]', 'corpus = "nq_open"', "corpus: 'nq_open' is not a list"),
        (
            'corpus = ["nq_open"]',
            'against = "nq.bm25.k=4"',
            r"against: the grid has no cell 'nq\.bm25\.k=4'; did you mean 'nq\.bm25\.k=[13]'",
        ),
        ('corpus = ["nq_open"]', "against = 3", "against: 3 is not the name of a cell"),
        ('data = "nq_open"', "", r"sets\.nq\.data: missing"),
        ("sample = 3", "sample = -3", r"sets\.nq\.sample: -3 is not a whole number from 0"),
        ("sample = 3", "samples = 3", r"sets\.nq\.samples: unknown setting; did you mean 'sample'"),
        ('sets = "nq"', 'sets = "nqq"', "there is no set 'nqq'; did you mean 'nq'"),
        (
            'method = "retrieve"',
            'method = "retrive"',
            "there is no method 'retrive'; did you mean 'retrieve'",
        ),
        ("max_calls", "max_call", r"limits\.max_call: unknown setting"),
        ("[[runs]]", "[[run]]", "run: unknown setting; did you mean 'runs'"),
        ("[sets.nq]", "[sets.nq", "is not TOML"),
    ],
)
def test_mistakes_are_named_by_their_path(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, GRID.replace(old, new))


PLOTS = """
[[runs]]
sets = "my set"
method = "chr"
penalty = [0.0, 1.0]
question_weight = 1.0
[sets."my set"]
data = "nq_open"
against = "my-set.chr.penalty=0.0.question_weight=1.0"
[[plots]]
set = "my set"
method = "chr"
over = "penalty"
lines = "question_weight"
"""


def test_a_set_of_any_name_is_compared_with_a_cell_of_its_own(tmp_path: Path) -> None:
    grid = load(tmp_path, GRID + PLOTS)
    assert grid.baseline("my set") == "my-set.chr.penalty=0.0.question_weight=1.0"


def test_the_lines_of_a_plot_are_a_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"plots\[1\]\.lines: .*did you mean 'question_weight'"):
        load(tmp_path, GRID + PLOTS.replace('lines = "question_weight"', 'lines = "question_weigh"'))


def test_a_grid_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"runs: None; expected \[\[runs\]\]"):
        load(tmp_path, GRID.partition("[[runs]]")[0])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the configuration .*none\.toml"):
        GridSettings.load(tmp_path / "none.toml")


def test_the_baseline_is_what_it_promises() -> None:
    grid = GridSettings.load(BASELINE)
    assert [cell.name for cell in grid.cells] == [
        "nq_open.retrieve.k=10.retriever=hybrid",
        "nq_open.retrieve.k=10.retriever=dense",
        "nq_open.retrieve.k=10.retriever=lexical",
        "nq_open_100.closed_book",
        "nq_open_100.bm25.k=3",
        "nq_open_100.dense.k=3",
        "nq_open_100.hybrid.k=3",
    ]
    assert grid.sets["nq_open_100"] == SetSettings("nq_open", "open", 100, 1)
    assert grid.against == "nq_open_100.bm25.k=3"


OWN = """
name = "own"
corpus = ["popqa"]
[sets.near]
data = "nq_open"
tags = ["type=yesno"]
sample = 3
skip = 3
corpus = ["nq_open", "squad"]
against = "near.hybrid.answers=false.k=7"
[sets.other]
data = "popqa"
[[runs]]
sets = ["near", "other"]
method = "hybrid"
answers = false
k = 7
[[runs]]
sets = ["near", "other"]
method = "closed_book"
[[runs]]
sets = "near"
method = "bm25"
retriever = { name = "lexical", index = "long" }
[indexes.long]
chunk_tokens = 400
"""


def test_a_set_of_its_own_corpus_is_searched_in_an_index_of_its_own(tmp_path: Path) -> None:
    grid = load(tmp_path, OWN)
    assert grid.has_corpus
    assert grid.indexes(grid.cells) == {
        "nq_open-squad": ("nq_open", "squad"),
        "default": ("popqa",),
        "long-nq_open-squad": ("nq_open", "squad"),
    }
    assert grid.settings.indexes["long-nq_open-squad"].chunk_tokens == 400
    written = {cell.name: grid.written(cell) for cell in grid.cells}
    assert written["near.hybrid.answers=false.k=7"] == {
        "name": "hybrid",
        "answers": False,
        "k": 7,
        "retriever": {"name": "hybrid", "index": "nq_open-squad"},
    }
    assert written["other.hybrid.answers=false.k=7"]["retriever"] == {"name": "hybrid", "index": "default"}
    assert written["near.closed_book"] == {"name": "closed_book"}
    assert grid.baseline("near") == "near.hybrid.answers=false.k=7"
    assert not grid.baseline("other")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('corpus = ["nq_open", "squad"]', 'corpus = "squad"', r"sets\.near\.corpus: 'squad' is not"),
        ('corpus = ["popqa"]', "", r"sets\.other: no 'corpus', as other sets have one"),
        (
            'corpus = ["nq_open", "squad"]',
            'corpus = ["long"]',
            r"sets\.near\.corpus: \['long'\] would be the index 'long', which is another",
        ),
        (
            'data = "popqa"',
            'data = "popqa"\ncorpus = ["a/nq_open", "b/squad"]',
            "would be the index 'nq_open-squad', which is another",
        ),
        ('method = "bm25"\nretriever = {', 'method = "bm25"\nretriever = 3 # {', "runs.retriever: 3 is not"),
        ('tags = ["type=yesno"]', "tags = [3]", r"sets\.near: tags: \[3\] is not a list of texts"),
        ("sample = 3\n", "", r"sets\.near: 'skip' is 3, of no sample"),
        (
            "near.hybrid.answers=false.k=7",
            "other.hybrid.answers=false.k=7",
            r"sets\.near\.against: the grid has",
        ),
    ],
)
def test_mistakes_of_a_set_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, OWN.replace(old, new))


@pytest.mark.parametrize(
    ("corpus", "index"),
    [
        (["/data/nq_open", "./squad"], "nq_open-squad"),
        (["门"], "corpus-"),
        ([f"set{number}" for number in range(40)], "corpus-"),
    ],
)
def test_the_index_of_a_corpus_is_a_folder_in_the_home_of_the_grid(
    tmp_path: Path, corpus: list[str], index: str
) -> None:
    grid = load(tmp_path, OWN.replace('["nq_open", "squad"]', json.dumps(corpus)))
    name = grid.index(grid.cells[0])
    assert name.startswith(index)
    assert re.fullmatch(INDEX_NAME, name)
    assert grid.indexes(grid.cells)[name] == tuple(corpus)


def test_the_corpus_of_a_set_is_searched_whichever_retriever_its_method_has(tmp_path: Path) -> None:
    runs = """
    [[runs]]
    sets = "near"
    method = ["dense", "racot", "retrieve"]
    [[runs]]
    sets = "near"
    method = "retrieve"
    retriever = ["lexical", { name = "hybrid", depth = 7 }]
    """
    own = OWN.partition("[[runs]]")[0].replace('against = "near.hybrid.answers=false.k=7"', "")
    grid = load(tmp_path, own + runs)
    index = {"index": "nq_open-squad"}
    assert [grid.written(cell)["retriever"] for cell in grid.cells] == [
        {"name": "dense", **index},
        {"name": "hybrid", "depth": 20, **index},
        {"name": "hybrid", **index},
        {"name": "lexical", **index},
        {"name": "hybrid", "depth": 7, **index},
    ]
