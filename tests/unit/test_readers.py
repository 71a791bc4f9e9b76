import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from distinguo.documents.readers import READERS, Skipped, read, usable
from distinguo.errors import DataError
from distinguo.records import Document


def _write(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def _one(folder: Path, name: str, content: str | bytes) -> Document | Skipped:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (item,) = read(path)
    return item


def _jsonl(folder: Path, *rows: object) -> list[Document | Skipped]:
    path = folder / "c.jsonl"
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return list(read(path))


def test_a_folder_is_read_in_order_with_ids_relative_to_it(tmp_path: Path) -> None:
    _write(tmp_path, b_dot_txt="bee", a__c_dot_md="# Sea\ntext", Z_dot_TXT="zed")
    documents = list(read(tmp_path))
    assert [d.id for d in documents if isinstance(d, Document)] == ["Z.TXT", "a/c.md", "b.txt"]
    assert documents[2] == Document("b.txt", "bee", "b", str(tmp_path / "b.txt"), stamp=documents[2].stamp)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"], ids=lambda encoding: encoding
)
def test_encodings_with_and_without_marks(tmp_path: Path, encoding: str) -> None:
    item = _one(tmp_path, "a.txt", "naïve 天气\r\nline".encode(encoding))
    assert isinstance(item, Document)
    assert item.text == "naïve 天气\nline"


def test_big_endian_utf16(tmp_path: Path) -> None:
    item = _one(tmp_path, "a.txt", b"\xfe\xff" + "天气".encode("utf-16-be"))
    assert isinstance(item, Document)
    assert item.text == "天气"


def test_an_encoding_that_is_not_clear_is_reported_with_the_place(tmp_path: Path) -> None:
    item = _one(tmp_path, "a.txt", b"abc\x81def")
    assert isinstance(item, Skipped)
    assert "byte 3" in item.reason
    assert "UTF-8" in item.reason


@pytest.mark.parametrize("content", [b"", b"  \n\t", b"\xef\xbb\xbf"])
def test_an_empty_file_is_reported(tmp_path: Path, content: bytes) -> None:
    assert _one(tmp_path, "a.txt", content) == Skipped("a.txt", "empty")


@pytest.mark.parametrize("name", [f"a{kind}" for kind in READERS])
def test_an_empty_file_of_any_kind_is_reported_as_empty(tmp_path: Path, name: str) -> None:
    assert _one(tmp_path, name, b"") == Skipped(name, "empty")


def test_a_name_that_is_not_unicode_is_told_apart_from_a_bad_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("Open at nine.", encoding="utf-8")
    (item,) = read(tmp_path)
    assert isinstance(item, Skipped)
    assert "its name" in item.reason


def test_a_file_that_sqlite_may_have_open_is_not_opened(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)) as first:
        first.execute("CREATE TABLE t (x)")
        first.execute("BEGIN EXCLUSIVE")
        (item,) = (item for item in read(tmp_path) if "journal" not in item.source)
        assert isinstance(item, Skipped)
        command = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('SELECT * FROM t')"
        other = subprocess.run(
            [sys.executable, "-c", command, str(tmp_path / "a.sqlite")], capture_output=True, check=False
        )
        assert b"database is locked" in other.stderr


def test_nothing_is_skipped_in_silence(tmp_path: Path) -> None:
    _write(tmp_path, a_dot_exe="x", b_dot_txt="\x01\x02\0", _dot_git__config="x")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "gone")
    skipped = {item.source: item.reason for item in read(tmp_path) if isinstance(item, Skipped)}
    assert skipped.keys() == {"a.exe", "b.txt", ".git", "loop", "dangling.txt"}
    assert ".exe" in skipped["a.exe"]
    assert ".md" in skipped["a.exe"]
    assert "binary" in skipped["b.txt"]


def test_a_path_that_cannot_be_looked_at_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot look at .*too long"):
        read(tmp_path / ("x" * 5000))


def test_a_link_that_cannot_be_followed_is_skipped_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("x" * 300)
    _write(tmp_path, b_dot_txt="bee")
    bad, good = read(tmp_path)
    assert isinstance(bad, Skipped)
    assert (bad.source, "too long" in bad.reason) == ("a.txt", True)
    assert isinstance(good, Document)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400, None, ["x"]], ids=str)
def test_metadata_of_documents_made_by_hand_is_checked(value) -> None:
    bad = usable(Document("d", "text", source="here", meta=(("fine", 1), ("x", value))))
    assert isinstance(bad, Skipped)
    assert "'x' is" in bad.reason


def test_nothing_at_the_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(read(tmp_path / "gone"))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n\n## The *title* ##\n\n# Later", "The *title*"),
        ("The title\n=========\ntext", "The title"),
        ("```sh\n# a comment\n```\n# Title\n", "Title"),
        ("---\n# yaml: comment\n---\n# Title\n", "Title"),
        ("no heading #here", "a"),
        ("# Learn C#\n", "Learn C#"),
        ("# ##\n# Real", "Real"),
        ("# " + "#" * 200_000 + "x", "#" * 200_000 + "x"),
        ("#" + " " * 200_000 + "\nx", "a"),
    ],
)
def test_a_markdown_title_is_the_first_heading_or_else_the_files_name(tmp_path: Path, text, title) -> None:
    item = _one(tmp_path, "a.md", text)
    assert isinstance(item, Document)
    assert (item.title, item.text) == (title, text)


def test_beir_and_own_rows(tmp_path: Path) -> None:
    assert _jsonl(
        tmp_path,
        {"_id": "1", "title": "T", "text": "one", "metadata": {"url": "u", "n": 3, "gone": None}},
        {"id": 2, "text": "two", "meta": {"ok": True, "tags": ["a", "é"]}},
    ) == [
        Document("1", "one", "T", f"{tmp_path}/c.jsonl:1", (("n", 3), ("url", "u"))),
        Document("2", "two", "", f"{tmp_path}/c.jsonl:2", (("ok", True), ("tags", '["a", "é"]'))),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{nope", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"text": "x"}', "'id' is None"),
        ('{"id": true, "text": "x"}', "'id' is True"),
        ('{"id": "1"}', "'text'"),
        ('{"id": "1", "text": 5}', "'text'"),
        ('{"id": "1", "text": "x", "meta": [1]}', "'metadata'"),
        ('{"id": "1", "text": "x", "meta": {"a": NaN}}', "NaN"),
        ('{"id": "1", "text": "x", "meta": {"a": 1e400}}', "too large"),
        ('{"id": "1", "text": "x", "meta": {"a": [-1e400]}}', "too large"),
        ('{"id": "1", "text": "\\u200b"}', "empty"),
        ('{"id": "1", "text": "x", "meta": {"a": 123456789012345678901234567890}}', "too large"),
        ('{"id": "1", "text": "\\ud800"}', "surrogate"),
        ('{"id": "1", "text": "  "}', "empty"),
        ("[" * 100_000, "not"),
    ],
)
def test_a_bad_row_is_reported_by_line_and_spoils_no_other(tmp_path: Path, row: str, reason: str) -> None:
    bad, good = _jsonl(tmp_path, row, {"id": "2", "text": "fine"})
    assert isinstance(bad, Skipped)
    assert (bad.source, reason in bad.reason) == ("c.jsonl:1", True), bad.reason
    assert isinstance(good, Document)


def test_a_row_in_another_encoding_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"id": "1", "text": "a"}\n{"id": "2", "text": "\x81"}\n\n{"id": "3", "text": "c"}'
    )
    one, two, three = read(path)
    assert isinstance(one, Document)
    assert isinstance(two, Skipped)
    assert two.source == "c.jsonl:2"
    assert isinstance(three, Document)


def test_rows_in_utf16(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "1", "text": "天气"}\n{"id": "2", "text": "ਊ"}\n', encoding="utf-16")
    assert [item.text for item in read(path) if isinstance(item, Document)] == ["天气", "ਊ"]


def test_an_id_met_before_is_reported_with_both_places(tmp_path: Path) -> None:
    first, second = _jsonl(tmp_path, {"id": "1", "text": "a"}, {"_id": 1, "text": "b"})
    assert isinstance(first, Document)
    path = tmp_path / "c.jsonl"
    assert second == Skipped(f"{path}:2", f"the id '1' was read before, from {path}:1")
