"""Puts documents into an index just as they are: those of the same words too, which a build folds."""

from collections.abc import Iterable

from distinguo.backends.index.index import Index
from distinguo.backends.index.rows import Change, content_of, searchable
from distinguo.documents.chunking import chunk
from distinguo.indexing.build import Recipe
from distinguo.records import Document


def put(index: Index, documents: Iterable[Document], recipe: Recipe) -> None:
    """Commit `documents`, all at once."""
    changes = [Change(document, chunk(document, recipe.chunking, recipe.tokeniser)) for document in documents]
    texts = {content_of(passage): searchable(passage) for change in changes for passage in change.passages}
    index.keep_vectors(list(zip(texts, recipe.encoder.encode(list(texts.values()), "passage"), strict=True)))
    index.replace(changes)
