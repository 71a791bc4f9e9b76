"""A factory's signature is the schema of its settings."""

from dataclasses import dataclass
from math import inf, nan
from typing import Annotated, Literal

import pytest

from distinguo.config.names import TABLES
from distinguo.config.signatures import Within, call, described
from distinguo.errors import ConfigError


class Engine:
    pass


@dataclass
class Car:
    engine: Annotated[Engine, "small"]
    doors: int = 4
    colour: Literal["red", "blue"] = "red"
    weight: float = 1.0
    wheels: Annotated[int, Within(3, 4)] = 4

    def __post_init__(self) -> None:
        if self.doors > self.wheels + 1:
            raise ConfigError(f"'doors' is {self.doors}; expected fewer")


def build(**written: object) -> Car:
    made = call(Car, written, path="car", ports={Engine: lambda spec, path: (spec, path)})
    assert isinstance(made, Car)
    return made


def test_a_port_gets_what_is_written_or_its_default() -> None:
    assert build().engine == ("small", "car.engine")
    assert build(engine={"name": "big"}).engine == ({"name": "big"}, "car.engine")


def test_a_whole_number_may_stand_for_a_number_and_nothing_else_may() -> None:
    assert build(weight=2).weight == 2.0
    for wrong in ({"weight": "2"}, {"doors": 2.0}, {"doors": True}, {"colour": "green"}):
        with pytest.raises(ConfigError, match="is not"):
            build(**wrong)


def test_a_number_is_finite_and_in_its_range() -> None:
    for odd in (nan, inf, -inf):
        with pytest.raises(ConfigError, match=r"car\.weight: -?(nan|inf) is not a number"):
            build(weight=odd)
    assert build(wheels=3).wheels == 3
    for wrong in (2, 5):
        with pytest.raises(ConfigError, match=rf"car\.wheels: {wrong} is not a whole number from 3 to 4"):
            build(wheels=wrong)


def test_what_the_factory_refuses_is_named_by_its_path() -> None:
    with pytest.raises(ConfigError, match=r"car: 'doors' is 6; expected fewer"):
        build(doors=6)


def test_an_unknown_setting_gets_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"car\.door: unknown setting; did you mean 'doors'"):
        build(door=1)


def test_what_is_given_cannot_be_written() -> None:
    with pytest.raises(ConfigError, match=r"car\.engine: unknown setting"):
        call(Car, {"engine": "x"}, path="car", given={Engine: Engine()})


def test_a_missing_setting_is_named() -> None:
    def needs(url: str) -> str:
        return url

    with pytest.raises(ConfigError, match=r"server\.url: missing; expected text"):
        call(needs, {}, path="server")


def test_names_are_unique_within_a_table() -> None:
    for table in TABLES.values():
        assert all(":" in target for target in table.values())


def test_what_a_factory_is_called_with_can_be_told_without_calling_it() -> None:
    told = described(
        Car, {"doors": 3, "weight": 2}, path="car", ports={Engine: lambda spec, path: f"{spec} of {path}"}
    )
    assert told == {"engine": "small of car.engine", "doors": 3, "colour": "red", "weight": 2.0, "wheels": 4}
    assert "engine" not in described(Car, {}, path="car", given=[Engine])


def test_what_is_told_is_checked() -> None:
    with pytest.raises(ConfigError, match=r"car\.doors: 'four' is not a whole number"):
        described(Car, {"doors": "four"}, path="car", given=[Engine])
