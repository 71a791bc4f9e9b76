from pathlib import Path

import pytest

from distinguo.backends.index import recent
from distinguo.backends.index.index import Index
from distinguo.backends.index.recent import Recent
from distinguo.backends.index.truth import FILE, Truth
from distinguo.indexing.build import Recipe
from distinguo.records import Document
from distinguo.testing import HashEncoder, WordTokeniser
from doubles.indexed import put


@pytest.fixture
def truth(tmp_path: Path):
    recipe = Recipe(HashEncoder(8), WordTokeniser())
    with Index.make(tmp_path, recipe.fingerprint) as index:
        put(index, [Document(f"d{n}", f"text {n}") for n in range(9)], recipe)
    truth = Truth.open(tmp_path / FILE)
    yield truth
    truth.close()


@pytest.mark.parametrize("kind", ["keys", "rows"])
def test_what_was_read_is_not_read_again(truth: Truth, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []
    read = getattr(truth, kind)
    monkeypatch.setattr(Truth, kind, lambda _, numbers: asked.append(list(numbers)) or read(numbers))
    find = getattr(Recent(truth, truth.sequence), kind)
    assert [item.id for item in find([3, 1])] == ["d2#1", "d0#1"]
    assert [item.id for item in find([1, 999, 2])] == ["d0#1", "d1#1"]
    assert asked == [[3, 1], [999, 2]]


@pytest.mark.parametrize("kind", ["keys", "rows"])
def test_it_forgets_rather_than_grow(truth: Truth, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, f"_MOST_{kind.upper()}", 2)
    found = Recent(truth, truth.sequence)
    for numbers in ([1, 2, 3], [3, 4, 5], [1, 9]):
        assert [item.number for item in getattr(found, kind)(numbers)] == numbers
    assert len(getattr(found, f"_{kind}")) <= 3
