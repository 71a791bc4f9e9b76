"""Configuration files: mistakes are named by their path, with the nearest name."""

import tomllib
from pathlib import Path

import pytest

from distinguo.config.settings import Settings
from distinguo.config.starter import STARTER
from distinguo.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[metod]\n", "metod: unknown setting; did you mean 'method'?"),
        ("[limits]\nmax_call = 1", "limits.max_call: unknown setting; did you mean 'max_calls'?"),
        ("[limits]\nmax_calls = 1.5", "limits.max_calls: 1.5 is not a whole number"),
        ("[limits]\nmax_calls = true", "limits.max_calls: True is not a whole number"),
        (
            "[indexes.a]\nchunk_token = 9",
            "indexes.a.chunk_token: unknown setting; did you mean 'chunk_tokens'?",
        ),
        ("[models.a]\nllm = 3", "models.a.llm: 3 is not text or a table"),
        ("[models]\na = 3", "models.a: 3 is not a table"),
        ("method = 3", "method: 3 is not a table"),
        ("x = ", "mine.toml is not TOML"),
        (f"x = {'[' * 3000}{']' * 3000}", "mine.toml is not TOML"),
        (f"x = {'9' * 5000}", "mine.toml is not TOML"),
        ("[limits]\nmax_calls = -1", "limits.max_calls: -1 is not a whole number from 0"),
        ("[limits]\ncalls_in_flight = 0", "limits.calls_in_flight: 0 is not a whole number from 1"),
        ("[indexes.a]\nchunk_tokens = 0", "indexes.a.chunk_tokens: 0 is not a whole number from 1"),
        ("[indexes.a]\nchunk_overlap = 200", "indexes.a: chunking: 'overlap' is 200; expected 0 to 199"),
        ('[indexes."../../escaped"]', "indexes: '../../escaped' is not the name of an index"),
        ('[indexes.""]', "indexes: '' is not the name of an index"),
        ('[indexes.".hidden"]', "indexes: '.hidden' is not the name of an index"),
        ('[indexes."a/b"]', "indexes: 'a/b' is not the name of an index"),
    ],
)
def test_a_mistake_is_named_by_its_path(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.parse(text, source="mine.toml")
    assert message in str(caught.value)


def test_what_is_left_out_is_as_in_the_starter() -> None:
    starter = Settings.parse()
    assert Settings.parse("", source=starter.source) == starter
    partial = Settings.parse('[models.mine]\nllm = "other"')
    assert partial.models["default"] == starter.models["default"]
    assert partial.models["mine"].llm == "other"


def test_the_starter_states_every_section() -> None:
    assert list(tomllib.loads(STARTER)) == ["models", "indexes", "method", "limits"]


def test_a_file_is_read_with_a_byte_order_mark_and_refused_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "distinguo.toml"
    path.write_text('[method]\nname = "dense"', encoding="utf-8-sig")
    assert Settings.load(path).method == {"name": "dense"}
    path.write_bytes(b'[method]\nname = "\x81"')
    with pytest.raises(ConfigError, match=r"distinguo\.toml"):
        Settings.load(path)
    with pytest.raises(ConfigError, match="distinguo init"):
        Settings.load(tmp_path / "none.toml")
