"""A table whose values may be lists becomes cells, each with a name that stays."""

import pytest

from distinguo.errors import ConfigError, DataError
from distinguo.records import State
from distinguo.running.grid import Cell, cells, sweep
from distinguo.running.run import Tally

METHODS = {"closed_book": {"llm"}, "bm25": {"llm", "retriever", "k"}, "corm": {"llm", "retriever", "gamma"}}


def accepts(method: str) -> set[str]:
    return METHODS[method]


def names(*runs: dict[str, object]) -> list[str]:
    return [cell.name for cell in cells(runs, accepts)]


def test_a_run_of_scalars_is_one_cell() -> None:
    assert cells([{"sets": "nq", "method": "bm25", "k": 3}], accepts) == (Cell("nq", "bm25", {"k": 3}),)


def test_lists_are_swept_and_names_say_what_a_cell_is() -> None:
    run = {"sets": ["nq", "squad"], "method": "bm25", "k": [1, 3], "llm": "small"}
    assert names(run) == [
        "nq.bm25.k=1.llm=small",
        "nq.bm25.k=3.llm=small",
        "squad.bm25.k=1.llm=small",
        "squad.bm25.k=3.llm=small",
    ]


def test_a_setting_is_left_out_for_methods_without_it() -> None:
    assert names({"sets": "nq", "method": ["closed_book", "bm25"], "k": [1, 3]}) == [
        "nq.closed_book",
        "nq.bm25.k=1",
        "nq.bm25.k=3",
    ]


def test_equal_cells_of_two_runs_are_one() -> None:
    run = {"sets": "nq", "method": "bm25", "k": 3}
    assert names(run, {**run, "k": [3, 5]}) == ["nq.bm25.k=3", "nq.bm25.k=5"]


def test_the_name_of_a_cell_does_not_depend_on_the_rest_of_the_grid() -> None:
    alone = names({"k": 3, "sets": "nq", "method": "bm25", "llm": "small"})
    assert alone[0] in names(
        {"method": ["closed_book", "bm25"], "llm": ["small", "big"], "sets": "nq", "k": [1, 3]}
    )


def test_components_are_named_by_their_own_names() -> None:
    first, second = names(
        {
            "sets": "nq",
            "method": "bm25",
            "retriever": [{"name": "hybrid", "depth": 50}, {"name": "hybrid", "depth": 200}],
        }
    )
    assert first.startswith("nq.bm25.retriever=hybrid-")
    assert second.startswith("nq.bm25.retriever=hybrid-")
    assert first != second
    assert names({"sets": "nq", "method": "bm25", "retriever": {"name": "dense"}}) == [
        "nq.bm25.retriever=dense"
    ]


def test_a_name_is_a_file_name() -> None:
    run = {"sets": "../etc", "method": "corm", "llm": "a/b c:d", "gamma": [0.5, -0.5]}
    assert names(run) == ["..-etc.corm.gamma=0.5.llm=a-b-c-d", "..-etc.corm.gamma=-0.5.llm=a-b-c-d"]


def test_two_cells_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"both named 'nq\.bm25\.llm=a-b'"):
        names({"sets": "nq", "method": "bm25", "llm": ["a/b", "a b"]})


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"method": "bm25"}, r"runs\[1\]\.sets: None is not a name or a list of names"),
        ({"sets": "nq"}, r"runs\[1\]\.method: None"),
        ({"sets": "nq", "method": []}, r"runs\[1\]\.method: \[\]"),
        ({"sets": "nq", "method": [1]}, r"runs\[1\]\.method: \[1\]"),
        ({"sets": "nq", "method": "bm25", "kk": 3}, r"runs\[1\]\.kk: .*did you mean 'k'"),
        ({"sets": "nq", "method": "closed_book", "k": 3}, r"runs\[1\]\.k: no method of this run"),
        ({"sets": "nq", "method": "bm25", "k": []}, r"runs\[1\]\.k: an empty list"),
    ],
)
def test_mistakes_are_named_by_their_path(run: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        names(run)


# ── sweeping ─────────────────────────────────────────────────────────────────────────────────────────────

THREE = cells([{"sets": "nq", "method": "bm25", "k": [1, 2, 3]}], accepts)


def tally(*states: State, spent: bool = False) -> Tally:
    made = Tally(2, is_out_of_budget=spent)
    made.states.update(states)
    return made


def test_an_error_of_one_cell_stays_with_it() -> None:
    errors: list[tuple[str, str]] = []

    def run_cell(cell: Cell) -> Tally:
        match cell.settings["k"]:
            case 1:
                raise DataError("there is no index")
            case 2:
                raise ZeroDivisionError("a bug")
            case _:
                return tally("answered", "failed")

    found = sweep(THREE, run_cell, on_error=lambda cell, error: errors.append((cell.name, str(error))))
    assert errors == [("nq.bm25.k=1", "there is no index"), ("nq.bm25.k=2", "a bug")]
    assert {name: done.left for name, done in found.items()} == {"nq.bm25.k=3": 0}


def test_a_used_up_budget_ends_the_sweep() -> None:
    begun: list[object] = []

    def run_cell(cell: Cell) -> Tally:
        begun.append(cell.settings["k"])
        return tally("answered", spent=cell.settings["k"] == 2)

    found = sweep(THREE, run_cell, on_error=lambda cell, error: None)
    assert begun == [1, 2]
    assert found["nq.bm25.k=2"].left == 1


def test_an_interrupt_is_nobodys_error() -> None:
    def run_cell(cell: Cell) -> Tally:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(THREE, run_cell, on_error=lambda cell, error: pytest.fail("told as an error"))
