"""Write a near question with another answer, and what sets the question apart from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from distinguo.errors import ParseError
from distinguo.records import Message, Prompt
from distinguo.text.delimit import delimit
from distinguo.text.json_reply import parse_object, text_or_none

NEAR_SCHEMA: Final = """\
{"type": "object", "properties": {
 "answer": {"type": "string", "maxLength": 120}, "near": {"type": "string", "maxLength": 400},
 "near_answer": {"type": "string", "maxLength": 120}, "difference": {"type": "string", "maxLength": 300}},
 "required": ["answer", "near", "near_answer", "difference"], "additionalProperties": false}"""

SKETCH_SCHEMA: Final = """\
{"type": "object", "properties": {"sketch": {"type": "string", "maxLength": 600}},
 "required": ["sketch"], "additionalProperties": false}"""

QUERY_SCHEMA: Final = """\
{"type": "object", "properties": {"query": {"type": "string", "maxLength": 300}},
 "required": ["query"], "additionalProperties": false}"""

HINTS: Final = (
    "what the question asks for",
    "the person, place or thing that it is about",
    "the time, number or order in it",
    "the part or property that it asks of",
    "the relation between the names in it",
)
"""What a near question changes; each candidate has another."""

# Both answers stand in the reply: a model that must give two sees when it has only reworded the question.
_NEAR: Final = """\
You write a near question: almost the words of the given question, but a question that has another answer. \
It is no rewording: change the one thing that you are told to something else of its kind, and keep all \
other words. Guess both answers in a few words. Then say in one short sentence what sets the given \
question apart from the near one. Write in the language of the question.
Reply with JSON.

Examples:
who designed the orlen lighthouse. Change what the question asks for. {"answer": "Mira Holt", "near": "who \
painted the orlen lighthouse", "near_answer": "Jonas Reyk", "difference": "It asks for the designer of the \
lighthouse, not for its painter."}
when did the orlen ferry first sail. Change the time, number or order in it. {"answer": "1871", "near": \
"when did the orlen ferry last sail", "near_answer": "1969", "difference": "It asks for the first trip of \
the ferry, not for the last."}
how deep is the mirr lake. Change the person, place or thing that it is about. {"answer": "40 m", "near": \
"how deep is the morr lake", "near_answer": "12 m", "difference": "It asks about the Mirr lake, not about \
the Morr lake."}"""

_SKETCH: Final = """\
You write what to search documents with: one or two sentences as they would stand in the document that \
answers the question. A near question, which has another answer, and the difference between the two are \
given too: the document is about the question, not about the near one. Keep the names and numbers of the \
question. Leave the answer open if you do not know it. Write in the language of the question.
Reply with JSON, for example, for "Who designed the Orlen lighthouse?": {"sketch": "The Orlen lighthouse \
was designed by the engineer who drew its plans."}"""

_QUERY: Final = """\
You write a search query: one line with the words that find the document that answers the question. A near \
question, which has another answer, and the difference between the two are given too: the query must not \
find documents on the near question. Keep the names and numbers of the question, and its language.
Reply with JSON, for example, for "Who designed the Orlen lighthouse?": {"query": "Orlen lighthouse \
designer architect plans"}"""


@final
@dataclass(frozen=True, slots=True)
class Near:
    """A near question, what sets the question apart from it, and a guessed answer to each of the two."""

    question: str
    difference: str
    answers: tuple[str, str]


def near(question: str, hint: str) -> Prompt:
    """Ask for a near question that changes what `hint` (one of `HINTS`) says, and for the difference."""
    return _prompt("near_question", _NEAR, f"{delimit('question', question)}\nChange {hint}.")


def read_near(raw: str) -> Near:
    """The reply to `near`; near question and difference have words. Raises `ParseError`."""
    fields = parse_object(raw, "answer", "near", "near_answer", "difference")
    answers = [text_or_none(fields, key, raw=raw) or "" for key in ("answer", "near_answer")]
    return Near(
        _words(fields, "near", raw=raw), _words(fields, "difference", raw=raw), (answers[0], answers[1])
    )


def sketch(question: str, near: str, difference: str) -> Prompt:
    """Ask for a sketch of the passage that answers `question` and not the `near` one."""
    return _prompt("sketch", _SKETCH, _contrast(question, near, difference))


def read_sketch(raw: str) -> str:
    """The reply to `sketch`. Raises `ParseError`, also for no words."""
    return _words(parse_object(raw, "sketch"), "sketch", raw=raw)


def query(question: str, near: str, difference: str) -> Prompt:
    """Ask for a query of one line that finds what answers `question` and not the `near` one."""
    return _prompt("contrastive_query", _QUERY, _contrast(question, near, difference))


def read_query(raw: str) -> str:
    """The reply to `query`, on one line. Raises `ParseError`, also for no words."""
    return " ".join(_words(parse_object(raw, "query"), "query", raw=raw).split())


def _contrast(question: str, near: str, difference: str) -> str:
    parts = (delimit("question", question), delimit("near", near), delimit("difference", difference))
    return "\n".join(parts)


def _words(fields: dict[str, object], key: str, *, raw: str) -> str:
    text = text_or_none(fields, key, raw=raw)
    if text is None or not any(map(str.isalnum, text)):
        raise ParseError(f"expected words as {key!r}, got {text!r}", raw=raw)
    return text


def _prompt(name: str, instructions: str, text: str) -> Prompt:
    return Prompt(name, (Message("system", instructions), Message("user", text)))
