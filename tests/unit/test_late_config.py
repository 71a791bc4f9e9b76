"""Late interaction as a configuration names it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from distinguo.config import names
from distinguo.config.build import Components
from distinguo.config.models import Encoding, Shelf
from distinguo.config.places import Places
from distinguo.config.settings import Settings
from distinguo.errors import ConfigError
from distinguo.indexing.build import build
from distinguo.methods.baselines.vanilla import Vanilla
from distinguo.records import Document, Query, Similarity
from distinguo.testing import HashEncoder, WordTokeniser

CONFIG = """
[models.default]
llm = { url = "http://127.0.0.1:9/v1", model = "none" }
[method]
name = "hybrid"
retriever = { name = "late", pool = 7 }
"""


def hashed(shelf: Shelf) -> Encoding:
    """An encoder that tells tokens apart."""
    return Encoding(HashEncoder(), WordTokeniser(), tokens=HashEncoder())


def plain(shelf: Shelf) -> Encoding:
    """One that does not."""
    return Encoding(HashEncoder(), WordTokeniser())


@pytest.fixture
def components(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Components]:
    def made(encoder: str, config: str = CONFIG) -> Components:
        monkeypatch.setitem(names.ENCODERS, "hash", f"{__name__}:{encoder}")
        written = config + '[indexes.default]\nencoder = { name = "hash" }\n'
        places = Places(tmp_path, tmp_path / "models", tmp_path / "cache")
        return Components(Settings.parse(written), places)

    return made


async def test_a_configuration_names_late_interaction_and_its_pool(components) -> None:
    async with components("hashed") as made:
        documents = [Document("a", "red fox and wine"), Document("b", "red wine, no animal at all")]
        build(made.make_index("default"), documents, made.recipe("default"))
        method = made.method()
        assert isinstance(method, Vanilla)
        hits = await method.retriever.search(Query.of("red fox"), 2)
        assert [(hit.passage.document, hit.score) for hit in hits] == [
            ("a", Similarity(1.0, "late")),
            ("b", Similarity(0.5, "late")),
        ]
        told = made.told(made.settings.method)
        assert told["retriever"]["name"] == "late"
        assert told["retriever"]["pool"] == 7


async def test_an_encoder_without_tokens_is_refused_by_its_path(components) -> None:
    async with components("plain") as made:
        build(made.make_index("default"), [Document("a", "fox")], made.recipe("default"))
        with pytest.raises(ConfigError, match=r"indexes\.default\.encoder: it gives no vectors of tokens"):
            made.method()


async def test_an_unknown_setting_of_it_is_refused(components) -> None:
    async with components("hashed", CONFIG.replace("pool", "pol")) as made:
        build(made.make_index("default"), [Document("a", "fox")], made.recipe("default"))
        with pytest.raises(ConfigError, match="did you mean 'pool'"):
            made.method()
