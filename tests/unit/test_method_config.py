"""What a configuration says of a method: which model plays which role, and whether anything is read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from distinguo.config import names
from distinguo.config.build import Components
from distinguo.config.models import Encoding, Shelf
from distinguo.config.places import Places
from distinguo.config.settings import Settings
from distinguo.errors import ConfigError
from distinguo.indexing.build import build
from distinguo.methods.baselines.retrieve import Retrieve
from distinguo.protocols import LLM, Embedder, Retriever
from distinguo.records import Answer, Document, Evidence, Outcome, Question
from distinguo.testing import HashEncoder, WordTokeniser

CONFIG = """
[models.default]
llm = { url = "http://127.0.0.1:9/v1", model = "large" }
[models.tiny]
llm = { url = "http://127.0.0.1:9/v1", model = "tiny" }
[indexes.default]
encoder = { name = "hash" }
"""


@dataclass(frozen=True)
class Roles:
    llm: LLM
    teacher: LLM
    embedder: Embedder
    retriever: Annotated[Retriever, "dense"]

    async def answer(self, question: Question) -> Outcome:
        return Answer("read", evidence=await self.find(question))

    async def find(self, question: Question) -> tuple[Evidence, ...]:
        return ()


def hashed(shelf: Shelf) -> Encoding:
    return Encoding(HashEncoder(), WordTokeniser())


@pytest.fixture
def components(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Components:
    monkeypatch.setitem(names.ENCODERS, "hash", f"{__name__}:hashed")
    monkeypatch.setitem(names.METHODS, "roles", f"{__name__}:Roles")
    made = Components(Settings.parse(CONFIG), Places(tmp_path, tmp_path / "models", tmp_path / "cache"))
    build(made.make_index("default"), [Document("a", "a red fox")], made.recipe("default"))
    return made


@pytest.mark.parametrize(
    ("written", "llm", "teacher"),
    [
        ({}, "large", "large"),
        ({"llm": "tiny"}, "tiny", "tiny"),
        ({"teacher": "tiny"}, "large", "tiny"),
        ({"llm": "tiny", "teacher": "default"}, "tiny", "large"),
    ],
)
async def test_a_role_that_is_not_named_is_played_by_the_model_that_answers(
    components: Components, written: dict[str, object], llm: str, teacher: str
) -> None:
    async with components as made:
        told = made.told({"name": "roles", **written})
        assert llm in str(told["llm"])
        assert teacher in str(told["teacher"])
        method = made.method_of({"name": "roles", **written})
        assert isinstance(method, Roles)
        assert (method.llm is method.teacher) == (llm == teacher)


async def test_another_method_than_the_written_one_takes_its_models_alone(tmp_path: Path) -> None:
    text = f'{CONFIG}[method]\nname = "hybrid"\nllm = "tiny"\nk = 3\n'
    async with Components(Settings.parse(text), Places(tmp_path, tmp_path, tmp_path)) as made:
        assert made.table("racot") == {"name": "racot", "llm": "tiny"}
        assert made.table("hybrid") == made.table() == {"name": "hybrid", "llm": "tiny", "k": 3}


async def test_a_method_embeds_with_the_encoder_of_its_index(components: Components) -> None:
    async with components as made:
        method = made.method_of({"name": "roles"})
        assert isinstance(method, Roles)
        assert list(await method.embedder.embed("a red fox", "query")) == list(
            HashEncoder().encode(["a red fox"], "query")[0]
        )
        assert made.told({"name": "roles"})["embedder"] == HashEncoder().fingerprint


async def test_a_method_that_does_not_answer_finds_alone(components: Components) -> None:
    async with components as made:
        assert made.told({"name": "roles", "answers": False})["answers"] is False
        assert "answers" not in made.told({"name": "roles"})
        method = made.method_of({"name": "hybrid", "answers": False, "k": 1})
        assert isinstance(method, Retrieve)
        outcome = await method.answer(Question("q", "red fox"))
        assert isinstance(outcome, Answer)
        assert (outcome.text, outcome.evidence[0].passage.document) == ("", "a")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"name": "closed_book", "answers": False}, r"method\.answers: 'closed_book' finds no evidence"),
        ({"name": "hybrid", "answers": "no"}, r"method\.answers: 'no' is not true or false"),
    ],
)
async def test_a_wrong_answers_is_told(
    components: Components, written: dict[str, object], message: str
) -> None:
    async with components as made:
        with pytest.raises(ConfigError, match=message):
            made.method_of(written)
