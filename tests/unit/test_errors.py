"""The tree of errors is as its drawing says."""

import re

import pytest

from distinguo import errors
from distinguo.errors import BackendError, DistinguoError, ParseError


def test_the_drawing_names_every_error_and_its_parent():
    assert errors.__doc__
    drawn = {}
    parents = {}
    for bars, name in re.findall(r"^ {4}((?:│   )*(?:[├└]── )?)(\w+Error)", errors.__doc__, re.MULTILINE):
        depth = len(bars) // 4
        parents[depth] = name
        drawn[name] = parents.get(depth - 1)
    real = {
        cls.__name__: cls.__base__.__name__ if cls is not DistinguoError else None
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, DistinguoError)
    }
    assert drawn == real


def test_a_backend_error_says_whether_asking_again_may_help():
    error = BackendError("busy", retryable=True, retry_after=2.0)
    assert (str(error), error.retryable, error.retry_after) == ("busy", True, 2.0)
    assert not BackendError("gone").retryable


def test_a_parse_error_keeps_the_reply():
    with pytest.raises(ParseError) as caught:
        raise ParseError("no JSON", raw="Sure!")
    assert caught.value.raw == "Sure!"
