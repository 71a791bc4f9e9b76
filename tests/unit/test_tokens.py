import pytest

from distinguo.text.tokens import terms


def _shared(query: str, text: str) -> set[str]:
    return set(terms(query)) & set(terms(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("国際標準化", "国際標準化に関する動向"),
        ("標準", "国際標準化に関する動向"),
        ("東京", "東京都の天気は晴れです"),
        ("天气", "今天天气很好"),
        ("문서", "한국어 문서입니다"),
        ("กรุงเทพ", "ประเทศไทยมีกรุงเทพเป็นเมืองหลวง"),
    ],
)
def test_a_query_finds_itself_inside_a_run_without_spaces(query: str, text: str) -> None:
    assert set(terms(query)) <= set(terms(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "CAFE"),
        ("ＣＡＦＥ", "cafe"),
        ("Straße", "STRASSE"),
        ("Ångström", "angstrom"),
        ("ﬁne", "fine"),
        ("السَّلامُ", "السلام"),
        ("السلام", "سلام"),
        ("والمدرسة", "مدرسه"),
        ("أحمد", "احمد"),
        ("کتاب", "كتاب"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("שָׁלוֹם", "שלום"),
    ],
)
def test_spellings_of_one_word_meet(one: str, other: str) -> None:
    assert terms(one) == terms(other) != []


def test_numbers_and_versions_stay_whole() -> None:
    assert terms("v2.1.3 costs 1,000; see 4.2.") == ["v2.1.3", "costs", "1,000", "see", "4.2"]
    assert not _shared("2.1", "1.2")


def test_vowel_signs_of_hindi_do_not_break_words() -> None:
    assert terms("हिन्दी में लिखा।") == ["हिन्दी", "में", "लिखा"]


def test_hyphens_and_underscores_part_words() -> None:
    assert terms("COVID-19 snake_case") == ["covid", "19", "snake", "case"]


@pytest.mark.parametrize("text", ["", "  \n", "?!…", "—"])
def test_no_words_give_no_terms(text: str) -> None:
    assert terms(text) == []


def test_different_words_do_not_meet() -> None:
    assert not _shared("天气", "東京都")


def test_a_short_arabic_word_keeps_its_first_letters() -> None:
    assert terms("الى") == ["الي"]
