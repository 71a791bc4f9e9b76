"""Plain text."""

from __future__ import annotations

from collections.abc import Iterator

from distinguo.documents.drafting import stem
from distinguo.documents.encodings import decoded
from distinguo.records import Document


def read(content: bytes, name: str) -> Iterator[Document]:
    """The text as it stands."""
    yield Document(id=name, text=decoded(content), title=stem(name), source=name)
