"""Every name that a configuration can use resolves, and its signature can be read."""

import inspect

import pytest

from distinguo.config.build import find
from distinguo.config.names import TABLES, Kind
from distinguo.config.signatures import hints_of
from distinguo.errors import ConfigError

ENTRIES = [(kind, name) for kind, table in TABLES.items() for name in table]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_an_entry_resolves_with_all_its_hints_and_says_what_it_does(kind: Kind, name: str) -> None:
    factory = find(kind, name, path="x")
    assert inspect.signature(factory).parameters.keys() <= hints_of(factory).keys()
    assert (inspect.getdoc(factory) or "").partition("\n")[0].endswith(".")


def test_a_name_that_is_not_there_gets_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"method\.name: there is no method 'hybird'; did you mean 'hybrid'\?"
    ):
        find("method", "hybird", path="method.name")
