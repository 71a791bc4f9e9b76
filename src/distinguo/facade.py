"""Distinguo without ``async``: for scripts and notebooks."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Self, TypeVar, final

from distinguo.config.build import Components
from distinguo.config.places import Places
from distinguo.config.settings import FILE_NAME, Settings
from distinguo.config.updating import update_index
from distinguo.errors import DataError
from distinguo.indexing.build import Report
from distinguo.protocols import Method
from distinguo.records import Question, Result
from distinguo.running.many import answer_all
from distinguo.running.questions import question_of
from distinguo.running.traces import save
from distinguo.trace import Trace

Value = TypeVar("Value")

_log = logging.getLogger(__name__)


@final
class Distinguo:
    """Index documents and ask questions, from plain synchronous code.

    It runs its own event loop in a thread of its own, so that it works inside a running loop too (a notebook
    has one). Models and indexes are opened on first use and stay open: keep one object for many questions,
    and `close` it, or use it in a ``with`` block.
    """

    def __init__(self, config: Path | str | None = None, *, home: Path | str | None = None) -> None:
        """Nothing is opened yet.

        Args:
            config: a TOML file; None: ``./distinguo.toml`` if there is one, else the starter configuration.
            home: where indexes, traces and cache lie; models stay where the environment says.
        """
        path = Path(config) if config is not None else Path(FILE_NAME)
        settings = Settings.parse() if config is None and not path.exists() else Settings.load(path)
        places = Places.of(os.environ)
        self._components = Components(settings, places if home is None else places.moved(Path(home)))
        self._methods: dict[str | None, Method] = {}
        self._gate, self._is_closed, self._process = threading.Lock(), False, os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="distinguo", daemon=True)
        self._thread.start()

    def index(
        self, *places: Path | str, name: str = "default", rebuild: bool = False, prune: bool = False
    ) -> Report:
        """Bring the index `name` up to date with files, folders and pages of the web.

        Without any it is brought up to date with all that it was made from. With `rebuild` it is made anew,
        with `prune` documents are deleted whose files are gone. Raises `DataError`, `BackendError`.
        """
        return self._run(self._index(places, name, rebuild=rebuild, prune=prune))

    def ask(self, question: str, *, method: str | None = None) -> Result:
        """How `question` ended: ``result.state`` is answered, abstained, unreadable or failed."""
        return self.ask_all([question], method=method)[0]

    def ask_all(self, questions: Iterable[str], *, method: str | None = None) -> tuple[Result, ...]:
        """One result per question, in order; many at once are faster each than one by one."""
        asked = [question_of(text, id=str(number)) for number, text in enumerate(questions, 1)]
        return self._run(self._ask(asked, method))

    def close(self) -> None:
        """Give up what is asked, wait for what is being indexed, close all. A second call does nothing."""
        with self._gate:
            is_first, self._is_closed = not self._is_closed, True
        if os.getpid() != self._process:
            return
        if is_first:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        if is_first:
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _index(self, places: Sequence[Path | str], name: str, *, rebuild: bool, prune: bool) -> Report:
        return await asyncio.to_thread(
            update_index, self._components, name, places, rebuild=rebuild, prune=prune
        )

    async def _ask(self, questions: list[Question], method: str | None) -> tuple[Result, ...]:
        if method not in self._methods:
            self._methods[method] = self._components.method(method)
        return await answer_all(self._methods[method], questions, on_end=self._keep)

    async def _end(self) -> None:
        asked = asyncio.all_tasks() - {asyncio.current_task()}
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        await self._loop.shutdown_default_executor()
        await self._components.aclose()

    def _keep(self, result: Result, trace: Trace) -> None:
        try:
            save(self._components.places.traces, result, trace)
        except DataError as error:
            _log.warning("%s", error)

    def _run(self, work: Coroutine[None, None, Value]) -> Value:
        with self._gate:
            if self._is_closed or os.getpid() != self._process:
                work.close()
                raise DataError("this Distinguo is closed, or of another process; make a new one")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError as error:
            raise DataError("this Distinguo was closed in the middle of the call") from error
        except KeyboardInterrupt:
            future.cancel()
            raise
