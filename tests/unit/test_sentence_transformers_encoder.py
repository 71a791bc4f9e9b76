"""How sentence-transformers is called; the package is a double, since it brings torch."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from distinguo.backends.embedding.sentence_transformers import SentenceTransformersEncoder
from distinguo.errors import BackendError, ConfigError
from distinguo.protocols import Encoder


class SentenceTransformer:
    """Encodes a query as east and a passage as north."""

    max_seq_length = 128
    made: list[tuple[str, dict[str, Any]]]

    def __init__(self, name: str, **options: Any) -> None:
        if name == "nobody/nothing":
            raise OSError("no such model")
        self.made.append((name, options))

    def encode_query(self, texts: list[str], **options: Any) -> np.ndarray:
        return self._rows((1.0, 0.0), texts, options)

    def encode_document(self, texts: list[str], **options: Any) -> np.ndarray:
        return self._rows((0.0, 1.0), texts, options)

    def _rows(self, row: tuple[float, float], texts: list[str], options: dict[str, Any]) -> np.ndarray:
        assert options == {"normalize_embeddings": True, "convert_to_numpy": True, "show_progress_bar": False}
        if "bad" in texts:
            raise RuntimeError("no memory")
        return np.array([row for _ in texts])


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> type[SentenceTransformer]:
    double = type("Double", (SentenceTransformer,), {"made": []})
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=double))
    return double


@pytest.mark.usefixtures("package")
def test_queries_and_passages_are_encoded_by_the_models_own_prompts() -> None:
    encoder: Encoder = SentenceTransformersEncoder("house/small")
    assert encoder.dimension == 2
    assert np.array_equal(encoder.encode(["a", "b"], "query"), [[1, 0], [1, 0]])
    (vector,) = encoder.encode(["a"], "passage")
    assert np.array_equal(vector, [0, 1])
    assert vector.dtype == np.float32
    assert encoder.encode([], "query") == []


@pytest.mark.parametrize("offline", [False, True])
def test_offline_nothing_is_fetched_and_no_foreign_code_is_ever_run(
    package: type[SentenceTransformer], offline: bool
) -> None:
    SentenceTransformersEncoder("house/small", revision="abc", offline=offline)
    options = {"revision": "abc", "local_files_only": offline, "trust_remote_code": False}
    assert package.made == [("house/small", options)]


@pytest.mark.usefixtures("package")
def test_a_model_that_does_not_exist_is_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="cannot load 'nobody/nothing'; nothing is fetched while offline"):
        SentenceTransformersEncoder("nobody/nothing", offline=True)


@pytest.mark.usefixtures("package")
def test_an_error_while_encoding_is_translated() -> None:
    with pytest.raises(BackendError, match="'house/small' failed: no memory"):
        SentenceTransformersEncoder("house/small").encode(["bad"], "passage")


@pytest.mark.usefixtures("package")
def test_the_fingerprint_tells_revisions_and_the_bytes_of_a_folder_apart(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"one")
    prints = [SentenceTransformersEncoder(str(tmp_path)).fingerprint for _ in range(2)]
    weights.write_bytes(b"two")
    prints.append(SentenceTransformersEncoder(str(tmp_path)).fingerprint)
    prints += [SentenceTransformersEncoder("house/small", revision=name).fingerprint for name in ("a", "b")]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match="pip install sentence-transformers"):
        SentenceTransformersEncoder("house/small")
