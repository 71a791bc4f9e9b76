"""Thinking never reaches the text, and the text never gets lost in it."""

import pytest

from distinguo.text.thinking import strip_thinking


@pytest.mark.parametrize(
    ("reply", "text", "thinking"),
    [
        ("Paris", "Paris", ""),
        ("", "", ""),
        ("  spaces stay  ", "  spaces stay  ", ""),
        ("<think>maybe Rome</think>Paris", "Paris", "maybe Rome"),
        ('<think>{"answer": "Rome"}</think>{"answer": "Paris"}', '{"answer": "Paris"}', '{"answer": "Rome"}'),
        ("<think>\nmaybe Rome\n</think>\n\nParis\n", "Paris", "maybe Rome"),
        ("<think></think>Paris", "Paris", ""),
        ("<THINK>maybe Rome</Think>Paris", "Paris", "maybe Rome"),
        ("<thinking>maybe Rome</thinking>Paris", "Paris", "maybe Rome"),
        ("<think>a<think>b</think>c</think>Paris", "Paris", "a\nb\nc"),
        ("<think>a</think>Paris <think>b</think>or Lyon", "Paris or Lyon", "a\nb"),
        ("maybe Rome</think>Paris", "Paris", "maybe Rome"),
        ("I think that a <thinker> thinks", "I think that a <thinker> thinks", ""),
    ],
)
def test_closed_blocks_leave_the_reply(reply: str, text: str, thinking: str) -> None:
    assert strip_thinking(reply) == (text, thinking, True)


@pytest.mark.parametrize(
    ("reply", "text", "thinking"),
    [
        ("<think>maybe Rome, or", "", "maybe Rome, or"),
        ("<think>", "", ""),
        ("<think>a<think>b</think>Paris", "", "a\nb\nParis"),
        ("Paris <think>or", "Paris", "or"),
    ],
)
def test_an_open_block_makes_the_reply_incomplete(reply: str, text: str, thinking: str) -> None:
    assert strip_thinking(reply) == (text, thinking, False)
