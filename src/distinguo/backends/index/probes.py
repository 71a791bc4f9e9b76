"""What a query comes to, before it is searched with."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from distinguo.errors import ConfigError
from distinguo.records import Probe, Query
from distinguo.text.sameness import essence
from distinguo.trace import note

_NOTHING: Final = 1e-9
_MOST: Final = 1e6


def settled(query: Query, k: int) -> Query:
    """`query` with the weights of probes of the same words added up, and none of weight 0.

    Where nothing of the positive probes is left, as if a hypothesis was subtracted from itself, those of
    negative weight are left out instead, and the trace says so.

    Raises `ConfigError` for a query that searches for nothing, and for k < 1.
    """
    _check(query, k)
    if len(query.probes) == 1:
        return query
    merged: dict[bytes, Probe] = {}
    for probe in query.probes:
        words = essence(probe.text)
        known = merged.get(words)
        merged[words] = replace(known, weight=known.weight + probe.weight) if known else probe
    left = tuple(probe for probe in merged.values() if abs(probe.weight) > _NOTHING)
    return replace(query, probes=left) if any(probe.weight > 0 for probe in left) else without_negative(query)


def without_negative(query: Query) -> Query:
    """`query` without the probes of negative weight, which cancel the others; the trace says so."""
    note("probes cancel out", left_out=[probe.text for probe in query.probes if probe.weight < 0])
    return replace(query, probes=tuple(probe for probe in query.probes if probe.weight > 0))


def _check(query: Query, k: int) -> None:
    if k < 1:
        raise ConfigError(f"'k' is {k!r}; expected 1 or more passages")
    if not query.probes:
        raise ConfigError("the query has no probes; expected at least one text to search with")
    for probe in query.probes:
        if not probe.text.strip():
            raise ConfigError(f"a probe's text is {probe.text!r}; expected words to search with")
        if not abs(probe.weight) <= _MOST:
            raise ConfigError(f"the weight of a probe is {probe.weight!r}; expected at most {_MOST:,.0f}")
    if not any(probe.weight > 0 for probe in query.probes):
        given = [(probe.text, probe.weight) for probe in query.probes]
        raise ConfigError(f"the query has no probe of positive weight to search for: {given!r}")
