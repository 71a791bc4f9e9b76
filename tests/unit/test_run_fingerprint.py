"""The header of a result file: all that makes the results what they are, and nothing else."""

import subprocess
from pathlib import Path

import pytest

from distinguo.config import fingerprint as module
from distinguo.config.fingerprint import fingerprint, segment
from distinguo.errors import DataError

METHOD = {"name": "bm25", "k": 3}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q", "question": "Which?"}\n', encoding="utf-8")
    return path


def test_it_holds_the_method_the_words_put_to_models_and_the_questions(questions: Path) -> None:
    made = fingerprint(METHOD, questions)
    assert made["method"] == METHOD
    assert set(made) == {"version", "method", "prompts", "questions", "seed"}
    assert str(questions) not in str(made), "files may move"
    assert fingerprint(METHOD, questions) == made


def test_other_questions_are_another_run(questions: Path) -> None:
    before = fingerprint(METHOD, questions)
    questions.write_text('{"id": "q", "question": "Who?"}\n', encoding="utf-8")
    after = fingerprint(METHOD, questions)
    assert {name for name in before if before[name] != after[name]} == {"questions"}


def test_the_words_of_a_method_are_those_of_all_its_stages(
    questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(changed: str, **more: bool) -> tuple[object, object]:
        source = module._source
        monkeypatch.setattr(
            module, "_source", lambda name: source(name) + (b"# new" if name.endswith(changed) else b"")
        )
        made = tuple(fingerprint({"name": name, **more}, questions)["prompts"] for name in ("bm25", "chr"))
        monkeypatch.undo()
        return made

    bm25, chr_ = told(".none")
    answering = told(".prompts.answering")
    assert answering[0] != bm25
    assert answering[1] != chr_
    assert told(".prompts.hypothesising")[0] == bm25, "it puts no hypotheses to a model"
    assert told(".prompts.hypothesising")[1] != chr_
    assert told(".prompts.answering", answers=False) == told(".none", answers=False), "it never reads"
    assert told(".prompts.repair")[0] != bm25, "reached through a stage of a stage"


def test_a_questions_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*none\.jsonl"):
        fingerprint(METHOD, tmp_path / "none.jsonl")


def test_a_segment_says_when_and_where(questions: Path) -> None:
    made = segment(questions, shard="1/2")
    assert (made["questions"], made["shard"]) == (f"{questions.parent.name}/{questions.name}", "1/2")
    assert str(made["started"]).endswith("Z")


def test_without_git_the_commit_is_not_known(questions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert segment(questions)["commit"] == ""
