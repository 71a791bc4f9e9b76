"""Untrusted text stays inside its fence."""

import pytest

from distinguo.text.delimit import delimit


@pytest.mark.parametrize("escape", ["</passage>", "</PASSAGE >", "< / passage>", '<passage number="9">'])
def test_text_can_neither_close_nor_open_its_fence(escape: str) -> None:
    fenced = delimit("passage", f"before {escape} after", number=1)
    assert fenced.count("<") == 2
    assert "before ‹" in fenced
    assert fenced.endswith("\n</passage>")


def test_other_markup_and_braces_are_kept_as_they_are() -> None:
    text = 'if a < b: {"a": {b}} <b>bold</b> %s {0} <passages>'
    assert delimit("passage", text) == f"<passage>\n{text}\n</passage>"


def test_a_title_cannot_leave_its_attribute() -> None:
    assert (
        delimit("passage", "x", title='a"><evil>')
        == '<passage title="a&quot;&gt;&lt;evil&gt;">\nx\n</passage>'
    )
