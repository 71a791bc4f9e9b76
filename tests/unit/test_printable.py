"""Foreign text on a screen: it is seen as it is, and moves nothing."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from distinguo.text.printable import printable, printable_json


def test_escapes_become_signs() -> None:
    assert printable("\x1b]0;title\x07 \x1b[2J") == "␛]0;title␇ ␛[2J"
    assert printable("\x9b2J \x7f \r back") == "<U+009B>2J ␡ ␍ back"
    assert printable("pay \u202e99\u202c now \u2066") == "pay <U+202E>99<U+202C> now <U+2066>"


def test_ordinary_text_stands_as_it_is() -> None:
    text = "fe80:a:b::1 [/] \\\\\\ :smile:\t北門は七時に\r\nمرحبا\u200f é"
    assert printable(text) == text


@given(st.text(st.characters()))
def test_nothing_steers_the_terminal_and_json_means_the_same(text: str) -> None:
    for shown in (printable(text), printable_json(json.dumps(text, ensure_ascii=False))):
        assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\t\r\n"]
        shown.encode()
    assert json.loads(printable_json(json.dumps([text], ensure_ascii=False, indent=1))) == [text]
