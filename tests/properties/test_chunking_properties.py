import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from distinguo.documents.chunking import STRETCH, Chunking, chunk, windows
from distinguo.records import Document
from distinguo.testing import WordTokeniser
from distinguo.text.sentences import is_blank, sentences

texts = st.lists(
    st.sampled_from(
        [
            "word",
            "Dr",
            "x" * 40,
            "word" * 6 + " " * 90 + "word",
            " " * 90,
            "-" * 90,
            ".",
            "!",
            "。",
            "؟",
            "国際",
            "\n\n",
            "\n- ",
            " ",
            "  ",
            "é",
            "𠀀",
            "3.5",
        ]
    )
    | st.text(max_size=4),
    max_size=80,
).map("".join)
chunkings = st.integers(1, 12).flatmap(lambda n: st.builds(Chunking, st.just(n), st.integers(0, n - 1)))


class Pieces:
    """Tokens of at most three letters, so that words fall apart as they do in word-piece tokenisers."""

    fingerprint = "pieces"

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w{1,3}|[^\w\s]", text)]


tokenisers = st.sampled_from([WordTokeniser(), Pieces()])


@given(texts, chunkings, tokenisers)
def test_offsets_are_exact_and_no_passage_exceeds_the_limit(text, chunking, tokeniser) -> None:
    starts = [start for start, _ in tokeniser.spans(text)]
    for passage in chunk(Document("d", text), chunking, tokeniser):
        assert passage.text == text[passage.start : passage.end] == passage.text.strip() != ""
        assert len(passage.text) <= STRETCH * (chunking.tokens + 1)
        assert sum(passage.start <= start < passage.end for start in starts) <= chunking.tokens


@given(texts, chunkings, tokenisers)
def test_all_but_whitespace_is_covered_in_order(text, chunking, tokeniser) -> None:
    passages = chunk(Document("d", text), chunking, tokeniser)
    covered = {i for passage in passages for i in range(passage.start, passage.end)}
    assert is_blank(text) or all(i in covered for i, c in enumerate(text) if not c.isspace())
    assert all(one.start < two.start and one.end < two.end for one, two in pairwise(passages))
    assert len({passage.id for passage in passages}) == len(passages)


@given(texts, chunkings, tokenisers)
def test_passages_share_no_more_than_the_overlap(text, chunking, tokeniser) -> None:
    starts = [start for start, _ in tokeniser.spans(text)]
    for one, two in pairwise(chunk(Document("d", text), chunking, tokeniser)):
        assert sum(two.start <= start < one.end for start in starts) <= chunking.overlap


@given(texts)
def test_sentences_cover_all_but_whitespace_once(text) -> None:
    spans = list(sentences(text))
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
    left = set(range(len(text))) - {i for start, end in spans for i in range(start, end)}
    assert all(text[i].isspace() for i in left)


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 9), st.integers(0, 8))
def test_windows_cover_every_unit_and_advance(lengths, limit, overlap) -> None:
    spans = list(windows(lengths, limit=limit, overlap=min(overlap, limit - 1)))
    assert {i for first, last in spans for i in range(first, last)} == set(range(len(lengths)))
    assert all(one[0] < two[0] <= one[1] < two[1] for one, two in pairwise(spans))
    assert all(sum(lengths[first:last]) <= limit or last - first == 1 for first, last in spans)
