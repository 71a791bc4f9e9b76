"""What every encoder that tells tokens apart owes its callers."""

from collections.abc import Callable

import numpy as np
import pytest

from distinguo.backends.embedding.minilm import MiniLM
from distinguo.backends.index.late import max_sim
from distinguo.protocols import TokenEncoder
from distinguo.testing import HashEncoder
from doubles.stored import stored

TEXTS = ("An opened vial keeps for 28 days.", "bread", "", "The council raised the parking fee. " * 60)


def minilm() -> TokenEncoder:
    return MiniLM(stored("all-minilm-l6-v2-int8"))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(HashEncoder, id="hash"),
        pytest.param(minilm, id="minilm", marks=pytest.mark.embedded),
    ],
)
def encoder(request: pytest.FixtureRequest) -> TokenEncoder:
    factory: Callable[[], TokenEncoder] = request.param
    return factory()


def test_rows_are_float32_of_length_one_in_the_order_of_the_texts(encoder: TokenEncoder) -> None:
    matrices = encoder.encode_tokens(TEXTS, "passage")
    assert [matrix.ndim for matrix in matrices] == [2] * len(TEXTS)
    assert len({matrix.shape[1] for matrix in matrices}) == 1
    for matrix in matrices:
        assert matrix.dtype == np.float32
        assert np.allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
    for text, matrix in zip(TEXTS, matrices, strict=True):
        (alone,) = encoder.encode_tokens([text], "passage")
        assert alone.shape == matrix.shape
        assert np.allclose(alone, matrix, atol=0.02)  # padding shows in the last digits of bfloat16


def test_only_a_text_without_tokens_has_no_rows(encoder: TokenEncoder) -> None:
    assert [len(matrix) > 0 for matrix in encoder.encode_tokens(TEXTS, "query")] == [True, True, False, True]
    assert list(encoder.encode_tokens([], "query")) == []


def test_a_question_meets_the_passage_that_has_its_words(encoder: TokenEncoder) -> None:
    (question,) = encoder.encode_tokens(["how many days does an opened vial keep"], "query")
    scores = [max_sim(question, matrix) for matrix in encoder.encode_tokens(TEXTS, "passage")]
    assert scores[0] == max(scores)
    assert all(-1 <= score <= 1 for score in scores)
