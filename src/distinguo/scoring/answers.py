"""Metrics of one answer against the accepted answers, each under a name that says what is compared.

All of them take the reply without thinking blocks and without the space around it, compare it with every
accepted answer, and give the best value, from 0 to 1. An accepted answer that has nothing left to compare
counts for none; if all are such, the value is undefined. An answer with nothing left is wrong: 0. So is one
that breaks off inside a thinking block.
The formulas stand with worked examples in ``docs/metrics.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from distinguo.scoring.value import Undefined, Value
from distinguo.scoring.wording import first_line, normalised, tokens
from distinguo.text.thinking import strip_thinking

AnswerMetric = Callable[[str, Sequence[str]], Value]
Words = tuple[str, ...]
Form = TypeVar("Form", str, Words)

_CORM_SHORTEST_GOLD: Final = 3
_CORM_SHORTEST_ANSWER: Final = 4


def exact_match(answer: str, golds: Sequence[str]) -> Value:
    """EM: 1 if the first line of the answer has the normalised words of a gold answer (SQuAD), else 0.

    Against a gold answer of several lines the whole answer is taken.
    """
    return _best_by_words(answer, golds, lambda said, gold: float(said == gold))


def f1(answer: str, golds: Sequence[str]) -> Value:
    """F1: the harmonic mean of precision and recall of normalised words, as a bag (SQuAD).

    Lines as in `exact_match`; scripts without spaces count characters.
    """
    return _best_by_words(answer, golds, _overlap)


def contains_raw(answer: str, golds: Sequence[str]) -> Value:
    """1 if a gold answer is part of the answer, character by character and in its case (Self-RAG)."""
    return _best(_said(answer), [gold.strip() for gold in golds], lambda said, gold: gold in said)


def contains_lower(answer: str, golds: Sequence[str]) -> Value:
    """1 if a gold answer is part of the answer, both in lower case (RankCoT, RQ-RAG)."""
    said = _said(answer).lower()
    return _best(said, [gold.strip().lower() for gold in golds], lambda said, gold: gold in said)


def contains_normalised(answer: str, golds: Sequence[str]) -> Value:
    """1 if a gold answer is part of the answer, both normalised (sub-EM, "acc" of FlashRAG and RaCoT)."""
    return _best(
        normalised(_said(answer)), [normalised(gold) for gold in golds], lambda said, gold: gold in said
    )


def contains_words(answer: str, golds: Sequence[str]) -> Value:
    """1 if the normalised words of a gold answer stand in the answer, whole and side by side.

    Unlike `contains_normalised`, "5" is not in "15" and "no" is not in "not".
    """
    return _best(tokens(_said(answer)), [tokens(gold) for gold in golds], _runs_in)


def contains_either_way(answer: str, golds: Sequence[str]) -> Value:
    """1 if a gold answer is part of the answer, or the answer (over 3 characters) part of a gold (CoRM).

    Both are in lower case. Gold answers of one or two characters are ignored.
    """
    long_enough = [gold.strip().lower() for gold in golds if len(gold.strip()) >= _CORM_SHORTEST_GOLD]
    if golds and not long_enough:
        return Undefined(f"no gold answer has {_CORM_SHORTEST_GOLD} characters")
    return _best(
        _said(answer).lower(),
        long_enough,
        lambda said, gold: gold in said or (len(said) >= _CORM_SHORTEST_ANSWER and said in gold),
    )


def option(answer: str, golds: Sequence[str]) -> Value:
    """1 if the answer is a gold answer character for character: whether the right option was chosen."""
    return _best(_said(answer), [gold.strip() for gold in golds], str.__eq__)


ANSWER_METRICS: Final[Mapping[str, AnswerMetric]] = MappingProxyType(
    {
        "EM": exact_match,
        "F1": f1,
        "contains_raw": contains_raw,
        "contains_lower": contains_lower,
        "contains_normalised": contains_normalised,
        "contains_words": contains_words,
        "contains_either_way": contains_either_way,
        "option": option,
    }
)
"""Every metric of answers, by the name that tables write."""


def _said(answer: str) -> str:
    stripped = strip_thinking(answer)
    return stripped.text.strip() if stripped.is_closed else ""


def _best_by_words(answer: str, golds: Sequence[str], compare: Callable[[Words, Words], float]) -> Value:
    said = _said(answer)
    pairs = [(tokens(said if _has_lines(gold) else first_line(said)), tokens(gold)) for gold in golds]
    usable = [(words, gold) for words, gold in pairs if gold]
    if not usable:
        return _nothing_to_compare(golds)
    return max(compare(words, gold) for words, gold in usable)


def _best(said: Form, golds: Sequence[Form], is_in: Callable[[Form, Form], bool]) -> Value:
    usable = [gold for gold in golds if gold]
    if not usable:
        return _nothing_to_compare(golds)
    return float(any(is_in(said, gold) for gold in usable))


def _nothing_to_compare(golds: Sequence[object]) -> Undefined:
    return Undefined("the gold answers have nothing to compare" if golds else "there is no gold answer")


def _has_lines(gold: str) -> bool:
    return "\n" in gold.strip()


def _overlap(said: Words, gold: Words) -> float:
    common = (Counter(said) & Counter(gold)).total()
    return 2 * common / (len(said) + len(gold))


def _runs_in(said: Words, gold: Words) -> bool:
    width = len(gold)
    return any(said[start : start + width] == gold for start in range(len(said) - width + 1))
