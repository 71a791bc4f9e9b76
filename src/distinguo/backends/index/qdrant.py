"""A Qdrant server as the search engine of an index: the one file that knows its client."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Self, cast, final
from urllib.parse import urlsplit

from distinguo.backends.index.edge import K1, B
from distinguo.backends.index.engine import Point, Scores
from distinguo.errors import BackendError, ConfigError, DataError, DistinguoError
from distinguo.text import tokens

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

    from distinguo.protocols import Vector

logger = logging.getLogger(__name__)

OLDEST: Final = (1, 20)  # the first that ranks by BM25 over a text index

_DENSE, _TERMS, _OWNER = "dense", "terms", "distinguo"
_NUMBERS: Final = 2**20  # of vectors in one request: some 10 MB of JSON, and servers take 32
_BATCH: Final = 256
_PAGE: Final = 10_000
_REMEMBERED: Final = 2**17  # words whose stems are kept: to stem one takes 30 µs, a text repeats most
_LOCAL: Final = {"localhost", "127.0.0.1", "::1"}


@final
@dataclass(frozen=True, slots=True)
class Server:
    """Where a Qdrant server is, with one collection for each index. No message and no ``repr`` holds its key.

    Attributes:
        url: its address; the port is 6333 unless it says another.
        key: what it is sent as ``api-key``.
        timeout: whole seconds that one request may take.

    Raises `ConfigError` for an address that is none, and for a key that no header can carry.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    timeout: int = 60

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            raise _no_address() from None
        if not is_whole or "@" in parts.netloc or parts.query or parts.fragment:
            raise _no_address()
        if self.key is None:
            return
        if not re.fullmatch(r"[!-~]+", self.key):
            raise ConfigError(
                f"the key of the Qdrant server {self.url!r} is empty or holds spaces, line breaks or "
                "non-ASCII characters; look at the environment variable that `key_env` names"
            )
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            logger.warning("the key of the Qdrant server %s travels unencrypted; use https", self.url)

    def open(self, index: str, owner: str, dimension: int) -> QdrantServer:
        """The engine of `index` there, as `QdrantServer.open` tells; its collection is named after both."""
        collection = _collection(index, owner)
        return QdrantServer.open(self.connect(), collection, owner=owner, dimension=dimension)

    def erase(self, index: str, owner: str) -> None:
        """Delete the collection of `index` there, if there is one."""
        client = self.connect()
        QdrantServer.erase(client, _collection(index, owner), owner=owner)
        client.close()

    def connect(self) -> QdrantClient:
        """A client; nothing is asked of the server yet. Raises `ConfigError` if its package is missing."""
        try:
            from qdrant_client import QdrantClient
        except ImportError as error:
            raise _not_installed() from error
        # As api_key it would warn on stderr where there is no TLS, which is the rule on one machine.
        headers = {} if self.key is None else {"api-key": self.key}
        return QdrantClient(url=self.url, timeout=self.timeout, headers=headers, check_compatibility=False)


@final
class QdrantServer:
    """An `Engine` in one collection of a server: BM25 and inner products, both exact, as the embedded engine.

    BM25 is the server's own, over an index of terms in the payload, and not over sparse vectors: these hold
    the average length of a passage as it was when they were made, while the server counts lengths and
    documents as they are now, and so scores stay comparable however the collection grows. The formula,
    k1, b and terms are those of the embedded engine; scores agree to single precision. They would not if the
    collection had several shards, since each counts alone: it has one.

    Terms are stemmed here and sent as hashes, so that no tokeniser of the server changes them. Neither texts
    nor words are kept there, though who guesses a word can look for it. Vectors are searched without a graph
    (HNSW), which would be approximate.

    It was tested on the client's in-memory mode, never on a live server; what only a server does (refusals,
    its network) was tested on replies written by hand.

    Every change waits until the server has applied it, and is in the server's log then. Safe in many threads.
    Raises `BackendError` when the server cannot be reached or refuses the key, `DataError` for the rest.
    """

    def __init__(self, client: QdrantClient, collection: str) -> None:
        self._client = client
        self._collection = collection
        self._code = lru_cache(_REMEMBERED)(_coder())

    @classmethod
    def open(cls, client: QdrantClient, collection: str, *, dimension: int, owner: str) -> Self:
        """The engine in `collection`, which is made if it is not there.

        Args:
            client: of a server, or in memory.
            collection: its name there.
            dimension: of the vectors.
            owner: tells the truth that the engine is over from all others.

        Raises:
            DataError: something else made the collection, another index, or one of another dimension; or the
                server is too old.
        """
        engine = cls(client, collection)
        with engine._translated("open the collection"):
            _check_version(client.info().version)
            if not client.collection_exists(collection):
                engine._create(dimension, owner)
            info = client.get_collection(collection)
            engine._check(info, dimension, owner)
            if _TERMS not in info.payload_schema:  # new, or its making was interrupted
                engine._index_terms()
        return engine

    @classmethod
    def erase(cls, client: QdrantClient, collection: str, *, owner: str) -> None:
        """Delete `collection`, if it is there and is of `owner`, whatever it holds."""
        with cls(client, collection)._translated("delete the collection"):
            is_there = client.collection_exists(collection)
            if is_there and _owner(client.get_collection(collection)) == owner:
                client.delete_collection(collection)

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points, in place of those with the same numbers."""
        if not points:
            return
        size = max(1, min(_BATCH, 4 * _NUMBERS // len(points[0].vector)))
        for start in range(0, len(points), size):
            rows = [self._row(point) for point in points[start : start + size]]
            with self._translated("add passages"):
                self._client.upsert(self._collection, rows, wait=True)

    def delete(self, numbers: Iterable[int]) -> None:
        """Remove points; those that are not there are no error."""
        from qdrant_client import models

        if gone := cast("list[models.ExtendedPointId]", [*numbers]):
            with self._translated("delete passages"):
                self._client.delete(self._collection, models.PointIdsList(points=gone), wait=True)

    def flush(self) -> None:
        """Nothing is left to do: every change has waited until it was applied."""

    def numbers(self) -> set[int]:
        """The numbers of all points."""
        found: set[int] = set()
        offset = None
        with self._translated("list the passages"):
            while True:
                records, offset = self._client.scroll(
                    self._collection, limit=_PAGE, offset=offset, with_payload=False, with_vectors=False
                )
                found.update(cast("int", record.id) for record in records)
                if offset is None:
                    return found

    def count(self) -> int:
        """How many points there are."""
        with self._translated("count the passages"):
            return self._client.count(self._collection, exact=True).count

    def lexical(self, text: str, k: int, *, among: Iterable[int] | None = None) -> Scores:
        """The `k` best by Okapi BM25 over the terms of `text`, and all that tie with the last; may be empty.

        Passages without a common term have no score. `among` scores these passages alone; how rare a term is
        counts over all passages still, so that scores agree with those of an open search.
        """
        from qdrant_client import models

        codes = " ".join(dict.fromkeys(map(self._code, tokens.terms(text))))
        if not codes:
            return {}
        scoring = models.Bm25Scoring(bm25=models.Bm25Params(k=K1, b=B))
        query = models.TextQuery(text=models.TextQueryInput(query=codes, scoring=scoring))
        return self._search(query, _TERMS, k, among)

    def dense(self, vector: Vector, k: int, *, among: Iterable[int] | None = None) -> Scores:
        """The `k` best by inner product with `vector`, and all that tie with the last; `among` as above."""
        return self._search(cast("list[float]", vector.tolist()), _DENSE, k, among)

    def close(self) -> None:
        """Let go of the connection."""
        with self._translated("close the connection"):
            self._client.close()

    # ── the collection ───────────────────────────────────────────────────────────────────────────────────

    def _create(self, dimension: int, owner: str) -> None:
        from qdrant_client import models

        self._client.create_collection(
            self._collection,
            vectors_config={_DENSE: models.VectorParams(size=dimension, distance=models.Distance.DOT)},
            shard_number=1,
            hnsw_config=models.HnswConfigDiff(m=0),  # no graph
            metadata={_OWNER: owner},
        )

    def _index_terms(self) -> None:
        """The server's defaults (words, in lower case, no stems, no stop words) leave hashes as they are."""
        from qdrant_client import models

        schema = models.TextIndexParams(type=models.TextIndexType.TEXT, scoring=True, enable_hnsw=False)
        self._client.create_payload_index(self._collection, _TERMS, schema, wait=True)

    def _check(self, info: models.CollectionInfo, dimension: int, owner: str) -> None:
        from qdrant_client.models import Distance

        made_by = _owner(info)
        if made_by != owner:
            who = "another index" if made_by else "something other than Distinguo"
            raise DataError(
                f"the Qdrant collection {self._collection!r} was made by {who}; nothing of it was changed. "
                "Delete it on the server, or build the index anew: distinguo index --rebuild"
            )
        vectors = info.config.params.vectors
        params = vectors.get(_DENSE) if isinstance(vectors, dict) else None
        if params is None or (params.size, params.distance) != (dimension, Distance.DOT):
            raise DataError(
                f"the Qdrant collection {self._collection!r} does not hold vectors of {dimension} numbers, "
                "to be compared by inner product: build the index anew: distinguo index --rebuild"
            )

    def _row(self, point: Point) -> models.PointStruct:
        import numpy as np
        from qdrant_client import models

        vector = cast("list[float]", np.frombuffer(point.vector, "<f4").tolist())
        codes = " ".join(map(self._code, tokens.terms(point.text)))
        return models.PointStruct(id=point.number, vector={_DENSE: vector}, payload={_TERMS: codes})

    def _search(
        self, query: models.TextQuery | list[float], using: str, k: int, among: Iterable[int] | None
    ) -> Scores:
        """The server cuts ties anyhow, so look deeper until the last one found scores less than the k-th."""
        from qdrant_client import models

        chosen = None
        if among is not None:
            ids = cast("list[models.ExtendedPointId]", [*among])
            chosen = models.Filter(must=models.HasIdCondition(has_id=ids))
        limit = k + 1
        with self._translated("search"):
            while True:
                found = self._client.query_points(
                    self._collection,
                    query=query,
                    using=using,
                    query_filter=chosen,
                    search_params=models.SearchParams(exact=True) if using == _DENSE else None,
                    limit=limit,
                    with_payload=False,
                ).points
                if len(found) < limit or found[-1].score < found[k - 1].score:
                    return {cast("int", point.id): point.score for point in found}
                limit *= 4

    @contextmanager
    def _translated(self, doing: str) -> Generator[None]:
        try:
            yield
        except DistinguoError:
            raise
        except Exception as error:  # the client raises what its transport, its models and itself raise
            raise _translation(error, f"cannot {doing} {self._collection!r} of the Qdrant server") from error


def _collection(index: str, owner: str) -> str:
    """Indexes of one name meet on a server: those of two users, and one with what is built in its place."""
    return f"distinguo-{index}-{owner}"


def _owner(info: models.CollectionInfo) -> object:
    """What the collection is said to belong to; None: nothing."""
    return (info.config.metadata or {}).get(_OWNER)


def _translation(error: Exception, what: str) -> DistinguoError:
    """The client's errors in our words; they hold no header that was sent, and so no key."""
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    match error:
        case ResourceExhaustedResponse():
            return BackendError(f"{what}: {error}", retryable=True, retry_after=float(error.retry_after_s))
        case ResponseHandlingException():
            reason = str(error.source) or type(error.source).__name__
            return BackendError(f"{what}: {reason}; is it running at this address?", retryable=True)
        case json.JSONDecodeError():  # mostly a gateway's passing page
            return BackendError(
                f"{what}: its reply is not a Qdrant server's; look at the url", retryable=True
            )
        case UnexpectedResponse():
            return _refusal(error.status_code or 0, error.content, what)
        case _:
            return DataError(f"{what}: {error}")


def _refusal(status: int, content: bytes, what: str) -> DistinguoError:
    words = " ".join(content.decode("utf-8", "replace").split())[:300]
    what = f"{what}: HTTP {status}, {words!r}"
    match status:
        case 401 | 403:
            return BackendError(f"{what}; look at the environment variable that `key_env` names")
        case 404:
            return DataError(f"{what}; if the collection is gone, build it anew: distinguo index --rebuild")
        case 408 | 429 | 500 | 502 | 503 | 504:
            return BackendError(what, retryable=True)
        case _:
            return DataError(what)


def _check_version(version: str) -> None:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise DataError(f"the Qdrant server is of version {version!r}; expected {oldest} or newer")


def _coder() -> Callable[[str], str]:
    """What makes of a term a word of 16 letters and digits that stands for its stem."""
    try:
        # By its own name: the package's front would prefer another one's stemmer of other rules.
        from snowballstemmer.english_stemmer import EnglishStemmer
    except ImportError as error:
        raise _not_installed() from error

    def code(term: str) -> str:
        # A stemmer holds the word it is at, hence one for each call; its package has no types.
        stem = cast("str", EnglishStemmer().stemWord(term))  # pyright: ignore[reportUnknownMemberType]
        return blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    return code


def _not_installed() -> ConfigError:
    return ConfigError("a Qdrant server needs a package more: pip install 'distinguo[qdrant]'")


def _no_address() -> ConfigError:
    return ConfigError(  # it may hold a password, and is not repeated
        "the url of a Qdrant server is not an address; expected one such as 'http://localhost:6333', without "
        "user, query or fragment; a key goes into the environment variable that `key_env` names"
    )
