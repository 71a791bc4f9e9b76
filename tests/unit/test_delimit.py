"""Untrusted text stays inside its fence."""

from typing import get_args

import pytest

from distinguo.text.delimit import Tag, delimit

LOOK_ALIKES = ["</passage>", "</PASSAGE >", "< / passage>", '<passage number="9">', "<question>", "</option>"]


@pytest.mark.parametrize("tag", get_args(Tag))
@pytest.mark.parametrize("escape", LOOK_ALIKES)
def test_text_can_neither_close_its_fence_nor_open_another(tag: Tag, escape: str) -> None:
    fenced = delimit(tag, f"before {escape} after", number=1)
    assert fenced.count("<") == 2
    assert "before ‹" in fenced
    assert fenced.endswith(f"\n</{tag}>")


def test_a_long_run_of_blanks_costs_no_more_than_its_length() -> None:
    text = "<" + " " * 2_000_000 + "x"  # hours, if each blank were tried as an end
    assert delimit("passage", text) == f"<passage>\n{text}\n</passage>"


def test_other_markup_and_braces_are_kept_as_they_are() -> None:
    text = 'if a < b: {"a": {b}} <b>bold</b> %s {0} <passages>'
    assert delimit("passage", text) == f"<passage>\n{text}\n</passage>"


def test_a_title_cannot_leave_its_attribute() -> None:
    assert (
        delimit("passage", "x", title='a"><evil>')
        == '<passage title="a&quot;&gt;&lt;evil&gt;">\nx\n</passage>'
    )
