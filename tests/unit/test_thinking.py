"""Thinking never reaches the text, and the text never gets lost in it."""

import time

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
        ('{"answer": "use <think>"}', '{"answer": "use <think>"}', ""),
        ('{"answer": "use </think>"}', '{"answer": "use </think>"}', ""),
        ('{"tags": ["<think>", "\\"</think>"]}', '{"tags": ["<think>", "\\"</think>"]}', ""),
        ('{"answer": "use <think', '{"answer": "use <think', ""),
        ('{"answer": "use <think> or', '{"answer": "use <think> or', ""),
        ('<think>a "b</think>{"answer": "<think>"}', '{"answer": "<think>"}', 'a "b'),
        ('<think>{"answer": "</think>{"answer": "Paris"}', '{"answer": "Paris"}', '{"answer": "'),
        (
            '{"answer": "Rome"}? no</think>{"answer": "Paris"}',
            '{"answer": "Paris"}',
            '{"answer": "Rome"}? no',
        ),
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


@pytest.mark.parametrize("piece", ["</think>", "<think>", "<think", "<think ", ':"', ':"\\"', ", "])
def test_a_reply_of_a_megabyte_is_read_at_once(piece: str) -> None:
    began = time.process_time()
    strip_thinking(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 3
