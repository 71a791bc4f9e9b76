"""The places that documents come from: files, folders, and pages of the web."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final, final
from urllib.parse import unquote, urlsplit

from distinguo.backends.web.fetch import Page, fetch, page_url
from distinguo.documents.encodings import decoded
from distinguo.documents.found import Read, Skipped
from distinguo.documents.readers import READERS, read, read_bytes
from distinguo.errors import BackendError, ConfigError, DataError
from distinguo.indexing.sorting import Known
from distinguo.records import Document

Fetch = Callable[[str], Coroutine[None, None, Page]]

_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_LINE: Final = re.compile(r"(?<=\.jsonl):\d+\Z|#line=\d+\Z", re.IGNORECASE)
_KINDS: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "message/rfc822": ".eml",
    "application/x-tex": ".tex",
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
}
"""Kinds of documents by media type. Others say too little (``text/plain``) to go before a name's ending."""

_MANY: Final = ".jsonl"  # one of these may hold any number of documents
_OWN_ENCODINGS: Final = (".pdf", ".docx", ".eml")  # kinds that say inside what they are encoded in


def root_of(given: Path | str) -> str:
    """A place as it is remembered: a whole path, or a whole address. Raises `ConfigError`."""
    if not str(given).strip():  # an unset variable of a script, say: not the current folder
        raise ConfigError(f"{str(given)!r} names no place; expected a file, a folder or an address")
    if _is_url(str(given)):
        return page_url(str(given))
    return os.path.abspath(given)  # noqa: PTH100  resolve() would follow a link that is moved on later


def there(given: Path | str) -> str:
    """`root_of` what is there. Raises `DataError` for a path where nothing is."""
    root = root_of(given)
    if not _is_url(root) and not os.path.lexists(root):
        hint = "; of addresses, http://… and https://… are read" if _SCHEME.match(str(given)) else ""
        raise DataError(f"nothing to read at {str(given)!r}: no such file or folder{hint}")
    return root


def file_of(source: str) -> str:
    """The file or address of a document's source, which may say a line too."""
    return _LINE.sub("", source)


def is_under(place: str, root: str) -> bool:
    """Whether `place` is `root`, or lies below it."""
    return place == root or place.startswith(f"{root.rstrip('/')}/")


@final
class Sources:
    """One reading of files, folders and pages.

    Attributes:
        roots: the places, as `root_of` writes them.
        known: what the index has, so that what is unchanged need not be parsed.
        stale: ids of documents that stay although they were not read, because their files or roots were
            skipped; known once `lost` was asked.
    """

    def __init__(self, roots: Sequence[str], known: Known, *, fetch: Fetch = fetch) -> None:
        self.roots, self.known, self._fetch = tuple(dict.fromkeys(roots)), known, fetch
        self._ids = {source: id_ for id_, source in known.sources.items() if file_of(source) == source}
        self._whole: list[str] = []  # roots that were read to the end
        self._absent: set[str] = set()  # roots where nothing is
        self._skipped: set[str] = set()
        self.stale: tuple[str, ...] = ()

    def count(self) -> int:
        """About how many things there are to read; 0 where only reading tells."""
        files = [name for root in self.roots for name in _names(root)]
        return 0 if any(name.lower().endswith(_MANY) for name in files) else len(files)

    def read(self) -> Iterator[Read]:
        """What is there. A root that cannot be reached is skipped, like a file that cannot be read."""
        met: set[str] = set()  # sources of documents: a root may lie within another
        for root in self.roots:
            for item in self._of(root):
                match item:
                    case Skipped():
                        self._skipped.add(file_of(item.source))
                        yield item
                    case _ if item.source in met:
                        continue
                    case Document() if _are_two_files(item, self.known.sources.get(item.id, "")):
                        yield Skipped(
                            item.source,
                            f"the id {item.id!r} belongs to {self.known.sources[item.id]}; "
                            "index a folder above both with --rebuild, or keep them in two indexes",
                        )
                    case Document():  # a file keeps its id, whichever of the folders above it is read
                        met.add(item.source)
                        yield replace(item, id=self._ids.get(item.source, item.id))
                    case _:
                        met.add(item.source)
                        yield item

    def lost(self, unmet: Mapping[str, str]) -> set[str]:
        """Those of the documents that were not met (by id, with their sources) of which nothing is left.

        A document lies under a root that was read to the end, and neither its file nor a folder above it was
        skipped: else it is none of these. That a root is not there any more, a root above it tells.
        """
        self._skipped -= {place for place in self._absent if self._is_read(place)}
        files = {id_: file_of(source) for id_, source in unmet.items()}
        ours = {id_ for id_, file in files.items() if any(is_under(file, root) for root in self.roots)}
        gone = {id_ for id_ in ours if self._is_gone(files[id_])}
        self.stale = tuple(sorted(ours - gone))
        return gone

    def _of(self, root: str) -> Iterator[Read]:
        if _is_url(root):
            yield from self._page(root)
            return
        base = Path(root) if _is_folder(root) else Path(root).parent
        count = 0
        try:
            for item in read(Path(root), unchanged=self._unchanged()):
                count += 1
                yield replace(item, source=str(base / item.source)) if isinstance(item, Skipped) else item
        except DataError as error:
            if not os.path.lexists(root):
                self._absent.add(root)
            yield Skipped(root, f"{error}; `distinguo remove` forgets this place, and what came from it")
            return
        if not count and any(is_under(source, root) for source in self.known.sources.values()):
            # What a disk that is not mounted looks like.
            reason = "is empty, although documents of the index came from it; `distinguo remove` deletes them"
            yield Skipped(root, reason)
        self._whole.append(root)

    def _unchanged(self) -> Callable[[str, str], str | None]:
        """Tells documents by where they come from and by their stamps.

        Not those that a kill left beside a document of the same words: they are read, and folded.
        """
        known = self.known
        ids = {known.sources[id_]: id_ for id_ in known.essences if known.stamps[id_]}

        def find(source: str, stamp: str) -> str | None:
            id_ = ids.get(source)
            return id_ if id_ is not None and known.stamps[id_] == stamp else None

        return find

    def _page(self, url: str) -> Iterator[Read]:
        try:
            page = asyncio.run(self._fetch(url))
            kind = _kind(page)
            content = _in_utf8(page.content, kind, page.charset)
            for item in read_bytes(content, url, kind=kind, source=url):
                line = item.source.removeprefix(url).replace(":", "#line=")  # addresses may end in a number
                found = replace(item, source=f"{url}{line}")
                # Its bytes may change at every visit; it is parsed anyhow, and its text tells.
                yield replace(found, stamp="") if isinstance(found, Document) else found
        except (BackendError, DataError) as error:
            yield Skipped(url, str(error))
            return
        self._whole.append(url)

    def _is_gone(self, file: str) -> bool:
        above = {file, *map(str, PurePosixPath(file).parents)}
        return not above & self._skipped and self._is_read(file)

    def _is_read(self, place: str) -> bool:
        return any(is_under(place, root) for root in self._whole)


def _is_folder(root: str) -> bool:
    try:
        return Path(root).is_dir()
    except OSError:  # a folder above it is closed to us
        return False


def _names(root: str) -> Iterator[str]:
    """The names of the files in a folder and below it, as far as they are read; else the place itself."""
    if not _is_folder(root):
        yield root
    for _, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from files


def _is_url(root: str) -> bool:
    return bool(_URL.match(root))


def _kind(page: Page) -> str:
    """The kind of document that `page` is. Raises `DataError` if there is no reader for it."""
    ending = PurePosixPath(unquote(urlsplit(page.url).path)).suffix.lower()
    if kind := _KINDS.get(page.type):
        return kind
    if ending in READERS:
        return ending
    if page.type and not page.type.startswith("text/"):
        raise DataError(f"no reader for {page.type!r}")
    return ".txt"


def _in_utf8(content: bytes, kind: str, charset: str) -> bytes:
    """`content` in an encoding that no reader has to guess, if its server named the one that it is in."""
    if not charset or kind in _OWN_ENCODINGS:
        return content
    return decoded(content, charset).encode("utf-8-sig")


def _are_two_files(document: Document, there: str) -> bool:
    """Whether `document` and what lies at `there` are two files, and its id is the end of both paths.

    A file that was moved is one, and an id that a file gives may come from any.
    """
    ending = f"/{document.id}"
    if there == document.source or not (there.endswith(ending) and document.source.endswith(ending)):
        return False
    try:
        return not Path(there).samefile(document.source)
    except (OSError, ValueError):
        return False
