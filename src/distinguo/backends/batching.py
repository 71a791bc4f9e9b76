"""Join the single calls of many questions into batches for one synchronous function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Self, TypeVar, final

from distinguo.errors import BackendError, ConfigError

if TYPE_CHECKING:
    from distinguo.protocols import Encoder, Matrix, TokenEncoder, Vector
    from distinguo.records import Role

Kind = TypeVar("Kind", bound=Hashable)
Item = TypeVar("Item")
Value = TypeVar("Value")


@final
@dataclass(frozen=True, slots=True)
class _Bad:
    """Why an item has no value."""

    error: Exception


@final
@dataclass(frozen=True, slots=True)
class _Waiter(Generic[Item, Value]):
    """One call: its item, where its value goes, and when it came (loop time)."""

    item: Item
    outcome: asyncio.Future[Value | _Bad]
    since: float


@final
class Batcher(Generic[Kind, Item, Value]):
    """An async function of one item over a synchronous function of many.

    Calls of one *kind* (equal settings) are gathered. A full batch goes to the worker thread at once, a
    partial one after `wait` seconds, and while the worker is busy calls go on gathering; whoever waited
    longest goes first. The item of a cancelled caller is dropped unless the function already has it.

    A failing batch is tried again item by item, so that one bad item fails alone. A retryable `BackendError`
    says that the world is at fault and not an item: it goes to every caller, whose retrying wrappers ask
    again, and are gathered again.

    A batcher belongs to the event loop of its first call.
    """

    def __init__(
        self,
        function: Callable[[Kind, Sequence[Item]], Sequence[Value]],
        *,
        size: int,
        wait: float = 0.004,
        name: str,
    ) -> None:
        """Batch the calls of `function`, which only ever runs in one thread.

        Args:
            function: given a kind and 1 to `size` items, returns one value per item, in order.
            size: the largest batch.
            wait: seconds that a partial batch waits for company.
            name: what errors and the thread call it.
        """
        if size < 1:
            raise ConfigError(f"batcher {name!r}: size is {size!r}; expected at least 1")
        self._function = function
        self._size = size
        self._wait = wait
        self._name = name
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._queues: dict[Kind, list[_Waiter[Item, Value]]] = {}
        self._changed = asyncio.Event()  # a queue is full, or the batcher closes
        self._loop: asyncio.AbstractEventLoop | None = None
        self._serving: asyncio.Task[None] | None = None
        self._is_closed = False

    async def __call__(self, kind: Kind, item: Item) -> Value:
        """The function's value for `item`. Raises what the function raises, or `BackendError`."""
        loop = self._bind()
        if self._is_closed:
            raise BackendError(f"batcher {self._name!r} is closed; it takes no more calls")
        waiter: _Waiter[Item, Value] = _Waiter(item, loop.create_future(), loop.time())
        queue = self._queues.setdefault(kind, [])
        queue.append(waiter)
        if len(queue) >= self._size:
            self._changed.set()
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        outcome = await waiter.outcome
        if isinstance(outcome, _Bad):
            raise outcome.error
        return outcome

    async def aclose(self) -> None:
        """Finish the calls that wait, refuse new ones, end the thread. Closing twice does nothing more."""
        self._is_closed = True
        if self._serving is not None:
            self._bind()
            self._changed.set()
            await asyncio.wait([self._serving])
        self._worker.shutdown()

    def _bind(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise BackendError(
                f"batcher {self._name!r} belongs to another event loop; run all calls in one loop, "
                "or make a batcher for each"
            )
        return loop

    async def _serve(self) -> None:
        """Send batches until nobody waits."""
        while self._queues:
            if ready := self._ready():
                await self._send(min(ready, key=lambda kind: self._queues[kind][0].since))
            else:
                await self._until_due()

    def _ready(self) -> list[Kind]:
        """Kinds with a full batch, or a caller who waited long enough."""
        due = asyncio.get_running_loop().time() - self._wait
        return [
            kind
            for kind, queue in self._queues.items()
            if self._is_closed or len(queue) >= self._size or queue[0].since <= due
        ]

    async def _until_due(self) -> None:
        self._changed.clear()
        first = min(queue[0].since for queue in self._queues.values())
        with suppress(TimeoutError):
            async with asyncio.timeout_at(first + self._wait):
                await self._changed.wait()

    async def _send(self, kind: Kind) -> None:
        waiting = [waiter for waiter in self._queues.pop(kind) if not waiter.outcome.done()]  # not cancelled
        batch, rest = waiting[: self._size], waiting[self._size :]
        if rest:
            self._queues[kind] = rest
        if not batch:
            return
        outcomes = await asyncio.get_running_loop().run_in_executor(
            self._worker, self._compute, kind, [waiter.item for waiter in batch]
        )
        for waiter, outcome in zip(batch, outcomes, strict=True):
            if not waiter.outcome.done():
                waiter.outcome.set_result(outcome)

    def _compute(self, kind: Kind, items: Sequence[Item]) -> list[Value | _Bad]:
        """One outcome per item. Runs in the worker thread."""
        try:
            values = self._function(kind, items)
            if len(values) != len(items):
                raise BackendError(
                    f"{self._name!r} returned {len(values)} values for {len(items)} items; expected one each"
                )
            return list(values)
        except Exception as error:
            if len(items) == 1 or (isinstance(error, BackendError) and error.retryable):
                return [_Bad(error)] * len(items)
        return [outcome for item in items for outcome in self._compute(kind, [item])]


@final
@dataclass(frozen=True, slots=True)
class BatchedEmbedder:
    """An `Embedder` over a synchronous `Encoder`: calls of one role travel together."""

    batcher: Batcher[Role, str, Vector]

    @classmethod
    def of(cls, encoder: Encoder, *, size: int = 32) -> Self:
        """Join single calls into batches of at most `size` texts for `encoder`."""
        return cls(
            Batcher(lambda role, texts: encoder.encode(texts, role), size=size, name=encoder.fingerprint)
        )

    async def embed(self, text: str, role: Role) -> Vector:
        """The L2-normalised vector of `text`, shape (dimension,). Raises `BackendError`."""
        return await self.batcher(role, text)

    async def aclose(self) -> None:
        """Finish the calls that wait, and end the worker thread."""
        await self.batcher.aclose()


@final
@dataclass(frozen=True, slots=True)
class BatchedTokenEmbedder:
    """A `TokenEmbedder` over a synchronous `TokenEncoder`: calls of one role travel together."""

    batcher: Batcher[Role, str, Matrix]

    @classmethod
    def of(cls, encoder: TokenEncoder, *, size: int = 64) -> Self:
        """Join single calls into batches of at most `size` texts for `encoder`."""
        return cls(Batcher(lambda role, texts: encoder.encode_tokens(texts, role), size=size, name="tokens"))

    async def embed_tokens(self, text: str, role: Role) -> Matrix:
        """L2-normalised rows, shape (tokens, dimension). Raises `BackendError`."""
        return await self.batcher(role, text)

    async def aclose(self) -> None:
        """Finish the calls that wait, and end the worker thread."""
        await self.batcher.aclose()
