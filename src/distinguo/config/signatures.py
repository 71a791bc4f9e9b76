"""Call a factory with settings as its signature describes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf, isfinite
from types import UnionType
from typing import Annotated, Any, Literal, cast, final, get_args, get_origin, get_type_hints

from distinguo.errors import ConfigError

Table = dict[str, object]
"""A table of TOML: values are scalars, lists and tables."""

Spec = str | Table
"""How a configuration names a component: its name, or a table with its settings."""

Port = Callable[[object, str], object]
"""Makes a component from what is written (None: nothing, use the default) at a path of the configuration."""

_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", dict: "a table"}


@final
@dataclass(frozen=True, slots=True)
class Within:
    """The range of a number, both ends in it: ``chunk_tokens: Annotated[int, Within(1)]``."""

    least: float
    most: float = inf

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most

    def __str__(self) -> str:
        return f"from {self.least:,}" + (f" to {self.most:,}" if self.most < inf else "")


def call(
    factory: Callable[..., object],
    written: Table,
    *,
    path: str,
    ports: Mapping[object, Port] | None = None,
    given: Mapping[object, object] | None = None,
) -> object:
    """`factory` called with the settings of `written`.

    Args:
        factory: a function or dataclass. Its parameters are scalars, `Within` a range or not, ``Literal``s,
            or ports; a default component is written ``Annotated[Port, "name"]``.
        written: settings by parameter name.
        path: where `written` stands, for messages: ``method.kk: unknown setting; did you mean 'k'?``
        ports: by type, what a configuration can choose.
        given: by type, what it cannot (the model store, the index at hand).

    Raises:
        ConfigError: a setting is unknown, missing, of another type or out of its range, or the factory
            refuses it.
    """
    ports, given = ports or {}, given or {}
    parameters = inspect.signature(factory).parameters
    hints = hints_of(factory)
    settable = [name for name in parameters if _bare(hints[name]) not in given]
    known(written, settable, path=path)
    arguments: dict[str, object] = {}
    for name, parameter in parameters.items():
        hint, where = hints[name], f"{path}.{name}"
        if _bare(hint) in given:
            arguments[name] = given[_bare(hint)]
        elif _bare(hint) in ports:
            arguments[name] = ports[_bare(hint)](written.get(name, _default_component(hint)), where)
        elif name in written:
            arguments[name] = _checked(written[name], hint, path=where)
        elif parameter.default is inspect.Parameter.empty:
            raise ConfigError(f"{where}: missing; expected {_expected(hint)}")
    try:
        return factory(**arguments)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def described(
    factory: Callable[..., object],
    written: Table,
    *,
    path: str,
    ports: Mapping[object, Port] | None = None,
    given: Collection[object] = (),
) -> Table:
    """What `call` would call `factory` with: settings and defaults, and of components what `ports` tell.

    Parameters of the types in `given` are left out. Raises `ConfigError` as `call` does.
    """
    ports = ports or {}
    hints = hints_of(factory)
    told: Table = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        hint, where = hints[name], f"{path}.{name}"
        if _bare(hint) in ports:
            told[name] = ports[_bare(hint)](written.get(name, _default_component(hint)), where)
        elif _bare(hint) not in given:
            told[name] = _checked(written.get(name, parameter.default), hint, path=where)
    return told


def hints_of(factory: Callable[..., object]) -> dict[str, Any]:
    """The resolved parameter types of `factory`."""
    target = factory.__init__ if isinstance(factory, type) else factory
    return get_type_hints(target, include_extras=True)


def default_component(factory: Callable[..., object], name: str) -> object:
    """The component that `factory` takes as `name` where nothing is written; None: whatever is usual."""
    return _default_component(hints_of(factory).get(name))


def known(written: Iterable[str], expected: Iterable[str], *, path: str) -> None:
    """Refuse the first name of `written` that is not among `expected`, and offer the nearest."""
    names = tuple(expected)
    for name in written:
        if name not in names:
            raise ConfigError(f"{path + '.' if path else ''}{name}: unknown setting; {nearest(name, names)}")


def nearest(name: str, names: Iterable[str]) -> str:
    """A question that offers the nearest of `names`, or the list of them all."""
    options = sorted(names)
    close = get_close_matches(name, options, n=1)
    return f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(map(repr, options))}"


def table(value: object, *, path: str) -> Table:
    """`value`, if it is a table."""
    return cast("Table", _checked(value, dict, path=path))


def _bare(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _default_component(hint: object) -> object:
    return get_args(hint)[1] if get_origin(hint) is Annotated else None


def _checked(value: object, hint: object, *, path: str) -> object:
    kind = _bare(hint)
    if kind is float and type(value) is int:
        value = float(value)
    if not _fits(value, kind) or not all(cast("float", value) in part for part in _ranges(hint)):
        raise ConfigError(f"{path}: {value!r} is not {_expected(hint)}")
    return value


def _fits(value: object, kind: object) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if isinstance(kind, UnionType):
        return any(_fits(value, part) for part in get_args(kind))
    return type(value) is (get_origin(kind) or kind) and not (
        isinstance(value, float) and not isfinite(value)
    )


def _ranges(hint: object) -> list[Within]:
    return [part for part in get_args(hint) if isinstance(part, Within)]


def _expected(hint: object) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if isinstance(hint, UnionType):
        return " or ".join(map(_expected, get_args(hint)))
    bare = _bare(hint)
    kind = get_origin(bare) or bare
    words = _WORDS.get(cast("type", kind), f"the name or table of a {getattr(kind, '__name__', kind)}")
    return " ".join([words, *map(str, _ranges(hint))])
