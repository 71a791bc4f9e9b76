"""Fakes of every port, for tests of your own methods: no model, no index, no network, the same every time.

>>> import asyncio
>>> from distinguo.records import Message, Prompt
>>> llm = ScriptedLLM({"read": "Paris"})
>>> asyncio.run(llm.complete(Prompt("read", (Message("user", "Capital of France?"),)))).text
'Paris'
>>> [prompt.name for prompt in llm.prompts]
['read']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final
from zlib import crc32

from distinguo.errors import ConfigError
from distinguo.records import (
    GREEDY,
    Completion,
    Hit,
    Passage,
    Probability,
    Prompt,
    Query,
    Role,
    Sampling,
    Score,
    Similarity,
    Usage,
)

if TYPE_CHECKING:
    from distinguo.protocols import Matrix, Vector

__all__ = ["FixedScorer", "HashEncoder", "ListRetriever", "ScriptedLLM", "WordTokeniser"]

Reply = str | Completion | Exception
"""What a scripted model does with a prompt: say this, return this, or raise this."""

Script = Reply | Mapping[str, Reply] | Sequence[Reply] | Callable[[Prompt, Sampling], Reply]
"""One reply for all, replies by prompt name, replies in order, or a function."""


@final
@dataclass(slots=True)
class ScriptedLLM:
    """An `LLM` that replies as `script` says. `prompts` and `samplings` hold what it was asked, in order.

    Tokens are counted as words. An `AssertionError` names a prompt that the script does not foresee.
    """

    script: Script
    prompts: list[Prompt] = field(default_factory=list[Prompt])
    samplings: list[Sampling] = field(default_factory=list[Sampling])

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        """The next reply of the script."""
        self.prompts.append(prompt)
        self.samplings.append(sampling)
        match self._reply(prompt, sampling):
            case Exception() as error:
                raise error
            case Completion() as completion:
                return completion
            case str() as text:
                read = sum(len(message.content.split()) for message in prompt.messages)
                return Completion(text, usage=Usage(read, len(text.split())))

    def _reply(self, prompt: Prompt, sampling: Sampling) -> Reply:
        match self.script:
            case str() | Completion() | Exception():
                return self.script
            case Mapping():
                if prompt.name not in self.script:
                    raise AssertionError(
                        f"no reply for prompt {prompt.name!r}; the script has {sorted(self.script)}"
                    )
                return self.script[prompt.name]
            case Sequence():
                if len(self.prompts) > len(self.script):
                    raise AssertionError(
                        f"the script has {len(self.script)} replies; prompt {prompt.name!r} asks for one more"
                    )
                return self.script[len(self.prompts) - 1]
            case script:
                return script(prompt, sampling)


@final
@dataclass(frozen=True, slots=True)
class HashEncoder:
    """An `Encoder` whose vectors are hashed bags of words: texts that share words are near.

    A text without words gets the first axis, so that every vector has length 1. A `TokenEncoder` too: its
    tokens are the words, each on the axis of its hash.
    """

    dimension: int = 256

    @property
    def fingerprint(self) -> str:
        """One vector space for each dimension."""
        return f"hash-{self.dimension}"

    def encode(self, texts: Sequence[str], role: Role) -> Sequence[Vector]:
        """One vector per text; both roles share one space."""
        return [self._vector(text) for text in texts]

    def encode_tokens(self, texts: Sequence[str], role: Role) -> Sequence[Matrix]:
        """One row per word, shape (words, dimension)."""
        import numpy as np

        axes = np.eye(self.dimension, dtype=np.float32)
        return [axes[self._places(text)] for text in texts]

    def _vector(self, text: str) -> Vector:
        import numpy as np

        vector = np.zeros(self.dimension, dtype=np.float32)
        for place in self._places(text):
            vector[place] += 1
        if not vector.any():
            vector[0] = 1
        vector /= np.linalg.norm(vector)
        return vector

    def _places(self, text: str) -> list[int]:
        words = re.findall(r"\w+", text.lower())
        return [crc32(word.encode("utf-8", "surrogatepass")) % self.dimension for word in words]


@final
@dataclass(slots=True)
class ListRetriever:
    """A `Retriever` that finds `passages` in their order, whatever the query.

    The hit of rank r has the similarity 1 / r. `queries` holds what was sought.
    """

    passages: Sequence[Passage]
    queries: list[Query] = field(default_factory=list[Query])

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """The first `k` passages."""
        if k < 1:
            raise ConfigError(f"k is {k!r}; expected at least 1")
        self.queries.append(query)
        return tuple(
            Hit(passage, Similarity(1 / rank, "list"), rank)
            for rank, passage in enumerate(self.passages[:k], start=1)
        )


@final
@dataclass(slots=True)
class FixedScorer:
    """A `Scorer` with a table of scores by passage id; `asked` holds (query, passage id), in order."""

    scores: Mapping[str, Score]
    otherwise: Score = field(default_factory=lambda: Probability(0.0, "fixed"))
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def score(self, query: str, passage: Passage) -> Score:
        """The table's score, or `otherwise`."""
        self.asked.append((query, passage.id))
        return self.scores.get(passage.id, self.otherwise)


@final
@dataclass(frozen=True, slots=True)
class WordTokeniser:
    """A `Tokeniser` whose tokens are runs of letters, digits and underscores."""

    fingerprint: str = "words"

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character spans of the words of `text`, in order."""
        return [match.span() for match in re.finditer(r"\w+", text)]
