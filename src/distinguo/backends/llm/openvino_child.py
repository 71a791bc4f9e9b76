"""OpenVINO GenAI as an engine; `OpenVinoLLM` starts it as a process of its own."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Generator, Iterator, Set
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast, final

from distinguo.backends.llm.openvino_copy import load_kept
from distinguo.backends.llm.openvino_text import Text
from distinguo.backends.llm.serving import Ask, RefusedError, serve
from distinguo.records import Completion, Sampling, Usage

if TYPE_CHECKING:
    from openvino_genai.py_openvino_genai import (
        ContinuousBatchingPipeline,
        GenerationConfig,
        GenerationHandle,
        GenerationOutput,
    )

BLOCK: Final = 32  # tokens of one block of the runtime's cache on a CPU

Work = Generator[list["GenerationHandle"], None, Completion]
"""How a question is answered: yields what it waits for, returns the reply."""


@final
@dataclass(slots=True, eq=False)
class _Job:
    """A question on its way.

    Attributes:
        ask: the question.
        size: its share of the cache, in tokens.
        beginnings: the prompt's first block, first two blocks, and so on, each as a hash.
        work: how it is answered.
        handles: what it waits for.
    """

    ask: Ask
    size: int
    beginnings: tuple[int, ...]
    work: Work
    handles: list[GenerationHandle] = field(default_factory=list["GenerationHandle"])

    @property
    def is_reading(self) -> bool:
        """Whether the first token of the reply is still to come."""
        return not any(handle.can_read() for handle in self.handles)

    @property
    def is_suspect(self) -> bool:
        """Whether it has a schema that has not yet been seen to work."""
        return bool(self.ask.sampling.schema) and self.is_reading


@final
@dataclass(slots=True, eq=False)
class OpenVinoEngine:
    """Continuous batching: a `step` moves all that run on by one token, or reads a piece of their prompts.

    Prompts that begin alike are read once: the runtime finds what it has read before, but not what it is just
    reading, so a question waits while another reads the very piece that it would have to read next.

    A schema that cannot be compiled breaks the pipeline for all at some later step, and the runtime does not
    say whose it was. After such an accident the pipeline is made anew and its questions start again; from
    then on one schema at a time is let in until it is seen to work, so that the next one names its culprit.
    """

    runtime: Any  # the module openvino_genai; its own annotations have gaps
    model: Path
    context: int
    cache: int
    threads: int
    waiting: deque[_Job] = field(default_factory=deque[_Job])
    running: dict[int, _Job] = field(default_factory=dict[int, _Job])
    numbers: count[int] = field(default_factory=count)
    known: set[int] = field(default_factory=set[int])  # beginnings that were read
    is_cautious: bool = False
    pipeline: Any = field(init=False)
    text: Text = field(init=False)

    def __post_init__(self) -> None:
        self._load()

    @property
    def is_busy(self) -> bool:
        """Whether any question waits or runs."""
        return bool(self.waiting or self.running)

    def begin(self, ask: Ask) -> None:
        """Let a question wait for its turn."""
        self.waiting.append(self._job(ask))

    def step(self, dropped: Set[int]) -> Iterator[tuple[int, Completion | RefusedError]]:
        """Let in what there is room for, give what is finished, and move the others on."""
        self._drop(dropped)
        self._admit()
        yield from self._advance()
        if self.running:
            try:
                self.pipeline.step()
            except RuntimeError as error:
                yield from self._recover(error)

    # ── a question ───────────────────────────────────────────────────────────────────────────────────────

    def _job(self, ask: Ask) -> _Job:
        try:
            tokens = self.text.tokens(ask.messages)
        except (RuntimeError, ValueError) as error:
            raise RefusedError(f"the prompt cannot be rendered or encoded: {error}") from error
        room = self.context - len(tokens)
        if room <= 0:
            raise RefusedError(
                f"the prompt has {len(tokens)} tokens, but prompt and reply may have {self.context} "
                "together; shorten it or show fewer passages"
            )
        limit = min(ask.sampling.max_tokens, room)
        blocks = -(-(len(tokens) + limit) // BLOCK) + len(ask.sampling.first_token)
        return _Job(ask, blocks * BLOCK, _beginnings(tokens), self._work(ask.sampling, tokens, limit))

    def _work(self, sampling: Sampling, tokens: list[int], limit: int) -> Work:
        """The reply, then a forced token for each wanted word: the cache holds the prompt by then."""
        reply = self._add(tokens, self._replying(sampling, limit))
        yield [reply]
        words = {word: self._add(tokens, self._forcing(word)) for word in sampling.first_token}
        if words:
            yield list(words.values())
        output = _output(reply)
        return Completion(
            self.text.decoded(output.generated_ids),
            is_truncated=output.finish_reason.name == "LENGTH",
            usage=Usage(len(tokens), len(output.generated_ids)),
            first_token=_apart({word: _output(handle) for word, handle in words.items()}),
        )

    def _replying(self, sampling: Sampling, limit: int) -> GenerationConfig:
        config = self.pipeline.get_config()
        config.max_new_tokens = limit
        config.stop_strings = set(sampling.stop)
        config.do_sample = sampling.temperature > 0
        if config.do_sample:
            config.temperature, config.top_p = sampling.temperature, sampling.top_p
            config.rng_seed = sampling.seed
        if sampling.schema:
            config.structured_output_config = self.runtime.StructuredOutputConfig(json_schema=sampling.schema)
        return config

    def _forcing(self, word: str) -> GenerationConfig:
        """One token that begins `word`; its log-probability is taken before all others are masked."""
        config = self.pipeline.get_config()
        config.max_new_tokens = config.logprobs = 1
        structured = self.runtime.StructuredOutputConfig
        config.structured_output_config = structured(compound_grammar=structured.ConstString(word))
        return config

    def _add(self, tokens: list[int], config: GenerationConfig) -> GenerationHandle:
        openvino = self.runtime.openvino
        prompt = openvino.Tensor(openvino.Type.i64, [1, len(tokens)])
        prompt.data[:] = tokens
        try:
            return self.pipeline.add_request(next(self.numbers), prompt, config)
        except RuntimeError as error:
            raise RefusedError(f"the settings are refused: {error}") from error

    # ── all questions ────────────────────────────────────────────────────────────────────────────────────

    def _drop(self, dropped: Set[int]) -> None:
        for number in [number for number in self.running if number in dropped]:
            for handle in self.running.pop(number).handles:
                handle.cancel()
        self.waiting = deque(job for job in self.waiting if job.ask.id not in dropped)

    def _admit(self) -> None:
        """First come, first served, while the cache has room; who waits for another's reading is passed."""
        taken = sum(job.size for job in self.running.values())
        reading: set[int] = set()
        for job in self.running.values():
            (reading if job.is_reading else self.known).update(job.beginnings)
        is_watching = self.is_cautious and any(job.is_suspect for job in self.running.values())
        passed: list[_Job] = []
        while self.waiting and (not self.running or taken + self.waiting[0].size <= self.cache):
            job = self.waiting.popleft()
            unread = next((beginning for beginning in job.beginnings if beginning not in self.known), None)
            if unread in reading or (is_watching and job.is_suspect):
                passed.append(job)
                continue
            self.running[job.ask.id] = job
            taken += job.size
            reading.update(job.beginnings)
            is_watching = is_watching or (self.is_cautious and job.is_suspect)
        self.waiting.extendleft(reversed(passed))
        if len(self.known) * BLOCK > self.cache:  # the runtime has forgotten some of it too
            self.known.clear()

    def _advance(self) -> Iterator[tuple[int, Completion | RefusedError]]:
        """Start what was let in, and give what is finished."""
        for number, job in list(self.running.items()):
            if any(handle.get_status().name == "RUNNING" for handle in job.handles):
                continue
            try:
                job.handles = next(job.work)
            except StopIteration as end:
                del self.running[number]
                yield number, end.value
            except RefusedError as refusal:
                del self.running[number]
                yield number, refusal

    def _recover(self, error: RuntimeError) -> Iterator[tuple[int, RefusedError]]:
        """Make the pipeline anew after an accident, and start its questions again without the culprit."""
        suspects = [job.ask for job in self.running.values() if job.is_suspect]
        if not suspects:
            raise error
        again = [job.ask for job in self.running.values() if not job.is_suspect]
        if len(suspects) == 1:
            yield suspects[0].id, RefusedError(f"the reply's schema cannot be used: {error}")
        else:
            again += suspects
        self.running.clear()
        self.known.clear()
        self.is_cautious = True
        del self.pipeline  # its memory first
        self._load()
        self.waiting.extendleft(self._job(ask) for ask in reversed(again))

    # ── the pipeline ─────────────────────────────────────────────────────────────────────────────────────

    def _load(self) -> None:
        self.pipeline = load_kept(self.model, self._open)
        self.text = Text(self.pipeline.get_tokenizer())

    def _open(self, path: Path, *, save: bool) -> ContinuousBatchingPipeline:
        scheduler = self.runtime.SchedulerConfig()
        scheduler.num_kv_blocks = self.cache // BLOCK
        scheduler.enable_prefix_caching = True
        saving = {"enable_save_ov_model": True} if save else {}
        threads = {"INFERENCE_NUM_THREADS": self.threads} if self.threads else {}
        return self.runtime.ContinuousBatchingPipeline(str(path), scheduler, "CPU", saving | threads, saving)


def _beginnings(tokens: list[int]) -> tuple[int, ...]:
    """Hashes of the whole blocks that precede the last token, each with all that is before it."""
    beginning, hashes = 0, list[int]()
    for end in range(BLOCK, len(tokens), BLOCK):
        beginning = hash((beginning, *tokens[end - BLOCK : end]))
        hashes.append(beginning)
    return tuple(hashes)


def _output(handle: GenerationHandle) -> GenerationOutput:
    if handle.get_status().name != "FINISHED":
        raise RefusedError(
            f"the runtime gave it up (status {handle.get_status().name}): its cache is too small"
        )
    return handle.read_all()[0]


def _apart(forced: dict[str, GenerationOutput]) -> tuple[tuple[str, float], ...]:
    """Each word's log-probability by its first token; words that begin with the same one tell nothing."""
    first = Counter(output.generated_ids[0] for output in forced.values())
    return tuple(
        (word, min(0.0, output.generated_log_probs[0]))
        for word, output in forced.items()
        if first[output.generated_ids[0]] == 1
    )


def main() -> None:
    """Serve the model named on the command line. The runtime's telemetry is never imported."""
    sys.modules["openvino_telemetry"] = cast("ModuleType", None)  # the runtime's own stub takes its place
    model, (context, cache, threads) = Path(sys.argv[1]), map(int, sys.argv[2:])
    serve(lambda: OpenVinoEngine(import_module("openvino_genai"), model, context, cache, threads))


if __name__ == "__main__":
    main()
