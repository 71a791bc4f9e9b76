import builtins
import json
import logging
import traceback
from collections.abc import Callable

import httpx
import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from distinguo.backends.index.engine import Point
from distinguo.backends.index.qdrant import QdrantServer, Server
from distinguo.errors import BackendError, ConfigError, DataError, DistinguoError

KEY = "s3cret-k3y-of-the-server"
URL = "http://localhost:6333"
Reply = Callable[[httpx.Request], httpx.Response]


def _open(client: QdrantClient, *, dimension: int = 3, owner: str = "truth 1") -> QdrantServer:
    return QdrantServer.open(client, "distinguo-clinic", dimension=dimension, owner=owner)


def _point(number: int, text: str) -> Point:
    return Point(number, text, np.ones(3, "<f4").tobytes())


@pytest.fixture
def client() -> QdrantClient:
    return QdrantClient(":memory:")


# ── whose collection ─────────────────────────────────────────────────────────────────────────────────────


def test_the_collection_is_found_again_with_what_it_holds(client: QdrantClient) -> None:
    _open(client).upsert([_point(1, "ant")])
    again = _open(client)
    assert again.numbers() == {1}
    assert set(again.lexical("ants", 1)) == {1}


def test_another_indexs_collection_is_refused_and_left_alone(client: QdrantClient) -> None:
    engine = _open(client)
    engine.upsert([_point(1, "ant")])
    with pytest.raises(
        DataError, match=r"'distinguo-clinic' was made by another index.*nothing of it was changed"
    ):
        _open(client, owner="truth 2")
    assert engine.count() == 1


@pytest.mark.parametrize("metadata", [None, {"app": "shop"}])
def test_a_collection_that_something_else_made_is_refused(client: QdrantClient, metadata) -> None:
    params = models.VectorParams(size=3, distance=models.Distance.DOT)
    client.create_collection("distinguo-clinic", vectors_config={"dense": params}, metadata=metadata)
    with pytest.raises(DataError, match="was made by something other than Distinguo"):
        _open(client)


def test_a_collection_of_another_dimension_is_refused_with_the_remedy(client: QdrantClient) -> None:
    _open(client)
    with pytest.raises(DataError, match=r"vectors of 4 numbers.*--rebuild"):
        _open(client, dimension=4)


@pytest.mark.parametrize(
    "vectors",
    [
        models.VectorParams(size=3, distance=models.Distance.DOT),
        {"dense": models.VectorParams(size=3, distance=models.Distance.COSINE)},
        {"other": models.VectorParams(size=3, distance=models.Distance.DOT)},
    ],
)
def test_a_collection_of_another_kind_is_refused_even_under_our_name(client: QdrantClient, vectors) -> None:
    client.create_collection("distinguo-clinic", vectors_config=vectors, metadata={"distinguo": "truth 1"})
    with pytest.raises(DataError, match=r"vectors of 3 numbers.*--rebuild"):
        _open(client)


def test_a_collection_whose_making_was_interrupted_is_completed(
    client: QdrantClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "create_payload_index", die)
    with pytest.raises(KeyboardInterrupt):
        _open(client)
    monkeypatch.undo()
    engine = _open(client)
    engine.upsert([_point(1, "ant")])
    assert set(engine.lexical("ant", 1)) == {1}


def test_an_erased_collection_can_be_made_anew_and_only_its_owner_erases_it(client: QdrantClient) -> None:
    engine = _open(client)
    engine.upsert([_point(1, "ant")])
    QdrantServer.erase(client, "distinguo-clinic", owner="truth 2")
    assert engine.count() == 1
    for _ in range(2):
        QdrantServer.erase(client, "distinguo-clinic", owner="truth 1")
    assert _open(client, dimension=8, owner="truth 2").count() == 0


def test_no_text_and_no_word_is_kept_there(client: QdrantClient) -> None:
    _open(client).upsert([_point(1, "Confidential diagnosis")])
    ((record,), _) = client.scroll("distinguo-clinic", with_payload=True, with_vectors=True)
    assert "onfiden" not in repr(record)
    assert "diagnos" not in repr(record)


# ── over the network ─────────────────────────────────────────────────────────────────────────────────────


class Double:
    """Replies of a server, written by hand, and what it was asked."""

    def __init__(self, **replies: Reply) -> None:
        self.asked: list[tuple[str, str, object]] = []
        self.keys: set[str] = set()
        self._replies = replies

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked.append((request.method, path, json.loads(request.content or b"null")))
        self.keys.add(request.headers.get("api-key", ""))
        name = path.rpartition("/")[2] if path != "/" else "root"
        return self._replies.get(name, _default)(request)


INFO = {
    "status": "green",
    "optimizer_status": "ok",
    "segments_count": 1,
    "payload_schema": {},
    "config": {
        "params": {"vectors": {"dense": {"size": 3, "distance": "Dot"}}},
        "hnsw_config": {"m": 0, "ef_construct": 100, "full_scan_threshold": 10000},
        "optimizer_config": {
            "deleted_threshold": 0.2,
            "vacuum_min_vector_number": 1000,
            "default_segment_number": 0,
            "flush_interval_sec": 5,
        },
        "metadata": {"distinguo": "truth 1"},
    },
}


def _result(value: object) -> httpx.Response:
    return httpx.Response(200, json={"result": value, "status": "ok", "time": 0.0})


def _default(request: httpx.Request) -> httpx.Response:
    match request.method, request.url.path.rpartition("/")[2]:
        case "GET", "":
            return httpx.Response(200, json={"title": "qdrant", "version": "1.20.1"})
        case "GET", "exists":
            return _result({"exists": False})
        case "GET", _:
            return _result(INFO)
        case "POST", "query":
            return _result({"points": [{"id": 7, "version": 0, "score": 0.5}]})
        case "PUT", "distinguo-clinic":
            return _result(True)
        case _:
            return _result({"operation_id": 1, "status": "completed"})


def _remote(double: Double, key: str | None = KEY) -> QdrantClient:
    """The client that `Server.connect` makes, over a double of the network."""
    headers = {} if key is None else {"api-key": key}
    return QdrantClient(
        url=URL, headers=headers, check_compatibility=False, transport=httpx.MockTransport(double)
    )


def test_what_a_server_is_asked() -> None:
    double = Double()
    engine = _open(_remote(double))
    engine.upsert([_point(7, "ants")])
    assert engine.lexical("ant", 5, among=[7, 9]) == engine.dense(np.ones(3, "f4"), 5) == {7: 0.5}
    asked = {(method, path.rpartition("/")[2]): body for method, path, body in double.asked}
    created = asked["PUT", "distinguo-clinic"]
    assert created["metadata"] == {"distinguo": "truth 1"}
    assert (created["shard_number"], created["hnsw_config"]["m"]) == (1, 0)
    assert asked["PUT", "index"]["field_schema"]["scoring"] is True
    (point,) = asked["PUT", "points"]["points"]
    assert (point["id"], point["vector"]) == (7, {"dense": [1.0, 1.0, 1.0]})
    lexical, dense = (body for _, path, body in double.asked if path.endswith("query"))
    assert lexical["query"]["text"]["query"] == point["payload"]["terms"]  # one stem
    assert lexical["query"]["text"]["scoring"] == {"bm25": {"k": 1.2, "b": 0.75}}
    assert lexical["filter"]["must"] == {"has_id": [7, 9]}
    assert dense["params"]["exact"] is True
    assert double.keys == {KEY}


def test_points_travel_in_batches_that_a_server_takes() -> None:
    double = Double()
    engine = QdrantServer(_remote(double), "distinguo-clinic")
    engine.upsert([_point(number, "ant") for number in range(600)])
    wide = np.ones(50_000, "<f4").tobytes()
    engine.upsert([Point(number, "ant", wide) for number in range(45)])
    sizes = [len(body["points"]) for _, _, body in double.asked]
    assert sizes == [256, 256, 88, 20, 20, 5]


@pytest.mark.parametrize("version", ["1.19.9", "0.11.0", "1.9"])
def test_a_server_that_is_too_old_is_named(version: str) -> None:
    double = Double(root=lambda _: httpx.Response(200, json={"title": "qdrant", "version": version}))
    with pytest.raises(DataError, match=rf"'{version}'.*1\.20"):
        _open(_remote(double))
    assert len(double.asked) == 1


def _dies(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused", request=request)


def _stalls(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("timed out", request=request)


def _says(status: int, **headers: str) -> Reply:
    body = {"status": {"error": f"words of {status}"}, "time": 0.0}
    return lambda _: httpx.Response(status, json=body, headers=headers)


@pytest.mark.parametrize(
    ("reply", "kind", "retryable", "words"),
    [
        (_dies, BackendError, True, "connection refused; is it running"),
        (_stalls, BackendError, True, "timed out"),
        (lambda _: httpx.Response(200, text="<html>"), BackendError, True, "look at the url"),
        (_says(401), BackendError, False, "HTTP 401.*words of 401.*key_env"),
        (_says(403), BackendError, False, "key_env"),
        (_says(404), DataError, None, "--rebuild"),
        (_says(429), BackendError, True, "HTTP 429"),
        (_says(503), BackendError, True, "HTTP 503"),
        (_says(500), BackendError, True, "words of 500"),
        (_says(400), DataError, None, "HTTP 400.*words of 400"),
        (_says(507), DataError, None, "HTTP 507"),
    ],
)
def test_refusals_are_told_in_our_words_once_and_without_the_key(
    reply: Reply, kind: type[DistinguoError], retryable: bool | None, words: str
) -> None:
    engine = QdrantServer(_remote(Double(query=reply)), "distinguo-clinic")
    with pytest.raises(kind, match=f"cannot search 'distinguo-clinic'.*{words}") as caught:
        engine.dense(np.ones(3, "f4"), 5)
    if isinstance(caught.value, BackendError):
        assert caught.value.retryable is retryable
    assert isinstance(caught.value.__cause__, Exception)
    assert not isinstance(caught.value.__cause__, DistinguoError)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_server_that_asks_for_patience_is_given_it() -> None:
    engine = QdrantServer(_remote(Double(query=_says(429, **{"Retry-After": "7"}))), "distinguo-clinic")
    with pytest.raises(BackendError) as caught:
        engine.dense(np.ones(3, "f4"), 5)
    assert (caught.value.retryable, caught.value.retry_after) == (True, 7.0)


def test_a_closed_engine_says_so(client: QdrantClient) -> None:
    engine = _open(client)
    engine.close()
    with pytest.raises(DataError, match="cannot count"):
        engine.count()


# ── where it is ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6333",
        "qdrant.example",
        "ftp://localhost",
        "http://",
        "http://[",
        "http://host:99999",
        f"http://user:{KEY}@host",
        f"http://host?key={KEY}",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="http://localhost:6333") as caught:
        Server(url)
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("key", ["", "two words", f"{KEY}\n", "ключ"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError, match="key_env") as caught:
        Server(URL, key)
    assert KEY not in str(caught.value)


def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        server = Server(URL, KEY)
        client = server.connect()
        client.close()
        assert not caplog.records
        Server("https://qdrant.example:6333/prefix", KEY)
        assert not caplog.records
        Server("http://qdrant.example", KEY)
    (record,) = caplog.records
    assert "unencrypted" in record.message
    assert KEY not in record.message
    assert KEY not in repr(server)


@pytest.mark.parametrize("package", ["qdrant_client", "snowballstemmer"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def lacking(name: str, *arguments, **named):
        if name.partition(".")[0] == package:
            raise ImportError(f"No module named {package!r}", name=package)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(ConfigError, match=r"pip install 'distinguo\[qdrant\]'"):
        _open(Server(URL).connect())
