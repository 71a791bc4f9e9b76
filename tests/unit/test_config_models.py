"""What a configuration can say of models, where no model is needed to try it."""

from pathlib import Path

import pytest

from distinguo.backends.embedding.openai import OpenAIEncoder
from distinguo.backends.llm.llamacpp import LlamaCppLLM
from distinguo.config import models
from distinguo.config.models import Shelf
from distinguo.errors import ConfigError
from distinguo.models.store import Store


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(Store(tmp_path / "models", offline=True))


def test_a_gguf_file_of_the_users_is_told_from_its_next_version(tmp_path: Path, shelf: Shelf) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"one")
    first = models.llamacpp(str(path), shelf)
    assert isinstance(first.llm, LlamaCppLLM)
    path.write_bytes(b"another")
    assert models.llamacpp(str(path), shelf).identity != first.identity


def test_a_file_that_is_not_there_is_named(tmp_path: Path, shelf: Shelf) -> None:
    with pytest.raises(ConfigError, match=r"none\.gguf"):
        models.llamacpp(str(tmp_path / "none.gguf"), shelf)


@pytest.mark.parametrize("factory", [models.openvino, models.llamacpp, models.minilm])
def test_a_model_of_the_catalogue_is_not_fetched_while_offline(factory: type, shelf: Shelf) -> None:
    with pytest.raises(ConfigError, match="smollm2-135m-instruct"):
        factory("smollm2-135m-instruct", shelf)


def test_a_remote_encoder_gets_every_setting() -> None:
    encoder = models.openai_encoder(
        "http://localhost:1/v1", "e5", 8, query_prefix="query: ", passage_prefix="passage: ", stall=3, total=5
    ).encoder
    assert isinstance(encoder, OpenAIEncoder)
    assert (encoder.query_prefix, encoder.passage_prefix) == ("query: ", "passage: ")
    assert (encoder.stall, encoder.total) == (3, 5)


def test_the_key_is_read_from_the_named_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_KEY", "secret")
    assert "secret" not in repr(models.openai("http://localhost:1/v1", "m", key_env="HOUSE_KEY"))


def test_the_identity_of_a_model_holds_no_secret() -> None:
    model = models.openai("http://bob:PW@example.test:8000/v1?api-key=Q#F", "double")
    assert model.identity == "openai http://example.test:8000/v1 double"


@pytest.mark.parametrize("key", ["sk-secret", "two words", "1st", "a\nb", "sk_secret\n"])
def test_a_key_in_place_of_its_variable_is_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError, match="environment variable") as caught:
        models.openai("http://example.test/v1", "double", key_env=key)
    assert key not in str(caught.value)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ConfigError, match="'NO_SUCH_KEY'"):
        models.openai("http://example.test/v1", "double", key_env="NO_SUCH_KEY")
