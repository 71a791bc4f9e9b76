"""What is sent to an embeddings endpoint, and which of its vectors are let in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import numpy as np
import pytest

from distinguo.backends.embedding.openai import OpenAIEncoder
from distinguo.errors import BackendError, ConfigError
from distinguo.protocols import Encoder

Respond = Callable[[list[str]], Any]


def rows(vectors: Sequence[Sequence[float]]) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": list(vector)} for i, vector in enumerate(vectors)]}


def encoder(respond: Respond, asked: list[list[str]] | None = None, **options: Any) -> OpenAIEncoder:
    def transport(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/v1/embeddings"
        body = json.loads(request.content)
        assert body["model"] == "small"
        if asked is not None:
            asked.append(body["input"])
        return httpx.Response(200, text=json.dumps(respond(body["input"])))

    client = httpx.Client(transport=httpx.MockTransport(transport))
    return OpenAIEncoder("http://house/v1", "small", 2, client=client, **options)


def test_it_is_an_encoder_and_its_vectors_have_length_one() -> None:
    port: Encoder = encoder(lambda texts: rows([(3.0, 4.0) for _ in texts]))
    vectors = port.encode(["a", "b"], "passage")
    assert [vector.dtype for vector in vectors] == [np.float32, np.float32]
    assert np.allclose(vectors, [[0.6, 0.8], [0.6, 0.8]])


def test_no_text_is_no_request() -> None:
    asked: list[list[str]] = []
    assert encoder(lambda _: rows([]), asked).encode([], "query") == []
    assert asked == []


def test_vectors_come_in_the_order_of_the_texts_whatever_the_order_of_the_reply() -> None:
    def respond(texts: list[str]) -> Any:
        return {"data": rows([(len(text), 1.0) for text in texts])["data"][::-1]}

    vectors = encoder(respond).encode(["a", "aa", "aaa"], "passage")
    assert [round(float(x / y)) for x, y in vectors] == [1, 2, 3]


def test_texts_are_sent_in_batches_with_the_prefix_of_their_role() -> None:
    asked: list[list[str]] = []
    port = encoder(
        lambda texts: rows([(1.0, 0.0) for _ in texts]),
        asked,
        size=2,
        query_prefix="q: ",
        passage_prefix="p: ",
    )
    assert len(port.encode(["a", "b", "c"], "passage")) == 3
    port.encode(["a"], "query")
    assert asked == [["p: a", "p: b"], ["p: c"], ["q: a"]]


@pytest.mark.parametrize(
    "options", [{"query_prefix": "q: "}, {"passage_prefix": "p: "}, {"dimension": 3}, {"model": "large"}]
)
def test_whatever_changes_the_vectors_changes_the_fingerprint(options: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"url": "http://house/v1", "model": "small", "dimension": 2}
    assert OpenAIEncoder(**plain).fingerprint != OpenAIEncoder(**plain | options).fingerprint


def test_the_address_is_no_part_of_the_fingerprint() -> None:
    here, there = OpenAIEncoder("http://house/v1", "small", 2), OpenAIEncoder("http://barn/v1", "small", 2)
    assert here.fingerprint == there.fingerprint


def test_another_dimension_is_refused_and_named() -> None:
    with pytest.raises(BackendError, match=r"has 3 numbers, expected 2.*dimension = 3") as caught:
        encoder(lambda texts: rows([(1.0, 2.0, 3.0) for _ in texts])).encode(["a"], "query")
    assert not caught.value.retryable


@pytest.mark.parametrize("vector", [(float("nan"), 1.0), (float("inf"), 1.0), (0.0, 0.0)])
def test_a_vector_without_direction_is_refused(vector: tuple[float, float]) -> None:
    with pytest.raises(BackendError, match="zero or holds numbers that are not finite"):
        encoder(lambda texts: rows([vector for _ in texts])).encode(["a"], "query")


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"index": 0, "embedding": [1.0, 0.0]}],
        [{"index": 0, "embedding": [1.0, 0.0]}, {"index": 0, "embedding": [1.0, 0.0]}],
        [{"index": 0, "embedding": [1.0, 0.0]}, {"index": 2, "embedding": [1.0, 0.0]}],
    ],
)
def test_a_missing_or_doubled_vector_is_an_error(data: list[Any]) -> None:
    with pytest.raises(BackendError, match="expected 2 numbered vectors") as caught:
        encoder(lambda _: {"data": data}).encode(["a", "b"], "query")
    assert caught.value.retryable


@pytest.mark.parametrize("reply", [{}, {"data": [{"index": 0, "embedding": None}]}, "sorry"])
def test_a_reply_of_another_form_is_an_error(reply: Any) -> None:
    with pytest.raises(BackendError, match="the OpenAI form"):
        encoder(lambda _: reply).encode(["a"], "query")


def test_a_refusal_and_a_broken_connection_are_told_like_those_of_a_model() -> None:
    def broken(_: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("timed out")

    def busy(_: httpx.Request) -> httpx.Response:
        return httpx.Response(429, headers={"Retry-After": "3"})

    for transport, words, wait in ((broken, "stall limit", None), (busy, "HTTP 429", 3.0)):
        client = httpx.Client(transport=httpx.MockTransport(transport))
        with pytest.raises(BackendError, match=f"model 'small' at 'http://house/v1'.*{words}") as caught:
            OpenAIEncoder("http://house/v1", "small", 2, client=client).encode(["a"], "query")
        assert caught.value.retryable
        assert caught.value.retry_after == wait


def test_a_reply_that_drips_ends_at_the_total_limit() -> None:
    class Dripping(httpx.SyncByteStream):
        is_closed = False

        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b" "

        def close(self) -> None:
            self.is_closed = True

    drip = Dripping()
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=drip)))
    with pytest.raises(BackendError, match=r"within 0\.05 s") as caught:
        OpenAIEncoder("http://house/v1", "small", 2, client=client, total=0.05).encode(["a"], "query")
    assert caught.value.retryable
    assert drip.is_closed


def test_after_closing_it_says_so() -> None:
    port = encoder(lambda _: rows([]))
    port.close()
    with pytest.raises(BackendError, match="closed"):
        port.encode(["a"], "query")


@pytest.mark.parametrize(
    "options",
    [
        {"dimension": 0},
        {"size": 0},
        {"url": "house"},
        {"key": "two words"},
        {"stall": 0.0},
        {"total": float("nan")},
    ],
)
def test_wrong_settings_are_refused_at_once(options: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"url": "http://house/v1", "model": "small", "dimension": 2}
    with pytest.raises(ConfigError, match="'small'"):
        OpenAIEncoder(**plain | options)


def test_repr_shows_the_address_but_no_secret() -> None:
    shown = repr(OpenAIEncoder("http://me:hush@house/v1?code=hidden", "small", 2, "quiet"))
    assert "'http://house/v1'" in shown
    assert not any(secret in shown for secret in ("hush", "hidden", "quiet"))
