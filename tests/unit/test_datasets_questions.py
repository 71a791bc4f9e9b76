"""Questions files: what is read, and how faults are told."""

import json
from pathlib import Path

import pytest

from distinguo.datasets.questions import UNJUDGED, read_questions
from distinguo.errors import DataError
from distinguo.records import Example, Question

EXAMPLES = Path(__file__).parents[2] / "examples" / "questions.jsonl"


@pytest.fixture
def written(tmp_path: Path):
    def write(*rows: dict | str | bytes) -> Path:
        path = tmp_path / "questions.jsonl"
        lines = [row if isinstance(row, bytes) else text(row).encode() for row in rows]
        path.write_bytes(b"\n".join(lines) + b"\n")
        return path

    return write


def text(row: dict | str) -> str:
    return row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)


def fault(path: Path) -> str:
    with pytest.raises(DataError) as told:
        read_questions(path)
    return str(told.value)


def test_a_row_becomes_an_example(written) -> None:
    row = {
        "id": "q1",
        "question": " Who won? ",
        "answers": ["Ann", "Anne"],
        "gold_ids": ["d1", "d1", "d2"],
        "split": "open",
        "meta": {"type": "bridge", "lang": "en", "level": "hard"},
    }
    assert read_questions(written(row)) == (
        Example(Question("q1", "Who won?"), ("Ann", "Anne"), ("d1", "d2"), ("type=bridge", "lang=en")),
    )


def test_choices_make_a_question_of_choice(written) -> None:
    (example,) = read_questions(
        written({"id": "q", "question": "Which?", "answers": ["b"], "choices": ["a", "b"]})
    )
    assert (example.question.choices, example.question.kind) == (("a", "b"), "choice")


def test_the_questions_of_the_sample_corpus_are_read() -> None:
    examples = read_questions(EXAMPLES)
    assert len(examples) == 40
    assert examples[0].gold_ids == ("clinics.md",)
    silent = [one for one in examples if not one.is_answerable and UNJUDGED not in one.tags]
    assert {tag for one in silent for tag in one.tags} == {"kind=false-premise", "kind=unanswerable"}
    assert len(silent) == 16


@pytest.mark.parametrize(
    ("fields", "gold", "is_unjudged"),
    [
        ({"answers": ["x"]}, ("x",), False),
        ({"answers": []}, (), False),
        ({"answers": [], "gold_ids": ["d"]}, (), True),
        ({}, (), True),
        ({"answers": None, "gold_ids": None, "meta": None}, (), True),
        ({"answers": [], "meta": {"answerable": True}}, (), True),
        ({"answers": [], "gold_ids": ["d"], "answerable": False}, (), False),
        ({"answers": ["x"], "answerable": False}, (), False),
        ({"answers": [], "gold_documents": ["d"], "kind": "false-premise"}, (), False),
    ],
)
def test_who_has_no_answer_asks_for_silence_or_is_not_judged(written, fields, gold, is_unjudged) -> None:
    (example,) = read_questions(written({"id": "q", "question": "Who?", **fields}))
    assert (example.gold, UNJUDGED in example.tags) == (gold, is_unjudged)


def test_a_byte_order_mark_other_line_ends_and_blank_lines_are_welcome(written) -> None:
    path = written(
        b'\xef\xbb\xbf{"id": 1, "question": "\xe5\xa4\xa9?"}\r', b"", b"   ", {"_id": "b", "question": "B?"}
    )
    assert [example.question for example in read_questions(path)] == [
        Question("1", "天?"),
        Question("b", "B?"),
    ]


def test_all_faults_are_told_at_once_with_their_lines(written) -> None:
    told = fault(
        written(
            {"id": "a", "question": "A?"},
            {"id": "a", "question": "again?"},
            "",
            {"id": "b", "question": " \u200b "},
            b'{"id": "c", "question": "\x81"}',
            "{nonsense",
            {"id": "d", "question": "D?", "answers": "Ann"},
            {"id": "e", "question": "E?", "answers": ["x", 3]},
            {"id": "f", "question": "F?", "gold_ids": [""]},
            {"id": True, "question": "G?"},
            {"id": "h", "question": 7},
            {"id": "i", "question": "I?", "answers": ""},
            {"id": "j", "question": "J?", "meta": ["x"]},
            {"id": "k", "question": "K?", "answerable": "no"},
            '["l"]',
            '{"id": "m", "question": "M?", "meta": {"x": NaN}}',
            '{"id": "n", "question": "\\ud800"}',
            '{"id": "o", "id": "p", "question": "O?"}',
            '{"id": "\\ud800", "question": "P?"}',
        )
    )
    wrong = {2, *range(4, 20)}
    assert {line for line in range(1, 20) if f"line {line}: " in told} == wrong
    assert f"{len(wrong)} faults" in told
    assert "\n" not in told


def test_of_very_many_faults_the_first_are_told(written) -> None:
    told = fault(written(*[{"id": "", "question": "?"}] * 60))
    assert "60 faults" in told
    assert told.endswith("and 10 more")


@pytest.mark.parametrize("name", ["answer", "golden_answers", "gold_id", "qestion", "choises"])
def test_a_slip_of_the_pen_loses_no_gold(written, name: str) -> None:
    fields = {"id": "q", "question": "Who?", "answers": ["a"], "gold_ids": ["d"], "choices": ["a"]}
    likely = {"qestion": "question", "gold_id": "gold_ids", "choises": "choices"}.get(name, "answers")
    fields[name] = fields.pop(likely)
    assert f"did you mean {likely!r}?" in fault(written(fields))


def test_other_fields_are_left_alone(written) -> None:
    row = {"id": "q", "question": "Who?", "answers": ["a"], "note": "n", "gold_quotes": ["x"], "source": 3}
    assert read_questions(written(row))[0].gold == ("a",)


def test_a_split_is_read_alone(written) -> None:
    path = written(
        {"id": "a", "question": "A?", "split": "open"}, {"id": "b", "question": "B?", "split": "held"}
    )
    assert [one.question.id for one in read_questions(path, split="held")] == ["b"]
    with pytest.raises(DataError, match=r"split 'test'; there are \['held', 'open'\]"):
        read_questions(path, split="test")


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_questions_is_a_fault(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(content)
    assert "has no questions" in fault(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "nowhere.jsonl" in fault(tmp_path / "nowhere.jsonl")
