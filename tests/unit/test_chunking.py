import pytest

from distinguo.documents.chunking import Chunking, chunk, windows
from distinguo.errors import ConfigError
from distinguo.records import Document, Section
from distinguo.testing import WordTokeniser
from distinguo.text.sentences import sentences


def _texts(text: str, tokens: int, overlap: int = 0) -> list[str]:
    return [p.text for p in chunk(Document("d", text), Chunking(tokens, overlap), WordTokeniser())]


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


class Characters:
    """Every character is a token, as in byte-level tokenisers; wide ones are three that begin together."""

    fingerprint = "characters"

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, c in enumerate(text) for _ in range(3 if c > "\uffff" else 1)]


def test_passages_are_whole_sentences() -> None:
    assert _texts("One two three. Four five. Six seven eight nine.", 5) == [
        "One two three. Four five.",
        "Six seven eight nine.",
    ]


def test_a_passage_repeats_the_end_of_the_one_before_it() -> None:
    assert _texts("A b c. D e. F g h.", 5, 2) == ["A b c. D e.", "D e. F g h."]


def test_an_overlap_never_pushes_the_next_sentence_over_the_limit() -> None:
    assert _texts("A b c. D e. F g h i j.", 5, 2) == ["A b c. D e.", "F g h i j."]


def test_a_long_sentence_is_cut_between_words_and_overlaps() -> None:
    assert _texts("a b c d e f g h", 4, 2) == ["a b c d", "c d e f", "e f g h"]


def test_a_word_without_end_is_cut_between_tokens() -> None:
    passages = chunk(Document("d", "x" * 10), Chunking(4, 0), Characters())
    assert [p.text for p in passages] == ["xxxx", "xxxx", "xx"]


def test_tokens_that_begin_together_are_never_parted() -> None:
    text = "𠀀𠀁𠀂"
    passages = chunk(Document("d", text), Chunking(2, 0), Characters())
    assert "".join(p.text for p in passages) == text


def test_passages_know_where_they_come_from() -> None:
    document = Document("d", "  One.  Two.", "Title", "d.txt", (("year", 2020),))
    one, two = chunk(document, Chunking(1, 0), WordTokeniser())
    assert (one.id, two.id) == ("d#1", "d#2")
    assert (two.document, two.title, two.source, two.meta) == ("d", "Title", "d.txt", (("year", 2020),))
    assert (one.start, one.end) == (2, 6)


def test_a_passage_has_heading_and_page_of_the_section_that_holds_most_of_it() -> None:
    sections = (Section(6, "Rules", 2), Section(17, "Fees", 2), Section(22, "Fees", 3))
    document = Document("d", "Front Close at nine Free Pay at noon", sections=sections)
    passages = chunk(document, Chunking(3, 0), WordTokeniser())
    assert [(p.text, p.heading, p.page) for p in passages] == [
        ("Front Close at", "Rules", 2),
        ("nine Free Pay", "Fees", 3),
        ("at noon", "Fees", 3),
    ]


def test_of_sections_that_hold_as_much_of_a_passage_the_first_counts() -> None:
    document = Document("d", "aaaa bbbbb", sections=(Section(0, "A"), Section(5, "B")))
    (passage,) = chunk(document, Chunking(5, 0), WordTokeniser())
    assert passage.heading == "A"


def test_before_the_first_section_there_is_no_heading() -> None:
    (passage,) = chunk(
        Document("d", "One two", sections=(Section(6, "x", 1),)), Chunking(5, 0), WordTokeniser()
    )
    assert (passage.heading, passage.page) == ("", 0)


def test_nothing_but_whitespace_gives_no_passages() -> None:
    assert _texts(" \n\t ", 5) == []


@pytest.mark.parametrize("gap", [" ", "x", "-", "\n"])
def test_what_costs_no_tokens_makes_no_endless_passage(gap: str) -> None:
    text = f"gate{gap * 100_000}b"
    passages = chunk(Document("d", text), Chunking(10, 2), WordTokeniser())
    assert (passages[0].start, passages[-1].end) == (0, len(text))
    assert max(len(passage.text) for passage in passages) <= 220


@pytest.mark.parametrize("text", ["\u200b", " \u200b\ufeff\n\u2060", "\u00ad"])
def test_what_shows_nothing_gives_no_passages(text: str) -> None:
    assert _texts(text, 5) == []


def test_the_defaults_are_stated() -> None:
    assert Chunking() == Chunking(tokens=200, overlap=40)


@pytest.mark.parametrize(("tokens", "overlap"), [(0, 0), (-1, 0), (5, 5), (5, -1)])
def test_impossible_lengths_are_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(ConfigError, match="chunking"):
        Chunking(tokens, overlap)


def test_windows_cover_units_longer_than_the_limit() -> None:
    assert list(windows([1, 9, 1, 1], limit=3, overlap=1)) == [(0, 1), (1, 2), (2, 4)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four…", ["One.", "Two!", "Three?", "Four…"]),
        ("Dr. Smith met J. R. Jones. They left.", ["Dr. Smith met J. R. Jones.", "They left."]),
        ("Give 2.5 mg, e.g. at night. Stop.", ["Give 2.5 mg, e.g. at night.", "Stop."]),
        ("He said “No.” Then he left.", ["He said “No.”", "Then he left."]),
        ("今天下雨。明天晴！好吗？", ["今天下雨。", "明天晴！", "好吗？"]),
        ("「はい。」彼は言った。", ["「はい。」", "彼は言った。"]),
        ("هل أنت بخير؟ نعم. شكرا", ["هل أنت بخير؟", "نعم.", "شكرا"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("Heading\n\nText goes\non here.", ["Heading", "Text goes\non here."]),
        ("List:\n- one\n- two", ["List:", "- one", "- two"]),
    ],
)
def test_sentences_end_as_each_script_ends_them(text: str, expected: list[str]) -> None:
    assert _sentences(text) == expected


@pytest.mark.parametrize("piece", ["x.", ".", ".)", "\n ", "a\n  ", "?!", "1."])
def test_long_runs_are_read_in_linear_time(piece: str) -> None:
    text = piece * 100_000 + "x"  # in quadratic time, minutes and more: the test's time limit would end it
    kept = "".join(_sentences(text))
    assert "".join(kept.split()) == "".join(text.split())
