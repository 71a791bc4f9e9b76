"""What the tests of the command line share."""

from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a user whose files lie below it, offline and without any model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISTINGUO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DISTINGUO_OFFLINE", "1")
    for name in ("DISTINGUO_MODELS", "DISTINGUO_CACHE", "DISTINGUO_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
