"""The ports: one verb each, implemented by backends, wrapped by wrappers, faked by `distinguo.testing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from distinguo.records import (
    GREEDY,
    Completion,
    Evidence,
    Hit,
    Outcome,
    Passage,
    Prompt,
    Query,
    Question,
    Role,
    Sampling,
    Score,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]


class LLM(Protocol):
    """A language model."""

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        """Reply to `prompt`. Raises `BackendError`."""
        ...


class Embedder(Protocol):
    """A text encoder, as methods and stages see it."""

    async def embed(self, text: str, role: Role) -> Vector:
        """The L2-normalised vector of `text`, shape (dimension,). Raises `BackendError`."""
        ...


class TokenEmbedder(Protocol):
    """A text encoder that tells a text's tokens apart, as retrievers see it."""

    async def embed_tokens(self, text: str, role: Role) -> Matrix:
        """As `TokenEncoder.encode_tokens` of one text. Raises `BackendError`."""
        ...


class Retriever(Protocol):
    """A search over an index."""

    async def search(self, query: Query, k: int) -> tuple[Hit, ...]:
        """At most `k` hits, best first, no passage twice; `k` must be positive. Ties go by passage id."""
        ...


class Scorer(Protocol):
    """Judges one passage for one question, on a scale that it names."""

    async def score(self, query: str, passage: Passage) -> Score:
        """The score of `passage` for `query`. Raises `BackendError`."""
        ...


class Method(Protocol):
    """A way to answer. Sees no gold."""

    async def answer(self, question: Question) -> Outcome:
        """Answer, or abstain with a reason. Raises `DistinguoError`; catches nothing."""
        ...


class Finder(Protocol):
    """The part of a method that comes before any reading: it can be measured, and used, without a reader."""

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        """The evidence for `question`, best first; maybe none. Raises `DistinguoError`."""
        ...


class Encoder(Protocol):
    """A text encoder: synchronous, many texts at once. A `Batcher` makes it an `Embedder`."""

    @property
    def fingerprint(self) -> str:
        """Model, revision, pooling and prefixes: two encoders of one fingerprint give one vector space."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Sequence[Vector]:
        """L2-normalised vectors in the order of `texts`. Raises `BackendError`."""
        ...


class TokenEncoder(Protocol):
    """An encoder with a vector for every token: synchronous. A `Batcher` makes it a `TokenEmbedder`."""

    def encode_tokens(self, texts: Sequence[str], role: Role) -> Sequence[Matrix]:
        """L2-normalised rows of shape (tokens, dimension), in the order of `texts`, special tokens left out.

        A text may have no tokens, and then no rows. Raises `BackendError`.
        """
        ...


class Tokeniser(Protocol):
    """Where a text's tokens lie: how lengths are counted and chunks are cut."""

    @property
    def fingerprint(self) -> str:
        """What this tokeniser is; part of an index's fingerprint."""
        ...

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character spans of the tokens of `text`, in order, special tokens left out."""
        ...
