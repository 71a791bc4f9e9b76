"""What every text encoder owes its callers. A new implementation is one more entry of `ENCODERS`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import get_args

import httpx
import numpy as np
import pytest

from distinguo.backends.embedding.minilm import MiniLM
from distinguo.backends.embedding.openai import OpenAIEncoder
from distinguo.protocols import Encoder
from distinguo.records import Role
from distinguo.testing import HashEncoder
from doubles.stored import stored

TEXTS = (
    "How long may an opened vial be kept?",
    "An opened vial keeps for 28 days.",
    "Bread",
    "国際標準化に関する動向",
    "The council raised the parking fee. " * 12,
    "line one\nline two\ttabbed \x00 and a nul 🙂",
)
# Arithmetic is bfloat16 where the processor has it, and then padding shows in the last digits.
TOLERANCE = 1e-3


def hash_encoder() -> Encoder:
    return HashEncoder()


def openai() -> Encoder:
    inner = HashEncoder()

    def transport(request: httpx.Request) -> httpx.Response:
        vectors = inner.encode(json.loads(request.content)["input"], "passage")
        rows = [{"index": i, "embedding": [3 * float(x) for x in vector]} for i, vector in enumerate(vectors)]
        return httpx.Response(200, json={"data": rows})

    client = httpx.Client(transport=httpx.MockTransport(transport))
    return OpenAIEncoder("http://house/v1", "small", inner.dimension, size=4, client=client)


def minilm() -> Encoder:
    return MiniLM(stored("all-minilm-l6-v2-int8"))


ENCODERS = [
    pytest.param(hash_encoder, id="hash"),
    pytest.param(openai, id="openai"),
    pytest.param(minilm, id="minilm", marks=pytest.mark.embedded),
]
Factory = Callable[[], Encoder]


@pytest.fixture(scope="module", params=ENCODERS)
def factory(request: pytest.FixtureRequest) -> Factory:
    return request.param


@pytest.fixture(scope="module")
def encoder(factory: Factory) -> Encoder:
    return factory()


@pytest.mark.parametrize("role", get_args(Role))
def test_each_text_gets_a_float32_vector_of_length_one(encoder: Encoder, role: Role) -> None:
    vectors = encoder.encode(TEXTS, role)
    assert len(vectors) == len(TEXTS)
    for vector in vectors:
        assert vector.shape == (encoder.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_vectors_come_in_the_order_of_the_texts(encoder: Encoder) -> None:
    forth = np.stack(encoder.encode(TEXTS, "passage"))
    back = np.stack(encoder.encode(TEXTS[::-1], "passage"))[::-1]
    assert np.allclose(forth, back, atol=TOLERANCE)
    nearest = (forth @ back.T).argmax(axis=1)
    assert nearest.tolist() == list(range(len(TEXTS)))


def test_a_text_alone_gets_the_vector_that_it_gets_in_company(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS, "passage")
    for text, vector in zip(TEXTS, together, strict=True):
        (alone,) = encoder.encode([text], "passage")
        assert np.allclose(alone, vector, atol=TOLERANCE)


def test_equal_texts_get_equal_vectors(encoder: Encoder) -> None:
    first, *_, last = encoder.encode([TEXTS[0], *TEXTS, TEXTS[0]], "query")
    assert np.array_equal(first, last)
    assert np.array_equal(encoder.encode(TEXTS, "query"), encoder.encode(TEXTS, "query"))


def test_no_text_is_no_vector(encoder: Encoder) -> None:
    assert len(encoder.encode([], "passage")) == 0


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_a_text_without_words_has_a_vector_too(encoder: Encoder, text: str) -> None:
    (vector,) = encoder.encode([text], "passage")
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_a_very_long_text_is_no_error(encoder: Encoder) -> None:
    (vector,) = encoder.encode(["word " * 5000], "passage")
    assert vector.shape == (encoder.dimension,)


def test_the_fingerprint_is_the_same_whenever_it_is_made(factory: Factory, encoder: Encoder) -> None:
    assert encoder.fingerprint
    assert factory().fingerprint == encoder.fingerprint
