"""Where files lie, and how that is moved."""

from pathlib import Path

import pytest

from distinguo.config.places import Places
from distinguo.errors import ConfigError


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


def test_a_folder_of_nobody_is_named_with_its_variable() -> None:
    with pytest.raises(ConfigError, match=r"DISTINGUO_CACHE: cannot tell where '~nosuch/x' is"):
        Places.of({"DISTINGUO_HOME": "/h", "DISTINGUO_CACHE": "~nosuch/x"})


def test_a_relative_folder_in_a_folder_that_is_gone_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigError, match="DISTINGUO_HOME: cannot tell where 'x' is"):
        Places.of({"DISTINGUO_HOME": "x"})


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # what it does where nobody is known
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    with pytest.raises(ConfigError, match="set DISTINGUO_HOME"):
        Places.of({})


def test_sets_lie_where_the_environment_says_or_beside_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    assert Places.of({"DISTINGUO_HOME": "/h"}).data is None
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert Places.of({"DISTINGUO_HOME": "/h"}).data == tmp_path / "checkout" / ".." / "shared" / "data"
    assert Places.of({"DISTINGUO_HOME": "/h", "DISTINGUO_DATA": "/d"}).data == Path("/d")
