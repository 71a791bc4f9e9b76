"""``distinguo models``, ``cache``, ``doctor`` and ``--version``."""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from distinguo.cli.main import run
from distinguo.models.catalogue import MODELS
from doubles.command import distinguo
from doubles.house import house


@pytest.fixture(autouse=True)
def quiet_again() -> Iterator[None]:
    before = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:], logging.root.level = before


def test_list_shows_every_model_with_licence_size_and_state(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distinguo("models", "list", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(MODELS)
    assert {row["state"] for row in rows} == {"absent"}
    assert distinguo("models", "list") == 0
    assert re.search(
        r"qwen2\.5-coder-1\.5b-instruct +llm +Apache-2\.0 +1,117 +absent", capsys.readouterr().out
    )


def test_where_is_a_folder_or_the_way_to_get_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("models", "where") == 0
    assert capsys.readouterr().out == f"{here / 'home' / 'models'}\n"
    assert distinguo("models", "where", "smollm2-135m-instruct") == 1
    assert "distinguo models get smollm2-135m-instruct" in capsys.readouterr().err


def test_a_file_of_a_wrong_hash_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine.gguf").write_bytes(b"not a model")
    assert distinguo("models", "get", "smollm2-135m-instruct", "--from", "mine.gguf") == 1
    complaint = capsys.readouterr().err
    assert "mine.gguf" in complaint
    assert not (here / "home" / "models" / "smollm2-135m-instruct" / "model.gguf").exists()
    assert distinguo("models", "get", "--from", "mine.gguf") == 2


def test_offline_a_missing_model_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("models", "get") == 2
    assert "offline" in capsys.readouterr().err
    (here / "a.txt").write_text("The gate is white.", encoding="utf-8")
    assert distinguo("index", "a.txt") == 2
    assert "all-minilm-l6-v2-int8" in capsys.readouterr().err


def test_a_sound_index_passes_the_doctor(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with house(here):
        assert distinguo("index", "corpus") == 0
        capsys.readouterr()
        distinguo("doctor")
        assert "✓ index default: 2 passages, sound" in capsys.readouterr().out
        (here / "home" / "indexes" / "default" / "truth.sqlite").write_bytes(b"torn")
        assert distinguo("doctor") == 1
        assert "✗ index default" in capsys.readouterr().out


def test_the_doctor_asks_for_what_the_configuration_uses(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with house(here):
        assert distinguo("index", "corpus") == 0
        (here / "home" / "indexes" / ".DS_Store").write_bytes(b"\0")
        (here / "home" / "indexes" / ".trash").mkdir()
        (here / "home" / "indexes" / "former").mkdir()
        capsys.readouterr()
        assert distinguo("doctor") == 0
    printed = capsys.readouterr().out
    assert "model" not in printed.replace(str(here), "")
    assert "✓ index former: not in this configuration" in printed
    assert "DS_Store" not in printed


def test_the_doctor_tells_a_wrong_configuration_and_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "distinguo.toml").write_text("[method]\nname = 'hybrid'\nllm = 'mine'", encoding="utf-8")
    assert distinguo("doctor") == 1
    printed = capsys.readouterr().out
    assert "✗ configuration: method.llm: there is no language model 'mine'" in printed
    assert "✓ cache" in printed


def test_caches_of_the_system_count_as_free_memory(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from distinguo.cli import doctor

    (here / "meminfo").write_text("MemFree:   1 kB\nMemAvailable:   7000000 kB\n", encoding="ascii")
    monkeypatch.setattr(doctor, "MEMINFO", here / "meminfo")
    distinguo("doctor")
    assert "✓ memory: 7.2 GB free" in capsys.readouterr().out
    (here / "meminfo").write_text("MemAvailable:   70000 kB\n", encoding="ascii")
    distinguo("doctor")
    assert "✗ memory: 0.1 GB free" in capsys.readouterr().out


def test_cache_clear_can_keep_what_is_new(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with house(here):
        assert distinguo("index", "corpus") == 0
        assert distinguo("ask", "Which gate?") == 0
    capsys.readouterr()
    assert distinguo("cache", "clear", "--older-than", "1") == 0
    assert distinguo("cache", "info") == 0
    printed = capsys.readouterr().out
    assert "0 replies forgotten" in printed
    assert ": 1 replies" in printed


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert distinguo("--version") == 0
    assert re.fullmatch(r"distinguo \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_debug_may_stand_anywhere_and_shows_the_traceback(here: Path) -> None:
    from distinguo.errors import DataError

    with pytest.raises(DataError):
        run(["--debug", "show", "last"])
    with pytest.raises(DataError):
        run(["show", "last", "--debug"])
    with pytest.raises(DataError):
        run(["show", "--debug", "last"])
    assert distinguo("show", "--", "--debug") == 1, "after -- it is a trace's name"
