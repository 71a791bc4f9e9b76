"""The converted copy of a model file: whole or not there, and never of another file."""

import os
from collections import namedtuple
from pathlib import Path

import pytest

from distinguo.backends.llm.openvino_copy import load_kept

Usage = namedtuple("Usage", "total used free")


class Loader:
    """Loads nothing, and remembers from where."""

    def __init__(self, *, fails: bool = False) -> None:
        self.paths: list[Path] = []
        self.fails = fails

    def __call__(self, path: Path, *, save: bool) -> str:
        self.paths.append(path)
        if save:
            (path.parent / "openvino_model.xml").write_text("converted", encoding="utf-8")
            if self.fails:
                raise RuntimeError("disk full")
        return "pipeline"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


def around(model: Path) -> list[str]:
    return sorted(path.name for path in model.parent.iterdir())


def test_the_first_load_leaves_a_copy_and_the_second_uses_it(model: Path) -> None:
    loader = Loader()
    assert load_kept(model, loader) == "pipeline"
    assert around(model) == ["model.gguf", "model.openvino"]
    assert sorted(path.name for path in (model.parent / "model.openvino").iterdir()) == [
        "made-from",
        "openvino_model.xml",
    ]
    assert load_kept(model, loader) == "pipeline"
    assert loader.paths[-1] == model.parent / "model.openvino"


def test_another_file_under_the_same_name_is_converted_anew(model: Path) -> None:
    loader = Loader()
    load_kept(model, loader)
    model.write_bytes(b"GGUF of another")
    load_kept(model, loader)
    assert loader.paths[-1].name == "model.gguf"
    load_kept(model, loader)
    assert loader.paths[-1].name == "model.openvino"
    assert around(model) == ["model.gguf", "model.openvino"]


def test_a_copy_without_its_stamp_is_not_trusted(model: Path) -> None:
    (model.parent / "model.openvino").mkdir()
    loader = Loader()
    load_kept(model, loader)
    assert loader.paths[0].name == "model.gguf"


def test_a_conversion_that_fails_leaves_nothing_and_the_file_is_loaded(model: Path) -> None:
    loader = Loader(fails=True)
    assert load_kept(model, loader) == "pipeline"
    assert loader.paths[-1] == model
    assert around(model) == ["model.gguf"]


def test_no_copy_is_tried_where_the_disk_has_no_room(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(10, 10, 0))
    loader = Loader()
    load_kept(model, loader)
    assert loader.paths == [model]
    assert around(model) == ["model.gguf"]


def test_a_folder_that_cannot_be_written_is_no_hindrance(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str, mode: int = 0o777) -> None:
        raise PermissionError(13, "read-only", path)

    monkeypatch.setattr(os, "mkdir", refused)
    loader = Loader()
    assert load_kept(model, loader) == "pipeline"
    assert loader.paths == [model]


def test_a_missing_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_kept(tmp_path / "no.gguf", Loader())
