"""The engine of an index as a configuration names it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from distinguo.backends.index.qdrant import Server
from distinguo.config import names
from distinguo.config.build import Components
from distinguo.config.models import Encoding, Shelf
from distinguo.config.places import Places
from distinguo.config.settings import Settings
from distinguo.config.starter import STARTER
from distinguo.config.updating import update_index
from distinguo.errors import ConfigError
from distinguo.indexing.build import build
from distinguo.records import Document, Query
from distinguo.testing import HashEncoder, WordTokeniser

pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")

KEY = "s3cret-k3y"
SERVER = 'engine = { url = "http://localhost:6333", key_env = "QDRANT_KEY" }'
LLM = '[models.default]\nllm = { url = "http://127.0.0.1:9/v1", model = "none" }\n'


def hashed(shelf: Shelf) -> Encoding:
    """An encoder without a model."""
    return Encoding(HashEncoder(), WordTokeniser())


@pytest.fixture
def components(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Components]:
    def made(engine: str) -> Components:
        monkeypatch.setitem(names.ENCODERS, "hash", f"{__name__}:hashed")
        monkeypatch.setenv("QDRANT_KEY", KEY)
        written = f'{LLM}[indexes.default]\nencoder = {{ name = "hash" }}\n{engine}\n'
        return Components(Settings.parse(written), Places(tmp_path, tmp_path / "models", tmp_path / "cache"))

    return made


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> QdrantClient:
    """Stands for every server that a configuration names; `asked` tells which."""
    client = QdrantClient(":memory:")
    client.close = lambda **_: None
    client.asked = []

    def connect(self: Server) -> QdrantClient:
        client.asked.append(self)
        return client

    monkeypatch.setattr(Server, "connect", connect)
    return client


def _collections(client: QdrantClient) -> list[str]:
    return [collection.name for collection in client.get_collections().collections]


async def test_the_url_of_a_server_is_all_that_it_takes(components, server: QdrantClient, tmp_path) -> None:
    async with components(SERVER) as made:
        with made.make_index("default") as index:
            build(index, [Document("a", "red fox"), Document("b", "blue whale")], made.recipe("default"))
        hits = await made.method("bm25").retriever.search(Query.of("foxes"), 2)
        assert [hit.passage.document for hit in hits] == ["a"]
    (collection,) = _collections(server)
    assert collection.startswith("distinguo-default-")
    assert server.count(collection).count == 2
    assert {(asked.url, asked.key, asked.timeout) for asked in server.asked} == {
        ("http://localhost:6333", KEY, 60)
    }
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in stored


async def test_an_index_that_is_built_anew_leaves_nothing_on_the_server(
    components, server: QdrantClient
) -> None:
    async with components(SERVER) as made:
        for text in ("red fox", "blue whale"):
            made.erase_index("default")
            with made.make_index("default") as index:
                build(index, [Document("a", text)], made.recipe("default"))
            assert len(_collections(server)) == 1
        made.erase_index("default")
        assert _collections(server) == []


async def test_an_update_that_rebuilds_clears_the_server_first(
    components, server: QdrantClient, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    for text in ("The red fox jumps over the dog.", "The blue whale dives deep down."):
        note.write_text(text, encoding="utf-8")
        async with components(SERVER) as made:
            await asyncio.to_thread(update_index, made, "default", [note], rebuild=True)
            (collection,) = _collections(server)
            assert server.count(collection).count == 1
            hits = await made.method("bm25").retriever.search(Query.of("fox whale"), 2)
            assert [hit.passage.text for hit in hits] == [text]


@pytest.mark.parametrize("engine", ["", 'engine = "edge"'])
async def test_without_a_server_none_is_asked(components, server: QdrantClient, engine: str) -> None:
    async with components(engine) as made:
        with made.make_index("default") as index:
            build(index, [Document("a", "red fox")], made.recipe("default"))
        assert await made.method("bm25").retriever.search(Query.of("fox"), 1)
        made.erase_index("default")
    assert server.asked == []


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ('engine = "egde"', r"indexes\.default\.engine: there is no engine 'egde'; did you mean 'edge'"),
        ('engine = "qdrant"', r"indexes\.default\.engine\.url: missing"),
        ('engine = { uri = "http://localhost" }', r"engine\.uri: unknown setting; did you mean 'url'"),
        (
            'engine = { url = "localhost:6333" }',
            r"indexes\.default\.engine: the url of a Qdrant server is not",
        ),
        ('engine = { url = "http://x", key_env = "UNSET_KEY" }', "'UNSET_KEY' .key_env. is not set"),
        ('engine = { url = "http://x", timeout = 0 }', r"engine\.timeout: 0 is not a whole number from 1"),
        ("engine = 3", r"indexes\.default\.engine: 3 is not"),
    ],
)
def test_a_mistake_is_named_by_its_path(components, engine: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        components(engine).make_index("default")


def test_the_starter_shows_how() -> None:
    shown = next(line[2:] for line in STARTER.splitlines() if line.startswith("# engine = "))
    assert Settings.parse(f"[indexes.default]\n{shown}").indexes["default"].engine == {
        "url": "http://localhost:6333",
        "key_env": "QDRANT_KEY",
    }
