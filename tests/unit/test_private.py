"""Private folders, whole files."""

from pathlib import Path

import pytest

from distinguo.private import make_folder, write_whole


def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    before = tmp_path.stat().st_mode
    make_folder(tmp_path / "a" / "b" / "c")
    make_folder(tmp_path / "a" / "b" / "c")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert tmp_path.stat().st_mode == before


def test_a_file_is_private_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    for content in (b"first", b"second"):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_replaced_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_whole(path, b"content")
    assert list(tmp_path.iterdir()) == [path]
