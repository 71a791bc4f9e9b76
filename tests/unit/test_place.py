from pathlib import Path

import pytest

from distinguo.cli.render import place
from distinguo.records import Answer, Evidence, Passage, Probability, Question, Result
from distinguo.running.traces import result_as_json

ITEM = {"source": "/docs/guide.pdf", "passage": "guide.pdf#3", "title": "The guide", "start": 5, "end": 90}


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"heading": "Dosage", "page": 12}, "/docs/guide.pdf, p. 12, *Dosage*"),
        ({"heading": "", "page": 12}, "/docs/guide.pdf, p. 12, *The guide*"),
        ({"heading": "Dosage", "page": 0}, "/docs/guide.pdf, *Dosage*"),
        ({"heading": "", "page": 0}, "/docs/guide.pdf, *The guide*, characters 5–90"),
        ({"heading": "", "page": 0, "title": ""}, "/docs/guide.pdf, characters 5–90"),
        ({"heading": "", "page": 0, "title": "guide"}, "/docs/guide.pdf, characters 5–90"),
        ({"heading": "", "page": 0, "source": ""}, "guide.pdf#3, *The guide*, characters 5–90"),
        ({}, "/docs/guide.pdf, *The guide*, characters 5–90"),  # a trace of an earlier version
    ],
)
def test_a_place_is_source_page_and_heading(more: dict, shown: str) -> None:
    assert place(ITEM | more) == shown


def test_a_source_below_the_current_folder_is_shown_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert place(ITEM | {"source": str(tmp_path / "a" / "b.md"), "heading": "H"}) == "a/b.md, *H*"


def test_results_carry_heading_and_page() -> None:
    passage = Passage("d#1", "text", heading="Dosage", page=12)
    answer = Answer("yes", ("d#1",), (Evidence(passage, Probability(0.5)),))
    row = result_as_json(Result(Question("q", "?"), answer, "t", 0.1))
    (item,) = row["evidence"]
    assert (item["heading"], item["page"]) == ("Dosage", 12)
