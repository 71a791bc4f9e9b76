"""Put one question to a method: the one place where errors become outcomes."""

from __future__ import annotations

import logging
import time

from distinguo.errors import ConfigError, DistinguoError, ParseError
from distinguo.protocols import Method
from distinguo.records import Abstention, Answer, Failure, Question, Result, Unreadable
from distinguo.trace import Trace, tracing

_log = logging.getLogger(__name__)


async def attempt(method: Method, question: Question, trace: Trace) -> Result:
    """How `question` ended: answered, abstained, unreadable or failed, never an exception.

    The exception to this is `ConfigError`: it would meet every question alike, and only the user can mend it.
    """
    began = time.perf_counter()
    with tracing(trace):
        outcome = await _outcome(method, question)
    return Result(question, outcome, trace.id, time.perf_counter() - began)


async def _outcome(method: Method, question: Question) -> Answer | Abstention | Unreadable | Failure:
    try:
        return await method.answer(question)
    except ConfigError:
        raise
    except ParseError as error:
        return Unreadable(str(error), error.raw)
    except DistinguoError as error:
        return Failure(type(error).__name__, str(error))
    except Exception as error:
        _log.exception("question %r met a fault of Distinguo or of a component", question.id)
        return Failure(type(error).__name__, str(error))
