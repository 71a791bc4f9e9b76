"""Reads files and folders into documents, one reader per kind of file."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Final, cast

from distinguo.documents.found import Read, Skipped, Unchanged, once, usable
from distinguo.errors import DataError
from distinguo.records import Document, Meta, Scalar

_BOMS: Final = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_HEADING: Final = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(\S.*)$|^ {0,3}(\S.*)\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE
)
_FENCED: Final = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
__all__ = ["Read", "Skipped", "Unchanged", "once", "read", "usable"]

_TOO_LARGE: Final = 2**63  # for the index, and for every other reader of JSON
_FRONT_MATTER: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def read(path: Path) -> Iterator[Read]:
    """The documents of a file, or of a folder and all below it in the order of their paths.

    Ids are those that a file gives, else paths relative to `path`; an id met before is skipped. Sources of
    documents are absolute, those of what is skipped are relative to `path`. What cannot be read is reported
    as `Skipped` and never fatal. Raises `DataError` if there is nothing at `path`, or it cannot be looked at.
    """
    try:
        is_there, is_folder = path.exists(), path.is_dir()
    except OSError as error:
        raise DataError(f"cannot look at {str(path)!r}: {error.strerror}") from error
    if not is_there:
        raise DataError(f"nothing to read at {str(path)!r}: no such file or folder")
    root = path if is_folder else path.parent
    found = _folder(path, root) if is_folder else _file(path, root)
    return once(_placed(item, root.absolute()) for item in found)


def _placed(item: Read, root: Path) -> Read:
    return replace(item, source=str(root / item.source)) if isinstance(item, Document) else item


def _folder(folder: Path, root: Path) -> Iterator[Read]:
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
            yield from _file(entry, root)
        elif entry.is_symlink():
            yield Skipped(_name(entry, root), "a link to a folder; read that folder itself")
        else:
            yield from _folder(entry, root)


def _file(path: Path, root: Path) -> Iterator[Read]:
    name, readers = _name(path, root), _readers()
    reader = readers.get(path.suffix.lower())
    if reader is None:
        yield Skipped(
            name, f"no reader for {path.suffix!r} files; there are readers for {', '.join(readers)}"
        )
        return
    try:
        if not path.is_file():
            yield Skipped(name, "neither a file nor a folder, or a link to nothing")
            return
        yield from map(usable, reader(path, name))
    except OSError as error:
        yield Skipped(name, f"unreadable: {error.strerror}")
    except DataError as error:
        yield Skipped(name, str(error))


def _readers() -> dict[str, Callable[[Path, str], Iterator[Read]]]:
    return {".txt": _text, ".md": _markdown, ".markdown": _markdown, ".jsonl": _jsonl}


def _text(path: Path, name: str) -> Iterator[Document]:
    content = path.read_bytes()
    text = _decode(content, _encoding(content)).replace("\r\n", "\n").replace("\r", "\n")
    yield Document(id=name, text=text, title=path.stem, source=name)


def _markdown(path: Path, name: str) -> Iterator[Document]:
    for document in _text(path, name):
        headings = _HEADING.finditer(_FENCED.sub("", _FRONT_MATTER.sub("", document.text)))
        titles = (_unclosed(heading[1]) if heading[1] else heading[2].strip() for heading in headings)
        yield replace(document, title=next(filter(None, titles), document.title))


def _unclosed(heading: str) -> str:
    """`heading` without the number signs that may close it; those of "C#" belong to the word."""
    bare = heading.rstrip().rstrip("#")
    return bare.strip() if not bare or bare[-1] in " \t" else heading.strip()


def _jsonl(path: Path, name: str) -> Iterator[Read]:
    """One JSON object a line: `_id` or `id`, `title`, `text`, `metadata` or `meta`."""
    for number, line in enumerate(_lines(path), 1):
        source = f"{name}:{number}"
        try:
            text = _decode(line, "utf-8")
            if text.strip():
                yield _record(text, source)
        except DataError as error:
            yield Skipped(source, str(error))


def _lines(path: Path) -> Iterator[bytes]:
    """Lines in UTF-8. That is read line by line, so that a bad one spoils no other; the rest as a whole."""
    with path.open("rb") as file:
        encoding = _encoding(file.read(4))
        file.seek(0)
        if encoding == "utf-8":
            yield from file
        elif encoding == "utf-8-sig":
            yield file.readline().removeprefix(codecs.BOM_UTF8)
            yield from file
        else:
            yield from _decode(file.read(), encoding).encode().split(b"\n")


def _record(line: str, source: str) -> Document:
    try:
        row: object = json.loads(line, parse_constant=_refuse, parse_int=_whole, parse_float=_finite)
    except ValueError as error:
        raise DataError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise DataError("not readable: JSON nested too deeply") from error
    if not isinstance(row, dict):
        raise DataError("not a JSON object")
    fields = cast("dict[str, object]", row)
    id_ = fields.get("_id", fields.get("id"))
    if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
        raise DataError(f"'_id' or 'id' is {id_!r}; expected a text or a number")
    text, title = fields.get("text"), fields.get("title") or ""
    if not isinstance(text, str) or not isinstance(title, str):
        raise DataError("'text' and 'title' must be texts, and 'text' must be there")
    meta: object = fields.get("metadata", fields.get("meta")) or {}
    if not isinstance(meta, dict):
        raise DataError(f"'metadata' is {meta!r}; expected an object")
    return Document(str(id_), text, title, source, _meta(cast("dict[str, object]", meta)))


def _meta(fields: dict[str, object]) -> Meta:
    """Scalars as they are, lists and objects as JSON text, nulls left out."""
    return tuple(
        (field, value if isinstance(value, Scalar) else json.dumps(value, ensure_ascii=False))
        for field, value in sorted(fields.items())
        if value is not None
    )


def _whole(digits: str) -> int:
    number = int(digits)
    if abs(number) >= _TOO_LARGE:
        raise ValueError(f"the number {digits[:20]}… is too large")
    return number


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _encoding(content: bytes) -> str:
    return next((encoding for bom, encoding in _BOMS if content.startswith(bom)), "utf-8")


def _decode(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"not valid {encoding.removesuffix('-sig').upper()} at byte {error.start}; "
            "expected UTF-8, or UTF-16 or UTF-32 with a byte-order mark"
        ) from error


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
