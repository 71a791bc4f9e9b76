"""What a configuration says of models: identities and keys."""

import pytest

from distinguo.config.models import openai
from distinguo.errors import ConfigError


def test_the_identity_of_a_model_holds_no_secret() -> None:
    model = openai("http://bob:PW@example.test:8000/v1?api-key=Q#F", "double")
    assert model.identity == "openai http://example.test:8000/v1 double"


@pytest.mark.parametrize("key", ["sk-secret", "two words", "1st", "a\nb", "sk_secret\n"])
def test_a_key_in_place_of_its_variable_is_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError, match="environment variable") as caught:
        openai("http://example.test/v1", "double", key_env=key)
    assert key not in str(caught.value)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ConfigError, match="'NO_SUCH_KEY'"):
        openai("http://example.test/v1", "double", key_env="NO_SUCH_KEY")
