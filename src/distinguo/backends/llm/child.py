"""A language model in a child process of its own, as its parent sees it.

The engine may hold the interpreter's lock for seconds or die alone; neither touches the parent's event loop.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from asyncio import StreamReader
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, Final, cast, final

from distinguo.errors import BackendError
from distinguo.records import GREEDY, Completion, Prompt, Sampling, Usage
from distinguo.text.thinking import strip_thinking

LINE_LIMIT: Final = 1 << 24  # bytes of one reply
STDERR_KEPT: Final = 4000  # bytes of what the child last said on standard error
STDERR_TOLD: Final = 8  # lines of that in an error's message
DEATHS: Final = 3  # of its child, after which a question is not asked again: it may be what kills it
GRACE: Final = 5.0  # seconds that a closed child has to end by itself

_log = logging.getLogger(__name__)


@final
@dataclass(slots=True, eq=False)
class _Call:
    line: bytes
    reply: asyncio.Future[Completion]
    deaths: int = 0


@final
@dataclass(slots=True, eq=False)
class ChildLLM:
    """An `LLM` whose engine is a child process, started on first use.

    All questions in flight are with the child at once: it decides which run together. When it dies it is
    started again and its questions are asked again; a question that was there at three deaths fails.
    It belongs to one event loop.

    Attributes:
        name: the model's name, for messages.
        command: what to start; it must speak as `distinguo.backends.llm.serving` does.
    """

    name: str
    command: Sequence[str]
    _calls: dict[int, _Call] = field(default_factory=dict[int, _Call], repr=False)
    _numbers: count[int] = field(default_factory=lambda: count(1), repr=False)
    _said: bytes = field(default=b"", repr=False)
    _process: Process | None = field(default=None, repr=False)
    _running: asyncio.Task[None] | None = field(default=None, repr=False)
    _is_closed: bool = False

    @classmethod
    def of(cls, name: str, module: str, *arguments: str) -> ChildLLM:
        """A child that runs `module` with this interpreter; the current folder is not on its path."""
        return cls(name, (sys.executable, "-P", "-m", module, *arguments))

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._process.pid if self._process else None

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        """Reply to `prompt`. Raises `BackendError`."""
        if self._is_closed:
            raise BackendError(f"the model {self.name!r} is closed")
        number = next(self._numbers)
        messages = [asdict(message) for message in prompt.messages]
        line = _line({"id": number, "messages": messages, "sampling": asdict(sampling)})
        call = self._calls[number] = _Call(line, asyncio.get_running_loop().create_future())
        self._send(line)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(), name=f"model {self.name}")
        try:
            return await call.reply
        except asyncio.CancelledError:
            self._send(_line({"drop": number}))
            raise
        finally:
            self._calls.pop(number, None)

    async def aclose(self) -> None:
        """End the child. Questions in flight and later ones are errors."""
        self._is_closed = True
        if self._process and self._process.stdin:
            self._process.stdin.close()
        if self._running:
            await asyncio.wait({self._running}, timeout=GRACE)
            self._running.cancel()
            await asyncio.wait({self._running})

    async def _run(self) -> None:
        """Keep a child alive as long as questions wait for it."""
        try:
            while self._calls and not self._is_closed:
                ending = _ending(await self._life())
                for call in self._calls.values():
                    call.deaths += 1
                if not self._is_closed:
                    _log.warning("the process of model %r %s", self.name, ending)
                    self._fail(f"its process {ending}, {DEATHS} times with this question", DEATHS)
        except (OSError, ValueError) as error:  # no process could be started, or it sent what is no message
            self._fail(f"its process cannot be used: {error}")
        finally:
            if self._is_closed:
                self._fail("it was closed")

    async def _life(self) -> int:
        """One child from its start to its end; its exit code."""
        process = await asyncio.create_subprocess_exec(
            *self.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=LINE_LIMIT
        )
        self._process, self._said = process, b""
        overhearing = asyncio.create_task(self._overhear(cast("StreamReader", process.stderr)))
        try:
            for call in self._calls.values():
                self._send(call.line)
            await self._listen(cast("StreamReader", process.stdout))
            await overhearing
            return await process.wait()
        finally:
            self._process = None
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _listen(self, replies: StreamReader) -> None:
        while (line := await replies.readline()).endswith(b"\n"):  # a death may tear the last line
            message: dict[str, Any] = json.loads(line)
            match message:
                case {"id": number, "reply": reply}:
                    self._settle(number, _completion(reply))
                case {"id": number, "error": reason}:
                    self._settle(number, BackendError(f"model {self.name!r}: {reason}"))
                case {"failed": reason}:
                    self._fail(f"it cannot be loaded: {reason}")
                case _:
                    raise ValueError(f"it sent {message!r}")

    async def _overhear(self, words: StreamReader) -> None:
        while said := await words.read(STDERR_KEPT):
            self._said = (self._said + said)[-STDERR_KEPT:]

    def _send(self, line: bytes) -> None:
        stdin = self._process and self._process.stdin
        if stdin and not stdin.is_closing():  # else the question is sent to the next child
            stdin.write(line)

    def _settle(self, number: int, answer: Completion | BackendError) -> None:
        call = self._calls.get(number)
        if call is None or call.reply.done():  # cancelled meanwhile
            return
        if isinstance(answer, BackendError):
            call.reply.set_exception(answer)
        else:
            call.reply.set_result(answer)

    def _fail(self, reason: str, deaths: int = 0) -> None:
        """Fail the questions that saw at least so many deaths of their child, and forget them."""
        said = "\n".join(self._said.decode(errors="replace").strip().splitlines()[-STDERR_TOLD:])
        message = f"model {self.name!r}: {reason}" + (f"; it last said:\n{said}" if said else "")
        for number in [number for number, call in self._calls.items() if call.deaths >= deaths]:
            self._settle(number, BackendError(message))
            del self._calls[number]


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _completion(reply: dict[str, Any]) -> Completion:
    text, thinking, is_closed = strip_thinking(reply["text"])
    has_thought = bool(thinking) or not is_closed
    first_token = (
        () if has_thought else tuple((str(word), float(value)) for word, value in reply["first_token"])
    )
    return Completion(
        text, reply["is_truncated"] or not is_closed, Usage(**reply["usage"]), thinking, first_token
    )


def _ending(code: int) -> str:
    """How a process with exit code `code` ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
