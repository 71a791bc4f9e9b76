from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from distinguo.backends.index.index import Index
from distinguo.documents.chunking import Chunking
from distinguo.documents.readers import Skipped, read
from distinguo.errors import BackendError, ConfigError, DistinguoError, MismatchError
from distinguo.indexing.build import Recipe, build
from distinguo.records import Condition, Document, Role
from distinguo.testing import HashEncoder, WordTokeniser


@dataclass
class Counting:
    """An encoder that remembers what it was asked, and fails at a word."""

    fingerprint: str = "counting"
    dimension: int = 256
    asked: list[str] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    def encode(self, texts: Sequence[str], role: Role):
        assert role == "passage"
        if any("poison" in text for text in texts):
            raise BackendError("poisoned")
        self.asked += texts
        self.batches.append(len(texts))
        return HashEncoder(self.dimension).encode(texts, role)


@pytest.fixture
def recipe() -> Recipe:
    return Recipe(Counting(), WordTokeniser(), Chunking(4, 0), batch=3)


@pytest.fixture
def index(tmp_path: Path, recipe: Recipe) -> Iterator[Index]:
    with Index.make(tmp_path / "index", recipe.fingerprint) as index:
        yield index


def _documents(**texts: str) -> list[Document]:
    return [Document(id_, text, source=f"{id_}.txt") for id_, text in texts.items()]


def test_a_report_accounts_for_everything(index: Index, recipe: Recipe) -> None:
    items = [
        *_documents(a="One two. Three four five.", b="Six."),
        Skipped("c.pdf", "no reader"),
        *_documents(a="again", d=" \n "),
    ]
    report = build(index, items, recipe)
    assert (report.added, report.changed, report.unchanged, report.deleted) == (2, 0, 0, 0)
    assert (report.documents, report.passages, report.embedded) == (2, 3, 3)
    assert [skipped.source for skipped in report.skipped] == ["c.pdf", "a.txt", "d.txt"]
    assert report.seconds >= 0
    assert (index.count(), index.check()) == (3, ())


def test_what_is_unchanged_costs_nothing(index: Index, recipe: Recipe) -> None:
    documents = _documents(a="One two.", b="Three four.")
    build(index, documents, recipe)
    recipe.encoder.asked.clear()
    report = build(index, documents, recipe)
    assert (report.unchanged, report.added, report.embedded) == (2, 0, 0)
    assert recipe.encoder.asked == []


def test_of_a_changed_document_only_new_passages_are_embedded(index: Index, recipe: Recipe) -> None:
    build(index, _documents(a="One two three four. Old text stands here."), recipe)
    recipe.encoder.asked.clear()
    report = build(index, _documents(a="Before it all. One two three four. New text stands here."), recipe)
    assert (report.changed, report.passages, report.embedded) == (1, 3, 2)
    assert recipe.encoder.asked == ["Before it all.", "New text stands here."]
    assert [p.text for p, _ in index.lexical([("text", 1.0)], 9)] == ["New text stands here."]


def test_equal_texts_are_embedded_once(index: Index, recipe: Recipe) -> None:
    report = build(index, _documents(a="Same.", b="Same.", c="Same."), recipe)
    assert (report.passages, report.embedded, index.count()) == (3, 1, 3)


def test_the_encoder_sees_no_more_than_a_batch(index: Index, recipe: Recipe) -> None:
    long = " ".join(f"Sentence number {n} here." for n in range(10))
    build(index, _documents(a=long, b="Short.", c="Also short."), recipe)
    assert max(recipe.encoder.batches) == 3
    assert index.count() == 12


def test_documents_that_are_gone_stay_or_go_as_is_said(index: Index, recipe: Recipe) -> None:
    build(index, _documents(a="One.", b="Two."), recipe)
    assert build(index, _documents(a="One."), recipe).deleted == 0
    assert index.hashes().keys() == {"a", "b"}
    assert build(index, _documents(a="One."), recipe, missing="delete").deleted == 1
    assert index.hashes().keys() == {"a"}
    assert index.check() == ()


def test_a_failing_encoder_loses_nothing_committed_and_is_asked_nothing_twice(
    index: Index, recipe: Recipe
) -> None:
    documents = _documents(a="One.", b="Two.", c="Three.", d="Four poison.", e="Five.")
    with pytest.raises(BackendError, match="poisoned"):
        build(index, documents, recipe)
    assert index.hashes().keys() == {"a", "b", "c"}
    assert index.check() == ()
    documents[3] = Document("d", "Four.")
    build(index, documents, recipe)
    assert sorted(recipe.encoder.asked) == ["Five.", "Four.", "One.", "Three.", "Two."]


def test_progress_counts_documents(index: Index, recipe: Recipe) -> None:
    seen: list[tuple[int, int]] = []
    items = [*_documents(a="One.", b="Two."), Skipped("c", "why")]
    build(index, items, recipe, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    seen.clear()
    build(index, iter(items), recipe, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 0)


def test_no_documents_make_an_empty_index(index: Index, recipe: Recipe) -> None:
    assert build(index, [], recipe).documents == 0
    assert index.lexical([("word", 1.0)], 5) == ()
    assert index.check() == ()


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (Recipe(HashEncoder(), WordTokeniser(), Chunking(4, 0)), "encoder"),
        (Recipe(Counting(dimension=8), WordTokeniser(), Chunking(4, 0)), "dimension"),
        (Recipe(Counting(), WordTokeniser("other words"), Chunking(4, 0)), "tokeniser"),
        (Recipe(Counting(), WordTokeniser(), Chunking(4, 1)), "chunking"),
    ],
    ids=["encoder", "dimension", "tokeniser", "chunking"],
)
def test_another_recipe_is_refused(tmp_path: Path, index: Index, other: Recipe, part: str) -> None:
    index.close()
    with pytest.raises(MismatchError, match=rf"the {part} .*--rebuild"):
        Index.make(tmp_path / "index", other.fingerprint)


def test_an_encoder_that_gives_too_few_vectors_is_an_error(index: Index, recipe: Recipe) -> None:
    recipe.encoder.encode = lambda texts, role: []
    with pytest.raises(DistinguoError, match="0 vectors for 1 texts"):
        build(index, _documents(a="One."), recipe)


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="batch"):
        Recipe(Counting(), WordTokeniser(), batch=0)


def test_a_folder_becomes_searchable(tmp_path: Path, index: Index, recipe: Recipe) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Fever guide\n\nDrink water.", encoding="utf-8")
    report = build(index, read(tmp_path / "docs"), recipe)
    assert report.added == 1
    (passage, _), *_ = index.lexical([("water", 1.0)], 1)
    assert (passage.document, passage.source, passage.title) == (
        "guide.md",
        str(tmp_path / "docs" / "guide.md"),
        "Fever guide",
    )


def _folder(place: Path, text: str) -> Path:
    place.mkdir(parents=True)
    (place / "notes.md").write_text(text, encoding="utf-8")
    return place


def test_two_files_of_one_name_never_take_each_others_place(
    tmp_path: Path, index: Index, recipe: Recipe
) -> None:
    one, two = _folder(tmp_path / "x" / "t", "Alpha."), _folder(tmp_path / "y" / "t", "Beta.")
    build(index, read(one), recipe)
    (skipped,) = build(index, read(two), recipe).skipped
    assert skipped.source == str(two / "notes.md")
    assert str(one / "notes.md") in skipped.reason
    assert [p.text for p in index.passages(["notes.md#1"])] == ["Alpha."]
    assert build(index, read(one / ".." / "t"), recipe).skipped == ()
    assert build(index, read(two), recipe, missing="delete").changed == 1


def test_a_moved_or_changed_file_takes_its_own_place(tmp_path: Path, index: Index, recipe: Recipe) -> None:
    build(index, read(_folder(tmp_path / "x", "Alpha.")), recipe)
    (tmp_path / "x").rename(tmp_path / "y")
    report = build(index, read(tmp_path / "y"), recipe)
    assert (report.changed, report.embedded, report.skipped) == (1, 0, ())
    (tmp_path / "y" / "notes.md").write_text("Gamma.", encoding="utf-8")
    assert build(index, read(tmp_path / "y"), recipe).changed == 1


def test_a_document_that_no_index_takes_is_skipped_and_spoils_no_other(index: Index, recipe: Recipe) -> None:
    bad = Document("bad", "text", meta=(("x", float("inf")),))
    report = build(index, [bad, Document("good", "text")], recipe)
    assert (report.added, len(report.skipped)) == (1, 1)
    assert index.hashes().keys() == {"good"}


def test_many_fields_cost_little(index: Index, recipe: Recipe) -> None:
    meta = tuple((f"field {n:03}", n) for n in range(300))
    build(index, [Document("a", "text", meta=meta)], recipe)  # with an engine index for each: minutes
    (found,) = index.lexical([("text", 1.0)], 5, where=[Condition("field 299", ">", 298)])
    assert found[0].document == "a"
