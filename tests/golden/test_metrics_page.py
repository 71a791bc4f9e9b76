"""The page on metrics says what the code does: every example on it is computed."""

import json
import re
from pathlib import Path

import pytest

from distinguo.scoring.answers import ANSWER_METRICS
from distinguo.scoring.retrieval import retrieval_values
from distinguo.scoring.significance import mcnemar, wilson
from distinguo.scoring.value import Undefined

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


def tables(head: str) -> list[tuple[str, list[str]]]:
    """The (section, cells) of all rows of tables with the columns `head`."""
    section, is_in, rows = "", False, []
    for line in PAGE.splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            is_in = False
        elif " ".join(cells) == head:
            is_in = True
        elif is_in and set(line) != {"|", "-"}:
            rows.append((section, cells))
    return rows


def unquoted(cell: str):
    return json.loads(cell.strip("`"))


def agree(value: object, cell: str) -> bool:
    if cell == "undefined":
        return isinstance(value, Undefined)
    return value == pytest.approx(float(cell), abs=5e-5)


ANSWERS = tables("answer gold answers value")
RETRIEVAL = tables("ranking grades measure value")


@pytest.mark.parametrize(("section", "cells"), ANSWERS)
def test_an_answer_has_the_value_that_the_page_says(section: str, cells: list[str]) -> None:
    answer, golds, value = cells
    assert agree(ANSWER_METRICS[section.strip("`")](unquoted(answer), unquoted(golds)), value)


@pytest.mark.parametrize(("section", "cells"), RETRIEVAL)
def test_a_ranking_has_the_value_that_the_page_says(section: str, cells: list[str]) -> None:
    ranking, grades, measure, value = cells
    name = measure.strip("`")
    found = retrieval_values([name], {"q": unquoted(grades)}, {"q": unquoted(ranking)}, ignore_self=False)
    assert agree(found[name]["q"], value)


def test_shares_and_comparisons_are_as_the_page_says() -> None:
    for _, (ones, n, low, high) in tables("ones n low high"):
        found = wilson(int(ones), int(n))
        assert (found.low, found.high) == pytest.approx((float(low), float(high)), abs=5e-5)
    for _, (better, worse, p) in tables("better worse p of McNemar"):
        assert mcnemar(int(better), int(worse)) == pytest.approx(float(p), abs=5e-5)


def test_every_metric_has_its_examples() -> None:
    assert {section.strip("`") for section, _ in ANSWERS} == set(ANSWER_METRICS)
    assert {cells[2].strip("`").partition("@")[0] for _, cells in RETRIEVAL} == {
        "recall",
        "success",
        "nDCG",
        "MRR",
    }
    assert len(tables("ones n low high")) == len(tables("better worse p of McNemar")) == 3
