"""The sample corpus keeps its promises: counts, gold that is really there, and silence where it is meant."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ANSWERABLE = {"plain", "look-alike"}


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


DOCUMENTS = {path.name: path.read_text(encoding="utf-8") for path in (EXAMPLES / "corpus").glob("*.md")}
NOTICES = {notice["_id"]: notice for notice in lines(EXAMPLES / "corpus" / "notices.jsonl")}
TEXTS = DOCUMENTS | {name: f"{notice['title']}\n{notice['text']}" for name, notice in NOTICES.items()}
QUESTIONS = lines(EXAMPLES / "questions.jsonl")
SECTIONS = [
    section for text in DOCUMENTS.values() for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]
] + [notice["text"] for notice in NOTICES.values()]

each_question = pytest.mark.parametrize("question", QUESTIONS, ids=[question["id"] for question in QUESTIONS])


def test_there_are_forty_questions_of_four_kinds() -> None:
    kinds = Counter(question["kind"] for question in QUESTIONS)
    assert kinds == {"plain": 12, "look-alike": 12, "false-premise": 8, "unanswerable": 8}


def test_no_question_and_no_id_comes_twice() -> None:
    for field in ("id", "question"):
        assert [value for value, n in Counter(q[field] for q in QUESTIONS).items() if n > 1] == []


def test_about_sixty_sections_of_one_passage_each() -> None:
    assert 55 <= len(SECTIONS) <= 75
    assert [section for section in SECTIONS if not 60 <= len(section.split()) <= 140] == []


def test_no_document_and_no_sentence_of_substance_comes_twice() -> None:
    assert len(set(TEXTS.values())) == len(TEXTS) == len(DOCUMENTS) + len(NOTICES)
    sentences = Counter(
        sentence
        for text in TEXTS.values()
        for sentence in re.split(r"(?<=[.!?])\s+", text)
        if len(sentence) > 30
    )
    assert [sentence for sentence, n in sentences.items() if n > 1] == []


def test_every_section_names_its_subject() -> None:
    """A passage must be understood without its neighbours, so its text repeats a word of its heading."""
    for text in DOCUMENTS.values():
        for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            heading, body = section.split("\n", 1)
            assert any(word in body for word in re.findall(r"[\w.-]{4,}", heading)), heading


def test_notices_carry_the_same_metadata_fields() -> None:
    assert {tuple(notice["metadata"]) for notice in NOTICES.values()} == {
        ("year", "version", "clinic", "topic")
    }


@each_question
def test_gold_is_where_it_is_said_to_be(question: dict) -> None:
    documents = question["gold_documents"]
    assert set(documents) <= set(TEXTS)
    for quote in question["gold_quotes"]:
        assert any(quote in TEXTS[document] for document in documents), quote
    for document in documents:
        assert any(quote in TEXTS[document] for quote in question["gold_quotes"]), document


@each_question
def test_answers_fit_the_kind(question: dict) -> None:
    answers, quotes = question["answers"], question["gold_quotes"]
    assert bool(answers) == (question["kind"] in ANSWERABLE)
    assert bool(quotes) == (question["kind"] != "unanswerable")
    assert question["note"]
    if answers:
        assert all(answers[0].casefold() in quote.casefold() for quote in quotes)
        assert all(len(answer.split()) <= 6 for answer in answers)


@each_question
def test_what_is_meant_to_be_absent_is_absent(question: dict) -> None:
    assert ("absent" in question) == (question["kind"] == "unanswerable")
    everything = "\n".join(TEXTS.values())
    for phrase in question.get("absent", []):
        found = re.search(rf"(?<![\w.]){re.escape(phrase)}(?!\w)", everything, re.IGNORECASE)
        assert found is None, found


def test_the_demo_asks_the_three_questions_that_the_readme_names() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    demo = (EXAMPLES / "demo.sh").read_text(encoding="utf-8")
    named = [q for q in QUESTIONS if f"`{q['id']}`" in readme.split("`make demo`")[1]]
    assert [q["kind"] for q in named] == ["plain", "look-alike", "unanswerable"]
    assert [q["question"] for q in named] == re.findall(r'ask "(.+)"', demo)
