import json
import sqlite3
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distinguo.documents.chunking import Chunking, chunk
from distinguo.documents.readers import READERS, Skipped, read_bytes
from distinguo.records import Document
from distinguo.testing import WordTokeniser

FRAGMENTS = [
    *(b"%PDF-1.7\n", b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj", b"trailer<</Root 1 0 R>>", b"PK\x03\x04"),
    *(
        b"<html>",
        b"<p>",
        b"</p>",
        b"<table><tr><td>",
        b"<h1>T</h1>",
        b"<?xml version='1.0'?>",
        b"<!DOCTYPE a [",
    ),
    *(
        b"]>",
        b"<!ENTITY b 'c'>",
        b"&b;",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"<a><b>",
        b"</b></a>",
        b"text",
    ),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\\section{", b"\\begin{x}", b"\\end{x}", b"$", b"{", b"}", b"%", b"\\"),
    *(b"# H\n", b"===\n", b"Title\n=====\n", b".. include:: /etc/passwd\n", b".. raw:: html\n\n  <b>\n"),
    *(
        b":ref:`x`",
        b"|",
        b"* a\n",
        b"Subject: =?utf-8?b?4pyT?=\n",
        b"--x\n",
        b"a,b\n",
        b'"',
        b";",
        b"\t",
        b"\r",
    ),
    *(
        b"Content-Type: multipart/mixed; boundary=x\n\n",
        b"\0",
        b"\x1b[31m",
        b"\xe9",
        b"\x81",
        b"\xed\xa0\x80",
    ),
    *("é天🙂".encode(), b'{"id": "1", "text": "x"}\n'),
]
contents = st.binary(max_size=300) | st.lists(
    st.sampled_from(FRAGMENTS) | st.binary(max_size=4), max_size=30
).map(b"".join)


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=60, deadline=None)
@given(contents)
def test_any_bytes_give_documents_that_can_be_kept_or_reasons(kind: str, content: bytes) -> None:
    for item in read_bytes(content, f"a{kind}", kind=kind, source=f"/x/a{kind}"):
        match item:
            case Skipped(source, reason):
                assert source.startswith("a")
                assert reason.strip()
            case Document(id=id_, text=text, title=title, source=source, sections=sections):
                assert source.startswith(f"/x/a{kind}")
                assert kept(id_, title, text, *(section.heading for section in sections))
                assert all(0 <= section.start < len(text) for section in sections)
                assert all(one.start < two.start for one, two in pairwise(sections))
                for passage in chunk(item, Chunking(20, 5), WordTokeniser()):
                    assert passage.text == text[passage.start : passage.end]


def kept(*texts: str) -> bool:
    """Whether SQLite and JSON give `texts` back as they were."""
    row = sqlite3.connect(":memory:").execute(f"SELECT {', '.join('?' * len(texts))}", texts).fetchone()
    return list(row) == json.loads(json.dumps(texts, ensure_ascii=False).encode()) == list(texts)
