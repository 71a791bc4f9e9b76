"""Write what documents say if the likely answer is right, and what they say of its best mimic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from distinguo.errors import ParseError
from distinguo.records import Message, Prompt, Question
from distinguo.text.delimit import delimit
from distinguo.text.json_reply import parse_object, text_or_none

PAIR_SCHEMA: Final = """\
{"type": "object", "properties": {
 "answer": {"type": "string", "maxLength": 200}, "target": {"type": "string", "maxLength": 600},
 "mimic_answer": {"type": "string", "maxLength": 200}, "mimic": {"type": "string", "maxLength": 600}},
 "required": ["answer", "target", "mimic_answer", "mimic"], "additionalProperties": false}"""

ONE_SCHEMA: Final = """\
{"type": "object", "properties": {
 "answer": {"type": "string", "maxLength": 200}, "hypothesis": {"type": "string", "maxLength": 600}},
 "required": ["answer", "hypothesis"], "additionalProperties": false}"""

# The answers stand before the sentences: so a small model decides that they differ before it writes.
_PAIR: Final = """\
You write two sentences to search documents with. The first says what a document says that answers the \
question: take the answer that you think right. The second is its mimic: the same sentence, with the wrong \
answer that is most easily mistaken for the right one. The two answers must differ. Write at most 40 words \
each, in the language of the question. Always commit to an answer, even if you only guess.
Reply with JSON.

Examples:
Who designed the Orlen lighthouse? {"answer": "Mira Holt", "target": "The Orlen lighthouse was designed by \
the engineer Mira Holt.", "mimic_answer": "Jonas Reyk", "mimic": "The Orlen lighthouse was designed by the \
engineer Jonas Reyk."}
A lamb limps and one of its joints is swollen. What does it have? {"answer": "joint ill", "target": "Joint \
ill makes a lamb limp, with one joint hot and swollen.", "mimic_answer": "foot rot", "mimic": "Foot rot \
makes a lamb limp, with the foot hot and swollen."}"""

_TARGET: Final = """\
You write one sentence to search documents with: what a document says that answers the question. Take the \
answer that you think right, and commit to it even if you only guess. At most 40 words, in the language of \
the question.
Reply with JSON, for example, for "Who designed the Orlen lighthouse?": {"answer": "Mira Holt", \
"hypothesis": "The Orlen lighthouse was designed by the engineer Mira Holt."}"""

_MIMIC: Final = """\
You write a sentence with the wrong answer that is most easily mistaken for the right one: in the form and \
length of the given sentence, but with another answer. At most 40 words, in the language of the question.
Reply with JSON, for example, for "Who designed the Orlen lighthouse?" and "The Orlen lighthouse was \
designed by the engineer Mira Holt.": {"answer": "Jonas Reyk", "hypothesis": "The Orlen lighthouse was \
designed by the engineer Jonas Reyk."}"""


@final
@dataclass(frozen=True, slots=True)
class Hypotheses:
    """H⁺ and H⁻ of a question: `mimic` may be empty."""

    target: str
    mimic: str = ""


def hypotheses(question: Question, *, with_options: bool = False) -> Prompt:
    """Ask for both hypotheses at once (CHR, Fig. 2)."""
    return _prompt("hypotheses", _PAIR, _asked(question, with_options=with_options))


def read_hypotheses(raw: str) -> Hypotheses:
    """The reply to `hypotheses`. Raises `ParseError`, also for a target of no words."""
    fields = parse_object(raw, "target", "mimic")
    target = _sentence(fields, "target", raw=raw)
    mimic = text_or_none(fields, "mimic", raw=raw) or ""
    return Hypotheses(target, mimic if _has_words(mimic) else "")


def target(question: Question, *, with_options: bool = False) -> Prompt:
    """Ask for H⁺ alone."""
    return _prompt("target_hypothesis", _TARGET, _asked(question, with_options=with_options))


def mimic(question: Question, hypothesis: str, *, with_options: bool = False) -> Prompt:
    """Ask for H⁻, given H⁺."""
    asked = _asked(question, with_options=with_options)
    return _prompt("mimic_hypothesis", _MIMIC, f"{asked}\n{delimit('sentence', hypothesis)}")


def read_hypothesis(raw: str) -> str:
    """The reply to `target` and `mimic`. Raises `ParseError`, also for no words."""
    return _sentence(parse_object(raw, "hypothesis"), "hypothesis", raw=raw)


def _sentence(fields: dict[str, object], key: str, *, raw: str) -> str:
    text = text_or_none(fields, key, raw=raw)
    if text is None or not _has_words(text):
        raise ParseError(f"expected a sentence as {key!r}, got {text!r}", raw=raw)
    return text


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _asked(question: Question, *, with_options: bool) -> str:
    options = [delimit("option", choice) for choice in question.choices] if with_options else []
    return "\n".join([delimit("question", question.text), *options])


def _prompt(name: str, instructions: str, text: str) -> Prompt:
    return Prompt(name, (Message("system", instructions), Message("user", text)))
