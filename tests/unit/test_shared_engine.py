"""An index whose engine is a server's, by the in-memory mode of its client."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient

from distinguo.backends.index.edge import ANALYSER
from distinguo.backends.index.engine import Engine
from distinguo.backends.index.fingerprint import Fingerprint
from distinguo.backends.index.index import Index, erase
from distinguo.backends.index.qdrant import QdrantServer
from distinguo.backends.index.rows import Change, content_of
from distinguo.errors import BackendError, DataError
from distinguo.records import Document, Passage

pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")

FINGERPRINT = Fingerprint("encoder 1", 4, "words", "chunks", ANALYSER)


class Server:
    """Keeps its collections while clients come and go."""

    def __init__(self) -> None:
        self.client = QdrantClient(":memory:")
        self.client.close = lambda **_: None
        self.is_down = False

    def __call__(self, identity: str, dimension: int) -> Engine:
        if self.is_down:
            raise BackendError("the server is down", retryable=True)
        return QdrantServer.open(self.client, identity, owner=identity, dimension=dimension)

    def forget(self, identity: str) -> None:
        QdrantServer.erase(self.client, identity, owner=identity)

    @property
    def engine(self) -> QdrantServer:
        """That of the only collection."""
        (collection,) = self.client.get_collections().collections
        return QdrantServer(self.client, collection.name)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def writer(folder: Path, server: Server) -> Iterator[Index]:
    with Index.make(folder, FINGERPRINT, server=server) as index:
        yield index


def _reader(folder: Path, server: Server) -> Index:
    return Index.open(folder, encoder="encoder 1", server=server)


def _add(index: Index, **texts: str) -> None:
    changes = [
        Change(Document(id_, text), (Passage(f"{id_}#1", text, "", id_, "", 0, len(text)),))
        for id_, text in texts.items()
    ]
    passages = [passage for change in changes for passage in change.passages]
    index.keep_vectors([(content_of(each), np.ones(4, "f4") * len(each.text)) for each in passages])
    index.replace(changes)


def _words(index: Index, text: str) -> list[str]:
    return [passage.document for passage, _ in index.lexical([(text, 1.0)], 9)]


def test_readers_see_what_the_writer_commits_and_no_engine_is_made_here(
    writer: Index, folder: Path, server: Server
) -> None:
    _add(writer, a="ant", b="bee")
    with _reader(folder, server) as reader:
        assert _words(reader, "ant") == ["a"]
        _add(writer, c="ant too")
        writer.delete(["a"])
        writer.settle()
        assert _words(reader, "ant") == _words(writer, "ant") == ["c"]
        assert [p.document for p, _ in reader.dense(np.ones(4, "f4"), 1)] == ["c"]
        assert reader.check() == writer.check() == ()
    assert not [path.name for path in folder.iterdir() if path.is_dir() and any(path.iterdir())]


def test_what_a_broken_connection_left_out_is_sent_when_the_next_writer_begins(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise BackendError("the connection broke", retryable=True)

    with Index.make(folder, FINGERPRINT, server=server) as writer:
        _add(writer, a="ant", b="bee")
        monkeypatch.setattr(QdrantServer, "upsert", breaks)
        with pytest.raises(BackendError, match="broke"):
            _add(writer, b="bumblebee", c="cat")
        monkeypatch.undo()
        assert any("the truth at" in fault for fault in writer.check())
    with Index.make(folder, FINGERPRINT, server=server) as writer:
        assert (_words(writer, "bumblebee"), _words(writer, "cat"), writer.check()) == (["b"], ["c"], ())


def test_a_server_that_lost_some_or_all_is_given_it_again(folder: Path, server: Server) -> None:
    with Index.make(folder, FINGERPRINT, server=server) as writer:
        _add(writer, a="ant", b="bee", c="cat")
    server.engine.delete([2])
    with Index.make(folder, FINGERPRINT, server=server) as writer:
        assert (_words(writer, "bee"), writer.check()) == (["b"], ())
    another = Server()
    with Index.make(folder, FINGERPRINT, server=another) as writer:
        assert (_words(writer, "cat"), writer.check()) == (["c"], ())


def test_a_reader_of_a_server_that_has_nothing_is_told_so(folder: Path, server: Server) -> None:
    with Index.make(folder, FINGERPRINT) as embedded:
        _add(embedded, a="ant")
    with _reader(folder, server) as reader:
        for _ in range(2):
            with pytest.raises(DataError, match=r"has nothing of this index yet.*distinguo index"):
                _words(reader, "ant")
        with Index.make(folder, FINGERPRINT, server=server):
            assert _words(reader, "ant") == ["a"]


def test_an_empty_index_is_searched_in_peace(writer: Index, folder: Path, server: Server) -> None:
    with _reader(folder, server) as reader:
        assert _words(reader, "ant") == []


def test_an_index_built_anew_has_a_collection_of_its_own_dimension(folder: Path, server: Server) -> None:
    with Index.make(folder, FINGERPRINT, server=server) as writer:
        _add(writer, a="ant")
    erase(folder, server.forget)
    assert server.client.get_collections().collections == []
    other = Fingerprint("encoder 2", 9, "words", "chunks", ANALYSER)
    with Index.make(folder, other, server=server) as writer:
        assert (writer.count(), server.engine.count(), writer.check()) == (0, 0, ())


def test_a_reader_goes_over_to_the_collection_of_an_index_built_anew(folder: Path, server: Server) -> None:
    with Index.make(folder, FINGERPRINT, server=server) as writer:
        _add(writer, a="ant")
        writer.settle()
    with _reader(folder, server) as reader:
        assert _words(reader, "ant") == ["a"]
        erase(folder, server.forget)
        with pytest.raises(DataError, match="not found"):  # and never what another index has there
            _words(reader, "ant")
        with Index.make(folder, FINGERPRINT, server=server) as writer:
            _add(writer, z="ant", a="bee")
            writer.settle()
            assert (_words(reader, "ant"), _words(reader, "bee")) == (["z"], ["a"])


def test_an_index_whose_server_is_down_is_kept_and_can_be_made_again(folder: Path, server: Server) -> None:
    with Index.make(folder, FINGERPRINT, server=server) as writer:
        _add(writer, a="ant")
    server.is_down = True
    for _ in range(2):  # the lock is let go
        with pytest.raises(BackendError, match="down"):
            Index.make(folder, FINGERPRINT, server=server)
    with _reader(folder, server) as reader, pytest.raises(BackendError, match="down"):
        _words(reader, "ant")
    server.is_down = False
    with Index.make(folder, FINGERPRINT, server=server) as writer:
        assert _words(writer, "ant") == ["a"]


def test_a_damaged_index_is_erased_without_its_identity(folder: Path, server: Server) -> None:
    Index.make(folder, FINGERPRINT, server=server).close()
    (folder / "truth.sqlite").write_bytes(b"no database")
    told: list[str] = []
    erase(folder, told.append)
    assert (told, (folder / "truth.sqlite").exists()) == ([], False)
