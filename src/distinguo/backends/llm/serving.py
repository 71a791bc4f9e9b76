"""The inner side of a child process that runs a language model: JSON lines in, JSON lines out.

Each line is one object. The parent asks with ``{"id", "messages", "sampling"}`` and says ``{"drop": id}``
when it no longer wants the reply. For each question the child sends ``{"id", "reply"}`` or
``{"id", "error"}``; ``{"failed"}`` says that the model cannot be loaded. When its input ends, its parent is
gone, and it ends too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import asdict, dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, Final, Protocol, final

from distinguo.records import Completion, Message, Sampling

LAST_SEED: Final = 2**32 - 1  # which llama.cpp takes for "any"


class RefusedError(Exception):
    """The engine cannot answer this question, and never will; the others are not concerned."""


@final
@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the model."""

    id: int
    messages: tuple[Message, ...]
    sampling: Sampling


class Engine(Protocol):
    """A loaded model."""

    @property
    def is_busy(self) -> bool:
        """Whether `step` has anything to do."""
        ...

    def begin(self, ask: Ask) -> None:
        """Take a question in. Raises `RefusedError`."""
        ...

    def step(self, dropped: Set[int]) -> Iterable[tuple[int, Completion | RefusedError]]:
        """Work for a moment and give what is finished; questions in `dropped` are given up without a reply.

        `dropped` grows while the engine works. Any other exception ends the child; its parent starts another.
        """
        ...


def serve(load: Callable[[], Engine]) -> None:
    """Load the model, then answer until the input ends."""
    send = _sender(_private_stdout())
    try:
        engine = load()
    except Exception as error:
        send({"failed": f"{type(error).__name__}: {error}"})
        raise SystemExit(1) from error
    inbox = _Inbox(os.fdopen(0, "rb"))  # not `sys.stdin`, which the interpreter wants to lock at its end
    while (asks := inbox.take(wait=not engine.is_busy)) is not None:
        for ask in asks:
            try:
                _check(ask.sampling)
                engine.begin(ask)
            except RefusedError as refusal:
                send({"id": ask.id, "error": str(refusal)})
        for number, answer in engine.step(inbox.dropped):
            match answer:
                case Completion():
                    send({"id": number, "reply": asdict(answer)})
                case RefusedError():
                    send({"id": number, "error": str(answer)})


def _check(sampling: Sampling) -> None:
    """Refuse what engines would misread, or break at."""
    if sampling.max_tokens < 1:
        raise RefusedError(f"max_tokens is {sampling.max_tokens}; expected at least 1")
    if not sampling.temperature >= 0:
        raise RefusedError(f"temperature is {sampling.temperature}; expected at least 0")
    if not 0 < sampling.top_p <= 1:
        raise RefusedError(f"top_p is {sampling.top_p}; expected more than 0 and at most 1")
    if not 0 <= sampling.seed < LAST_SEED:
        raise RefusedError(f"seed is {sampling.seed}; expected a number from 0 to {LAST_SEED - 1}")
    if not all(sampling.stop) or not all(sampling.first_token):
        raise RefusedError("a stop string or wanted first word is empty")
    if sampling.schema:
        try:
            schema = json.loads(sampling.schema)
        except ValueError as error:
            raise RefusedError(f"the reply's schema is no JSON: {error}") from error
        if not isinstance(schema, dict):
            raise RefusedError(f"the reply's schema is {sampling.schema[:80]!r}; expected a JSON object")


def _private_stdout() -> BinaryIO:
    """Where replies go. What native libraries print to standard output goes to standard error from now on."""
    private = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(private, "wb")


def _sender(out: BinaryIO) -> Callable[[dict[str, Any]], None]:
    def send(message: dict[str, Any]) -> None:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()

    return send


@final
@dataclass(slots=True)
class _Inbox:
    """Lines of the parent, read by a thread of their own, so that an engine at work hears what is dropped."""

    lines: BinaryIO
    dropped: set[int] = field(default_factory=set[int])
    _asks: SimpleQueue[Ask | None] = field(default_factory=SimpleQueue[Ask | None])

    def __post_init__(self) -> None:
        Thread(target=self._read, name="inbox", daemon=True).start()

    def take(self, *, wait: bool) -> list[Ask] | None:
        """New questions that are still wanted; None when there will be no more."""
        asks = list(self._waiting(wait=wait))
        return None if None in asks else [ask for ask in asks if ask and ask.id not in self.dropped]

    def _waiting(self, *, wait: bool) -> Iterator[Ask | None]:
        try:
            yield self._asks.get(block=wait)
            while True:
                yield self._asks.get_nowait()
        except Empty:
            return

    def _read(self) -> None:
        for line in self.lines:
            message = json.loads(line)
            if "drop" in message:
                self.dropped.add(message["drop"])
            else:
                self._asks.put(_ask(message))
        self._asks.put(None)


def _ask(message: dict[str, Any]) -> Ask:
    sampling: dict[str, Any] = message["sampling"]
    sampling |= {"stop": tuple(sampling["stop"]), "first_token": tuple(sampling["first_token"])}
    return Ask(message["id"], tuple(Message(**turn) for turn in message["messages"]), Sampling(**sampling))
