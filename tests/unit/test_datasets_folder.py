"""Set folders: found by path or name, sampled, and checked against their corpus; judgements."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from distinguo.datasets.folder import dangling, find_folder, sampled, tagged
from distinguo.datasets.qrels import read_qrels
from distinguo.errors import ConfigError, DataError
from distinguo.records import Example, Question

MANY = tuple(Example(Question(f"q{number}", "?")) for number in range(50))


def made(root: Path, name: str, questions: list[dict], corpus: list[str] | None = None) -> Path:
    folder = root / name
    folder.mkdir()
    lines(folder / "questions.jsonl", questions)
    if corpus is not None:
        lines(folder / "corpus.jsonl", [{"id": id_, "text": "t"} for id_ in corpus])
    return folder


def lines(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def row(id_: str, *gold: str) -> dict:
    return {"id": id_, "question": "Who?", "answers": ["x"], "gold_ids": list(gold)}


def test_a_set_is_found_by_its_path_and_by_its_name(tmp_path: Path) -> None:
    folder = made(tmp_path, "seals", [row("q")], [])
    assert find_folder(str(folder)).path == find_folder("seals", tmp_path).path == folder
    assert find_folder("seals", tmp_path).name == "seals"


def test_a_set_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    made(tmp_path, "seals", [row("q")])
    with pytest.raises(ConfigError, match=r"no set 'seels'.*did you mean 'seals'"):
        find_folder("seels", tmp_path)
    with pytest.raises(ConfigError, match=r"there are \['seals'\]"):
        find_folder("zzz", tmp_path)
    with pytest.raises(ConfigError, match="no set 'zzz'"):
        find_folder("zzz")


def test_corpus_and_judgements_are_where_they_are(tmp_path: Path) -> None:
    bare = find_folder(str(made(tmp_path, "bare", [row("q")])))
    assert (bare.corpus, bare.qrels) == (None, None)
    full = find_folder(str(made(tmp_path, "full", [row("q")], ["d"])))
    (full.path / "qrels.tsv").write_text("q\td\t1\n", encoding="utf-8")
    assert (full.corpus, full.qrels) == (full.path / "corpus.jsonl", full.path / "qrels.tsv")


def test_every_gold_document_that_the_corpus_lacks_is_listed_before_anything_is_run(tmp_path: Path) -> None:
    folder = made(tmp_path, "s", [row("a", "d1", "d9"), row("b", "d2"), row("c", "d8")], ["d1", "d2", "d3"])
    with pytest.raises(DataError) as told:
        find_folder(str(folder)).examples()
    assert "'d9' (question 'a'); 'd8' (question 'c')" in str(told.value)
    assert dangling([Example(Question("a", "?"), gold_ids=("x", "y"))], {"x"}) == (("a", "y"),)


def test_a_set_without_a_corpus_has_nothing_to_check(tmp_path: Path) -> None:
    folder = find_folder(str(made(tmp_path, "s", [row("a", "elsewhere"), row("b")])))
    assert [one.question.id for one in folder.examples()] == ["a", "b"]
    assert len(folder.examples(sample=1)) == 1


def test_a_sample_depends_on_ids_and_seed_alone() -> None:
    drawn = sampled(MANY, 10, seed=3)
    assert len(drawn) == 10
    assert set(sampled(MANY[::-1], 10, seed=3)) == set(drawn)
    assert set(drawn) < set(sampled(MANY, 20, seed=3))
    assert set(sampled(MANY, 10, seed=4)) != set(drawn)
    assert list(drawn) == [one for one in MANY if one in drawn]
    assert sampled(MANY, 99) == MANY


def test_a_sample_that_skips_another_shares_no_question_with_it() -> None:
    first, next_ = sampled(MANY, 10, seed=3), sampled(MANY, 10, seed=3, skip=10)
    assert not set(first) & set(next_)
    assert set(first) | set(next_) == set(sampled(MANY, 20, seed=3))


def test_questions_are_chosen_by_all_of_their_tags() -> None:
    one, other = (
        replace(example, tags=tags) for example, tags in zip(MANY, (("a", "b"), ("a",)), strict=False)
    )
    assert tagged([one, other], ["a", "b"]) == (one,)
    assert tagged([one, other], []) == (one, other)
    with pytest.raises(DataError, match=r"no question has the tags \['c'\]; there are \['a', 'b'\]"):
        tagged([one, other], ["c"])


def test_a_sample_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="sample of 0"):
        sampled(MANY, 0)
    with pytest.raises(ConfigError, match=f"skips {len(MANY)} of {len(MANY)} questions"):
        sampled(MANY, 5, skip=len(MANY))


def test_judgements_in_both_forms_are_read(tmp_path: Path) -> None:
    beir, trec = tmp_path / "beir.tsv", tmp_path / "trec.txt"
    beir.write_text("query-id\tcorpus-id\tscore\nq 1\td1\t2\nq 1\td2\t0\n", encoding="utf-8")
    trec.write_bytes(b"\xef\xbb\xbfq1 0 d1 2\r\nq1 0 d2 -1\r\n")
    assert read_qrels(beir) == {"q 1": {"d1": 2, "d2": 0}}
    assert read_qrels(trec) == {"q1": {"d1": 2, "d2": -1}}


def test_all_faults_of_judgements_are_told(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("q\td\t1\nq\td\t1\nq\td\t2\nq\te\thigh\nq\n", encoding="utf-8")
    with pytest.raises(DataError) as told:
        read_qrels(path)
    assert all(f"line {line}:" in str(told.value) for line in (3, 4, 5))
    assert "line 2:" not in str(told.value)


def test_a_file_without_judgements_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("query-id\tcorpus-id\tscore\n", encoding="utf-8")
    with pytest.raises(DataError, match="no judgements"):
        read_qrels(path)
