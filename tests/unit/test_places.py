"""Where files lie, and how that is moved."""

from pathlib import Path

import pytest

from distinguo.config.places import Places


def test_the_environment_moves_all_or_parts(tmp_path: Path) -> None:
    all_moved = Places.of({"DISTINGUO_HOME": str(tmp_path)})
    assert (all_moved.models, all_moved.cache) == (tmp_path / "models", tmp_path / "cache")
    assert (all_moved.indexes, all_moved.traces) == (tmp_path / "indexes", tmp_path / "traces")
    parts = Places.of({"DISTINGUO_HOME": str(tmp_path), "DISTINGUO_MODELS": "/m", "DISTINGUO_CACHE": "/c"})
    assert (parts.home, parts.models, parts.cache) == (tmp_path, Path("/m"), Path("/c"))


def test_a_relative_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Places.of({"DISTINGUO_HOME": "here"}).home == tmp_path / "here"


def test_without_an_environment_it_is_the_users_data_folder() -> None:
    assert Places.of({}).home.name == "distinguo"


def test_a_moved_home_keeps_the_models(tmp_path: Path) -> None:
    moved = Places.of({"DISTINGUO_MODELS": "/m", "DISTINGUO_CACHE": "/c"}).moved(tmp_path)
    assert (moved.home, moved.cache, moved.models) == (tmp_path, tmp_path / "cache", Path("/m"))


@pytest.mark.parametrize(("value", "is_offline"), [("", False), ("0", False), ("1", True), ("yes", True)])
def test_offline(value: str, is_offline: bool) -> None:
    assert Places.of({"DISTINGUO_OFFLINE": value}).is_offline is is_offline
