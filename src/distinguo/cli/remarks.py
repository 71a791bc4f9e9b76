"""Say in plain words what a trace notes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from distinguo.cli.render import pairs
from distinguo.running.explanation import Remark

_FIELD: Final = re.compile(r"\{(\w+)\}")

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "hypotheses asked for one by one": (
        "H⁺ and H⁻ could not be read from one reply, and were asked for one by one: {problem}",
    ),
    "mimic dropped": ("H⁻ was dropped, and λ is 0 for this question: {reason}",),
    "near question dropped": ("a near question was dropped: {reason}",),
    "quotation dropped": ("the quotation '{text}' was dropped: {reason}",),
    "probes cancel out": ("the probes cancel each other out: those of negative weight were left out, λ = 0",),
    "query in another script": ("the query is written in another script than the question: {text}",),
    "no passage shares a term with the query": ("no passage shares a term with the query",),
    "a probe has no tokens, and counts for nothing": (
        "a probe has no tokens, and counts for nothing: {text}",
    ),
    "text cut": ("a text of {tokens} tokens was cut to the {kept} that the encoder reads",),
    "no first-token probabilities": (
        "the model tells no probabilities of its first token, and gave {instead} instead",
    ),
    "first token unknown": ("the probabilities of the first token are unknown: {reason}",),
    "nothing passes": (
        "no passage is above the threshold {threshold}; the best, {score}, was taken all the same",
        "no passage is above the threshold {threshold}",
    ),
    "unreadable reply": ("the reply to {prompt} could not be read, and was asked for once more: {problem}",),
    "citations of passages that were not shown": (
        "citations {numbers} were left out: only {shown} passages were shown",
    ),
    "answer without a citation": ("the model answered '{answer}', and cited no passage",),
    "retry": ("a call failed, and was made again after {wait} s: {error}",),
    "usage unknown": ("tokens are not known: {reason}",),
}
"""Of each note its sentences; the first whose fields are all there is said."""


def worded(remark: Remark) -> str:
    """`remark` in a sentence; one that has none here by its name and its fields."""
    for sentence in WORDS.get(remark.name, ()):
        with suppress(KeyError):
            return _FIELD.sub(lambda field: _said(remark.fields[field[1]]), sentence)
    return f"{remark.name}: {pairs(remark.fields)}" if remark.fields else remark.name


def _said(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
