from hypothesis import given
from hypothesis import strategies as st

from distinguo.text.tokens import terms

words = st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd", "Mn"]), max_size=30)


@given(st.text())
def test_terms_hold_no_space_and_are_never_empty(text: str) -> None:
    assert all(term and term.split() == [term] for term in terms(text))


@given(st.text())
def test_terms_are_stable(text: str) -> None:
    assert terms(text) == terms(text)


@given(st.lists(st.text("abcdefgh", min_size=1), max_size=8))
def test_latin_words_are_their_own_terms(parts: list[str]) -> None:
    assert terms(" ".join(parts)) == parts


@given(st.text("国際標準化東京", min_size=1, max_size=6), st.text("国際標準化東京", max_size=6))
def test_a_run_contains_the_terms_of_its_parts(part: str, rest: str) -> None:
    assert set(terms(part)) <= set(terms(rest + part + rest))


@given(words, words)
def test_texts_apart_have_the_terms_of_both(one: str, other: str) -> None:
    assert terms(f"{one}\n{other}") == terms(one) + terms(other)


@given(st.text(st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_gives_what_the_long_one_gives(text: str) -> None:
    assert terms(f"{text} é") == [*terms(text), "e"]
