"""Every error that Distinguo raises on purpose.

::

    DistinguoError
    ├── ConfigError        a setting, a name or a command is wrong; the user can mend it
    │   └── ScaleError     a score met a threshold of another scale
    ├── DataError          a document, index, cache or model file is not what it should be
    │   └── MismatchError  it was made with other settings, and the message names the remedy
    ├── BackendError       the world said no: a server, an engine, a child process
    ├── ParseError         a model's reply could not be read
    └── BudgetError        a stated limit on calls or tokens is used up

Adapters translate foreign exceptions once, at their boundary, with ``from``. Methods catch nothing;
`distinguo.running.attempt` catches per question. A message names the thing with ``!r``, says what was
expected, and what to do.
"""

from __future__ import annotations


class DistinguoError(Exception):
    """Root of all errors that Distinguo raises on purpose."""


class ConfigError(DistinguoError):
    """A setting, a name or a command is wrong."""


class ScaleError(ConfigError):
    """A score was compared with a score or threshold of another scale."""


class DataError(DistinguoError):
    """A document, an index, a cache or a model file is not what it should be."""


class MismatchError(DataError):
    """A stored thing was made with other settings than it is now read with."""


class BackendError(DistinguoError):
    """A server, an engine or a child process failed.

    Attributes:
        retryable: whether the same call may succeed later (the retrying wrapper reads this, nobody else).
        retry_after: seconds that the other side asked us to wait, if it said so.
    """

    def __init__(self, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


class ParseError(DistinguoError):
    """A model's reply could not be read; `raw` keeps the reply."""

    def __init__(self, message: str, *, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class BudgetError(DistinguoError):
    """A stated limit on calls or tokens is used up."""
