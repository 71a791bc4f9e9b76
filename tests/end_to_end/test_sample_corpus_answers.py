"""The whole of it on the embedded models: documents in, a cited answer or an honest silence out."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from ask_all import is_right, questions
from distinguo import Distinguo
from distinguo.records import Abstention, Answer, Result
from distinguo.running.traces import load
from doubles.stored import stored

ROOT = Path(__file__).parents[2]
QUESTIONS = questions()
DEMO = {"p02": "answered", "l02": "answered", "u03": "abstained"}

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stored("qwen2.5-coder-1.5b-instruct")
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def results(home: Path) -> dict[str, Result]:
    with Distinguo(home=home) as d:
        d.index(ROOT / "examples" / "corpus")
        asked = d.ask_all(row["question"] for row in QUESTIONS)
    return {row["id"]: result for row, result in zip(QUESTIONS, asked, strict=True)}


def test_every_question_is_answered_with_citations_or_silence_with_a_reason(
    results: dict[str, Result],
) -> None:
    assert len(results) == 40
    for result in results.values():
        match result.outcome:
            case Answer(text, citations, evidence):
                assert text
                assert citations
                assert set(citations) <= {item.passage.id for item in evidence}
            case Abstention(reason, evidence):
                assert reason
                assert evidence
            case other:
                pytest.fail(f"{result.question.text!r} ended {result.state}: {other}")


def test_most_questions_that_the_corpus_answers_are_answered_right(results: dict[str, Result]) -> None:
    answerable = [row for row in QUESTIONS if row["answers"]]
    right = Counter(row["kind"] for row in answerable if is_right(row, results[row["id"]]))
    assert right.total() >= 0.6 * len(answerable), right


def test_the_demo_gives_two_cited_answers_and_one_silence(results: dict[str, Result]) -> None:
    assert {name: results[name].state for name in DEMO} == DEMO


def test_a_trace_tells_what_was_asked_found_and_answered(results: dict[str, Result], home: Path) -> None:
    stored = load(home / "traces", results["l02"].trace)
    events = {str(event["name"]): event["fields"] for event in stored["events"]}
    assert len(events["hybrid"]["hits"]) == 3
    assert "Calvoryn" in events["answer_from_passages"]["messages"][1]["content"]
    assert json.loads(events["answer_from_passages"]["reply"])["answer"] == results["l02"].outcome.text
    assert events["answer_from_passages"]["prompt_tokens"] > 0


def test_a_second_asking_costs_no_call(results: dict[str, Result], home: Path) -> None:
    with Distinguo(home=home) as d:
        again = d.ask(QUESTIONS[0]["question"])
    assert again.outcome == results[QUESTIONS[0]["id"]].outcome
    events = load(home / "traces", again.trace)["events"]
    assert [event["fields"]["is_cached"] for event in events if "is_cached" in event["fields"]] == [True]


def test_the_python_of_the_readme_runs(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("DISTINGUO_HOME", str(home))
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "says clinics.md#" in capsys.readouterr().out
