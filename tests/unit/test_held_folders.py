import fcntl
from pathlib import Path

import pytest

from distinguo.backends.index.folders import Held, clear


def _nothing(name: str) -> bool:
    return False


def test_what_is_held_is_not_cleared_and_what_is_let_go_is(tmp_path: Path) -> None:
    held, needed = Held.new(tmp_path), Held.new(tmp_path, "needed-")
    needed.close()
    (tmp_path / "a file").write_text("", encoding="utf-8")
    clear(tmp_path, lambda name: name.startswith("needed-"))
    assert {path.name for path in tmp_path.iterdir()} == {held.path.name, needed.path.name, "a file"}
    held.close()
    held.close()
    clear(tmp_path, _nothing)
    assert [path.name for path in tmp_path.iterdir()] == ["a file"]


def test_two_can_share_a_folder_that_none_then_clears(tmp_path: Path) -> None:
    held = Held.new(tmp_path)
    held.close()
    one, two = Held.shared(held.path), Held.shared(held.path)
    one.close()
    clear(tmp_path, _nothing)
    assert held.path.exists()
    two.remove()
    two.remove()
    assert not held.path.exists()


def test_a_folder_that_is_gone_cannot_be_held(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Held.shared(tmp_path / "gone")


def test_a_folder_that_is_cleared_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process takes what was made and is not yet locked for a dead one's."""
    lock, lost = fcntl.flock, []

    def late(file: int, how: int) -> None:
        if not lost:
            (path,) = tmp_path.iterdir()
            path.rmdir()
            lost.append(path)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    held = Held.new(tmp_path)
    assert held.path.exists()
    assert held.path not in lost


def test_to_clear_what_is_not_there_does_nothing(tmp_path: Path) -> None:
    clear(tmp_path / "none", _nothing)
    assert list(tmp_path.iterdir()) == []
