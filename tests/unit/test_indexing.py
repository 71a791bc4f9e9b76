from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from distinguo.backends.index.index import Index
from distinguo.backends.index.rows import Change
from distinguo.documents.chunking import Chunking
from distinguo.documents.readers import Skipped, read
from distinguo.errors import BackendError, ConfigError, DataError, DistinguoError, MismatchError
from distinguo.indexing.build import Recipe, build
from distinguo.indexing.sorting import Folded
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


def test_equal_passages_of_two_documents_are_embedded_once(index: Index, recipe: Recipe) -> None:
    report = build(index, _documents(a="Same as it was. One.", b="Same as it was. Two."), recipe)
    assert (report.passages, report.embedded, index.count()) == (4, 3, 4)


def test_of_documents_of_the_same_words_one_is_indexed(index: Index, recipe: Recipe) -> None:
    report = build(index, _documents(b="The same.", c="the SAME", a="The  same!", d="The same 1."), recipe)
    assert (report.added, report.documents, report.passages) == (2, 2, 2)
    assert report.folded == (Folded("b.txt", "b", "a"), Folded("c.txt", "c", "a"))
    assert report.skipped == ()
    assert index.hashes().keys() == {"a", "d"}
    assert index.check() == ()


def test_a_twin_takes_the_place_of_one_that_changes_or_goes(index: Index, recipe: Recipe) -> None:
    build(index, _documents(a="The same.", b="The same."), recipe)
    assert index.hashes().keys() == {"a"}
    report = build(index, _documents(b="The same.", a="Another one."), recipe)
    assert (report.added, report.changed, report.folded) == (1, 1, ())
    assert {p.text for p in index.passages(["a#1", "b#1"])} == {"Another one.", "The same."}
    report = build(index, _documents(c="the same", b="Another one."), recipe, missing="delete")
    assert (report.added, report.changed, report.deleted) == (1, 1, 1)
    assert index.hashes().keys() == {"b", "c"}
    assert index.check() == ()


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
    seen: list[tuple[str, int, int]] = []
    items = [*_documents(a="One.", b="Two."), Skipped("c", "why")]
    build(index, items, recipe, progress=lambda what, done, total: seen.append((what, done, total)))
    assert seen == [("indexing", done, 3) for done in (1, 2, 3)]
    seen.clear()
    build(index, iter(items), recipe, progress=lambda what, done, total: seen.append((what, done, total)))
    assert seen[-1] == ("indexing", 3, 0)


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


class Mixed:
    """An index that gives every question the same answer."""

    def __init__(self, index: Index, broken: str) -> None:
        self._index, self._broken = index, broken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def dense(self, vector: Any, k: int) -> Any:
        return self._index.dense(vector if self._broken != "dense" else np.ones_like(vector), 1)

    def lexical(self, probes: Any, k: int) -> Any:
        return self._index.lexical(probes if self._broken != "lexical" else [("sentence", 1.0)], 1)


@pytest.mark.parametrize("broken", ["dense", "lexical", "nothing"])
def test_an_index_that_answers_with_something_else_is_found_out(
    index: Index, recipe: Recipe, broken: str
) -> None:
    documents = _documents(**{f"d{n}": f"This sentence says word{n}." for n in range(30)})
    mixed = cast("Index", Mixed(index, broken))
    if broken == "nothing":
        assert build(mixed, documents, recipe).added == 30
    else:
        with pytest.raises(DataError, match=r"does not find 'd.*by their own text.*--rebuild"):
            build(mixed, documents, recipe)


def test_texts_without_words_pass_the_self_test(index: Index, recipe: Recipe) -> None:
    assert build(index, _documents(a="?!", b="the", c="…"), recipe).added == 3


def test_reading_is_never_ahead_of_committing_by_more_than_a_batch(
    index: Index, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = committed = 0
    ahead: list[int] = []
    replace = Index.replace

    def documents() -> Iterator[Document]:
        nonlocal read
        for n in range(50):
            read += 1
            ahead.append(read - committed)
            yield Document(f"d{n:02}", f"Text {n}.")

    def counted(index: Index, changes: Sequence[Change]) -> None:
        nonlocal committed
        replace(index, changes)
        committed += len(changes)

    monkeypatch.setattr(Index, "replace", counted)
    assert build(index, documents(), recipe).added == 50
    assert max(ahead) <= recipe.batch


def test_documents_without_text_are_told_and_questions_find_nothing(index: Index, recipe: Recipe) -> None:
    report = build(index, _documents(a="", b="   \n"), recipe)
    assert [(skipped.source, skipped.reason) for skipped in report.skipped] == [
        ("a.txt", "empty"),
        ("b.txt", "empty"),
    ]
    assert index.lexical([("word", 1.0)], 5) == ()
    assert index.dense(np.ones(recipe.encoder.dimension, "f4"), 5) == ()


def test_after_a_deletion_the_others_are_found_as_they_are(index: Index, recipe: Recipe) -> None:
    documents = _documents(a="First apple.", b="Second pear.", c="Third plum.")
    build(index, documents, recipe)
    build(index, documents[1:], recipe, missing="delete")
    (found,) = index.lexical([("plum", 1.0)], 5)
    assert (found[0].document, found[0].text) == ("c", "Third plum.")
    (vector,) = HashEncoder(256).encode(["plum third"], "query")
    assert index.dense(vector, 1)[0][0].document == "c"
    assert index.lexical([("apple", 1.0)], 5) == ()
    assert index.check() == ()
