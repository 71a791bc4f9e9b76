"""Sweep settings: a table whose values may be lists becomes cells, and every cell one result file."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import blake2b
from itertools import product
from typing import Final, cast, final

from distinguo.errors import ConfigError, DistinguoError
from distinguo.running.run import Tally

Setting = object
"""A value of TOML. A list is swept; scalars and tables stand for themselves."""

Accepts = Callable[[str], Collection[str]]
"""The names of the settings that a method has."""

_AXES: Final = ("sets", "method")

_log = logging.getLogger(__name__)


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One method with one value for each setting, on one set of questions.

    `name` is made of all of this, and so the same whatever else the grid has; it names a file.
    """

    set: str
    method: str
    settings: Mapping[str, Setting]

    @property
    def name(self) -> str:
        """Such as ``nq_open.bm25.k=3``."""
        parts = [
            self.set,
            self.method,
            *(f"{key}={_shown(self.settings[key])}" for key in sorted(self.settings)),
        ]
        return ".".join(re.sub(r"[^\w=.-]+", "-", part) for part in parts)


def cells(runs: Iterable[Mapping[str, Setting]], accepts: Accepts) -> tuple[Cell, ...]:
    """The cells of `runs`: every set with every method with every combination of the values of its settings.

    A setting that only some of a run's methods have is left out for the others. Raises `ConfigError`.
    """
    made = [cell for number, run in enumerate(runs, 1) for cell in _cells(run, f"runs[{number}]", accepts)]
    by_name: dict[str, Cell] = {}
    for cell in made:
        if by_name.setdefault(cell.name, cell) != cell:
            raise ConfigError(f"two cells of the grid are both named {cell.name!r}: {cell!r}")
    return tuple(by_name.values())


def sweep(
    cells: Iterable[Cell],
    run_cell: Callable[[Cell], Tally],
    *,
    on_error: Callable[[Cell, Exception], None],
) -> dict[str, Tally]:
    """Run `cells` one after the other; how far each is, by its name.

    A cell that fails is given to `on_error` and lacks in what is returned; the others go on. Once a budget
    is used up, no further cell is begun.
    """
    tallies: dict[str, Tally] = {}
    for cell in cells:
        try:
            tally = tallies[cell.name] = run_cell(cell)
        except DistinguoError as error:
            on_error(cell, error)
        except Exception as error:
            _log.exception("the cell %r met a fault of Distinguo or of a component", cell.name)
            on_error(cell, error)
        else:
            if tally.is_out_of_budget:
                break
    return tallies


def _cells(run: Mapping[str, Setting], path: str, accepts: Accepts) -> list[Cell]:
    sets, methods = (_words(run, name, path) for name in _AXES)
    settings = {name: _listed(value) for name, value in run.items() if name not in _AXES}
    accepted = {method: accepts(method) for method in methods}
    for name, values in settings.items():
        if not any(name in names for names in accepted.values()):
            raise ConfigError(f"{path}.{name}: {_no_setting(name, accepted)}")
        if not values:
            raise ConfigError(f"{path}.{name}: an empty list has nothing to sweep")
    return [
        Cell(chosen, method, dict(zip(kept, values, strict=True)))
        for chosen, method in product(sets, methods)
        for kept in [[name for name in settings if name in accepted[method]]]
        for values in product(*(settings[name] for name in kept))
    ]


def _words(run: Mapping[str, Setting], name: str, path: str) -> list[str]:
    words = _listed(run.get(name, []))
    if not words or not all(isinstance(word, str) for word in words):
        raise ConfigError(f"{path}.{name}: {run.get(name)!r} is not a name or a list of names")
    return cast("list[str]", words)


def _listed(value: Setting) -> list[Setting]:
    return cast("list[Setting]", value) if isinstance(value, list) else [value]


def _no_setting(name: str, accepted: Mapping[str, Collection[str]]) -> str:
    known = sorted({*_AXES, *(known for names in accepted.values() for known in names)})
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, known))}"
    return f"no method of this run has such a setting; {hint}"


def _shown(value: Setting) -> str:
    """`value` in a name: a component by its own name, with a mark of its other settings."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, dict):
        return str(value)
    table = cast("dict[str, Setting]", value)
    others = sorted((key, repr(value)) for key, value in table.items() if key != "name")
    mark = blake2b(repr(others).encode(), digest_size=3).hexdigest()
    return f"{table.get('name', '')}{f'-{mark}' if others else ''}"
