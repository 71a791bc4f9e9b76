"""Puts documents aside, on the disk when they are many, until it is known what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple
from tempfile import SpooledTemporaryFile
from typing import Final, final

from distinguo.records import Document, Section

_IN_MEMORY: Final = 16 * 2**20  # bytes


@final
class Waiting:
    """Documents in the order in which they were put aside. Only this process can read what is on the disk."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="\n")  # noqa: SIM115

    def put(self, document: Document) -> None:
        """Put `document` aside."""
        self._file.write(json.dumps(astuple(document)) + "\n")

    def take(self) -> Iterator[Document]:
        """Everything that was put aside; nothing can be put after it."""
        self._file.seek(0)
        with self._file:
            for line in self._file:
                id_, text, title, source, meta, sections, stamp = json.loads(line)
                yield Document(
                    id_,
                    text,
                    title,
                    source,
                    tuple((field, value) for field, value in meta),
                    tuple(Section(*section) for section in sections),
                    stamp,
                )

    def close(self) -> None:
        """Forget everything."""
        self._file.close()
