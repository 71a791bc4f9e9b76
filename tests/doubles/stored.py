"""Real models for the tests that are marked ``embedded``."""

import os
from pathlib import Path

import pytest

from distinguo.models.store import Store


def stored(name: str) -> Path:
    """The folder of model `name`; the test is skipped where nobody said where models are."""
    models = os.environ.get("DISTINGUO_MODELS")
    if not models:
        pytest.skip("DISTINGUO_MODELS is unset: run make test")
    folder = Store(Path(models)).where(name)
    assert folder is not None, f"{name} is not in {models}: run make test"
    return folder
