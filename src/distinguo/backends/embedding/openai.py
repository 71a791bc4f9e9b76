"""Any text encoder behind an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast, final

import httpx
from pydantic import BaseModel

from distinguo.backends.http import Endpoint, check_seconds, limits
from distinguo.errors import ConfigError
from distinguo.records import Role

if TYPE_CHECKING:
    from distinguo.protocols import Vector


@final
@dataclass(frozen=True, slots=True)
class OpenAIEncoder:
    """An `Encoder` behind ``{url}/embeddings``.

    Attributes:
        url: base address, e.g. ``http://localhost:8000/v1``.
        model: the model's name there.
        dimension: length of its vectors; a reply of another length is an error that names the length.
        key: sent as a bearer token; in no message and no ``repr``.
        query_prefix: put before every query, e.g. ``"query: "`` for E5.
        passage_prefix: put before every passage.
        size: texts of one request.
        stall: seconds without a byte after which a request fails (retryable).
        total: seconds after which a reply that still comes, byte by byte, fails (retryable).
        client: carries the requests, from any thread; closed by `close`.
    """

    url: str
    model: str
    dimension: int
    key: str | None = field(default=None, repr=False)
    query_prefix: str = ""
    passage_prefix: str = ""
    size: int = 64
    stall: float = 60.0
    total: float = 300.0
    client: httpx.Client = field(default_factory=httpx.Client, repr=False, compare=False)

    def __post_init__(self) -> None:
        _ = self.endpoint  # raises early what is wrong with address or key
        check_seconds(self.model, stall=self.stall, total=self.total)
        if self.dimension < 1 or self.size < 1:
            raise ConfigError(
                f"encoder {self.model!r}: dimension is {self.dimension!r} and size {self.size!r}; "
                "expected whole numbers from 1"
            )

    def __repr__(self) -> str:
        return f"OpenAIEncoder({self.endpoint.shown!r}, {self.model!r}, {self.dimension})"

    @property
    def endpoint(self) -> Endpoint:
        """Where the model is."""
        return Endpoint(self.url, self.model, self.key)

    @property
    def fingerprint(self) -> str:
        """Model, dimension and prefixes; not the address, which may change while the model stays."""
        prefixes = f"query={self.query_prefix!r} passage={self.passage_prefix!r}"
        return f"openai:{self.model} dimension={self.dimension} {prefixes}"

    def encode(self, texts: Sequence[str], role: Role) -> list[Vector]:
        """L2-normalised vectors in the order of `texts`. Raises `BackendError`."""
        prefix = self.query_prefix if role == "query" else self.passage_prefix
        vectors: list[Vector] = []
        for start in range(0, len(texts), self.size):
            vectors.extend(self._request([prefix + text for text in texts[start : start + self.size]]))
        return vectors

    def close(self) -> None:
        """Close the connections; later calls are errors."""
        self.client.close()

    def _request(self, texts: list[str]) -> list[Vector]:
        endpoint = self.endpoint
        if self.client.is_closed:
            raise endpoint.error("its client is closed", retryable=False)
        try:
            until = time.monotonic() + self.total
            with self.client.stream(
                "POST",
                endpoint.at("embeddings"),
                content=endpoint.body({"input": texts}),
                headers=endpoint.headers,
                timeout=limits(self.stall),
            ) as response:
                response.stream = _Until(response.stream, until)
                response.read()
        except TimeoutError as error:
            raise endpoint.error(f"no whole reply within {self.total:g} s", retryable=True) from error
        except httpx.HTTPError as error:
            raise endpoint.unreachable(error) from error
        rows = endpoint.read(response, _Reply).data
        if sorted(row.index for row in rows) != list(range(len(texts))):
            raise endpoint.error(f"expected {len(texts)} numbered vectors, got {len(rows)}", retryable=True)
        return [self._vector(row.embedding) for row in sorted(rows, key=lambda row: row.index)]

    def _vector(self, numbers: list[float]) -> Vector:
        import numpy as np

        vector = np.asarray(numbers, dtype=np.float64)
        if len(vector) != self.dimension:
            raise self.endpoint.error(
                f"a vector has {len(vector)} numbers, expected {self.dimension}; "
                f"if the model is the right one, set dimension = {len(vector)} and index again",
                retryable=False,
            )
        length = np.linalg.norm(vector)
        if not np.isfinite(length) or length == 0:
            raise self.endpoint.error(
                "a vector is zero or holds numbers that are not finite", retryable=False
            )
        return (vector / length).astype(np.float32)


@final
class _Until(httpx.SyncByteStream):
    """The bytes of a reply; `TimeoutError` for those that come after the moment `until`."""

    def __init__(self, stream: object, until: float) -> None:
        self._stream, self._until = cast("httpx.SyncByteStream", stream), until

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            if time.monotonic() > self._until:
                raise TimeoutError
            yield part

    def close(self) -> None:
        self._stream.close()


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Reply(BaseModel):
    data: list[_Row]
