"""Log-probabilities of words as a reply's beginning, from those of its first token."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log1p


def beginnings(tokens: Iterable[tuple[str, float]], words: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """(word, log-probability ≤ 0) for each of `words` that one of the likeliest first `tokens` begins.

    A token counts for a word that it equals or begins, space around it disregarded; tokens that differ in
    such space alone add up. Only the longest counts: " Yes" tells more about "Yes" than "Y" does.
    A token that begins two of the words tells neither from the other and counts for none.
    """
    wanted = tuple(dict.fromkeys(words))
    known: dict[str, float] = {}
    for token, logprob in tokens:
        piece = token.strip()
        if piece:
            known[piece] = _either(known[piece], logprob) if piece in known else logprob
    longest = {
        word: piece
        for piece in sorted(known, key=len)
        for word in [word for word in wanted if word.startswith(piece)]
        if sum(other.startswith(piece) for other in wanted) == 1
    }
    return tuple((word, known[longest[word]]) for word in wanted if word in longest)


def _either(one: float, other: float) -> float:
    likelier, rarer = max(one, other), min(one, other)
    return min(0.0, likelier + log1p(exp(rarer - likelier)))
