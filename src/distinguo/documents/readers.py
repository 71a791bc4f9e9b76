"""Reads files and folders into documents, one reader per kind of file."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from distinguo.documents.encodings import is_binary
from distinguo.documents.found import Read, Skipped, Unchanged, once, usable
from distinguo.errors import DataError
from distinguo.records import Document

__all__ = ["READERS", "Read", "Skipped", "Unchanged", "once", "read", "read_bytes", "usable"]

READERS: Final = {
    ".txt": "plain:read",
    ".md": "markdown:read",
    ".markdown": "markdown:read",
    ".html": "html:read",
    ".htm": "html:read",
    ".xhtml": "html:read",
    ".pdf": "pdf:read",
    ".docx": "docx:read",
    ".csv": "csv:read",
    ".tsv": "csv:read_tabs",
    ".tex": "tex:read",
    ".rst": "rst:read",
    ".adoc": "asciidoc:read",
    ".asciidoc": "asciidoc:read",
    ".xml": "xml:read",
    ".eml": "eml:read",
    ".jsonl": "jsonl:read",
}
"""The readers in `distinguo.documents.formats`, by the ending of the names of their files."""

VERSION: Final = "2"
"""Of all readers: raised when one of them comes to read otherwise, so that all files are read again."""

LARGEST: Final = 512_000_000
"""Most bytes of a file that is read as a whole; JSON Lines may be of any length."""

_MANY: Final = frozenset({".jsonl"})  # kinds whose files hold many documents
_MAGIC: Final = (  # how files of a kind begin; the suffixes that may begin so
    (b"%PDF-", "a PDF file", {".pdf"}),
    (b"PK\x03\x04", "a zip archive (as Office files are)", {".docx"}),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office file that is encrypted, or of before 2007", set[str]()),
    (b"{\\rtf", "an RTF file", set[str]()),
    (b"\x1f\x8b\x08", "a gzip archive", set[str]()),
    (b"\x89PNG\r\n", "a PNG picture", set[str]()),
    (b"\xff\xd8\xff", "a JPEG picture", set[str]()),
    (b"GIF8", "a GIF picture", set[str]()),
    (b"SQLite format 3\0", "an SQLite database", set[str]()),
)
_LOGGERS: Final = ("pypdf", "trafilatura", "pylatexenc", "docutils", "htmldate", "courlan")

_log: Final = logging.getLogger(__name__)

_Reader = Callable[[bytes, str], Iterator[Read]]


def read(
    path: Path, *, unchanged: Callable[[str, str], str | None] = lambda source, stamp: None
) -> Iterator[Read]:
    """The documents of a file, or of a folder and all below it in the order of their paths.

    Ids are those that a file gives, else paths relative to `path`; an id met before is skipped. Sources of
    documents are absolute, those of what is skipped are relative to `path`. What cannot be read is reported
    as `Skipped` and never fatal. A file of one document is not parsed where ``unchanged(source, stamp)``
    gives the id of the document that is known to have come from it. Raises `DataError` if there is nothing
    at `path`, or it cannot be looked at.
    """
    try:
        is_there, is_folder = path.exists(), path.is_dir()
    except OSError as error:
        raise DataError(f"cannot look at {str(path)!r}: {error.strerror}") from error
    if not is_there:
        raise DataError(f"nothing to read at {str(path)!r}: no such file or folder")
    root = path if is_folder else path.parent
    files = _folder(path, root) if is_folder else iter([path])
    return once(
        item
        for file in files
        for item in ([file] if isinstance(file, Skipped) else _file(file, root, unchanged))
    )


def read_bytes(content: bytes, name: str, *, kind: str, source: str) -> Iterator[Read]:
    """The documents of a file's `content`, as `read` gives them.

    `kind` is the ending that its name would have, such as ".html", and `name` the id of its document.
    """
    stamp = _stamp(content, kind)
    if (reason := _contradiction(content, kind)) is not None:
        yield Skipped(name, reason)
        return
    for item in _parsed(content, name, kind):
        match item:
            case Document() if kind in _MANY:
                yield replace(item, source=f"{source}{item.source.removeprefix(name)}")
            case Document():
                yield replace(item, source=source, stamp=stamp)
            case _:
                yield item


def _folder(folder: Path, root: Path) -> Iterator[Path | Skipped]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        yield Skipped(_name(folder, root), f"unreadable folder: {error.strerror}")
        return
    for entry in entries:
        try:
            is_folder = entry.is_dir()
        except OSError as error:  # a link into a folder that is closed to us, say
            yield Skipped(_name(entry, root), f"unreadable: {error.strerror}")
            continue
        if entry.name.startswith("."):
            yield Skipped(_name(entry, root), "hidden")
        elif not is_folder:
            yield entry
        elif entry.is_symlink():
            yield Skipped(_name(entry, root), "a link to a folder; read that folder itself")
        else:
            yield from _folder(entry, root)


def _file(path: Path, root: Path, unchanged: Callable[[str, str], str | None]) -> Iterator[Read]:
    name, source, kind = _name(path, root), str(path.absolute()), path.suffix.lower()
    try:
        if not path.is_file():
            yield Skipped(name, "neither a file nor a folder, or a link to nothing")
        elif kind not in READERS:
            yield Skipped(name, _no_reader(path))
        elif kind in _MANY:
            yield from _many(path, name, source)
        elif (size := path.stat().st_size) > LARGEST:
            yield Skipped(name, f"{size:,} bytes; expected at most {LARGEST:,}: split it")
        else:
            content = path.read_bytes()
            known = unchanged(source, _stamp(content, kind))
            if known is not None:
                yield Unchanged(source, known)
            else:
                yield from read_bytes(content, name, kind=kind, source=source)
    except OSError as error:
        yield Skipped(name, f"unreadable: {error.strerror}")
    except DataError as error:
        yield Skipped(name, str(error))


def _many(path: Path, name: str, source: str) -> Iterator[Read]:
    """A file of many documents, read line by line: it may be larger than the memory."""
    from distinguo.documents.formats import jsonl

    with path.open("rb") as file:
        if (reason := _contradiction(file.read(1024), path.suffix.lower())) is not None:
            yield Skipped(name, reason)
            return
        file.seek(0)
        for item in map(usable, jsonl.rows(file, name)):
            is_document = isinstance(item, Document)
            yield replace(item, source=f"{source}{item.source.removeprefix(name)}") if is_document else item


def _parsed(content: bytes, name: str, kind: str) -> list[Read]:
    """What the reader of `kind` makes of `content`; whatever a parser raises is a reason."""
    module, _, function = READERS[kind].partition(":")
    reader = cast("_Reader", getattr(import_module(f"distinguo.documents.formats.{module}"), function))
    try:
        with _quiet():
            return [usable(item) for item in reader(content, name)]
    except DataError as error:
        return [Skipped(name, str(error))]
    except Exception as error:  # one file that breaks its parser stops no run
        _log.info("the reader of %s failed on %r", kind, name, exc_info=True)
        return [Skipped(name, f"damaged, or not a {kind} file ({type(error).__name__}: {error!s:.200})")]


@contextmanager
def _quiet() -> Generator[None]:
    """Parsers warn of what they put up with; who listens to their loggers still hears it."""
    handler = logging.NullHandler()
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(handler)


def _contradiction(content: bytes, kind: str) -> str | None:
    """Why `content` is not of the `kind` that its name says; None if nothing speaks against it."""
    if not content:
        return "empty"
    for magic, what, kinds in _MAGIC:
        if content.startswith(magic) and kind not in kinds:
            return f"{what}, though its name ends in {kind!r}"
    if kind == ".pdf" and b"%PDF-" not in content[:1024]:
        return "not a PDF file, though its name says so"
    return None


def _no_reader(path: Path) -> str:
    kind = f"{path.suffix!r} files" if path.suffix else "files without an ending"
    what = ""
    if not path.suffix.startswith(".sqlite"):  # to close one would free the locks that this process has on it
        with path.open("rb") as file:
            what = "binary, and " if is_binary(file.read(4096)) else ""
    return f"{what}no reader for {kind}; there are readers for {', '.join(READERS)}"


def _stamp(content: bytes, kind: str) -> str:
    made = f"{READERS[kind]} {VERSION}\n".encode()
    return blake2b(content, digest_size=16, key=made).hexdigest()


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
