"""RaCoT with parts taken out is vanilla RAG or RankRAG, on a real index of word-hash vectors."""

from collections.abc import Iterator
from math import log
from zlib import crc32

import pytest

from distinguo.backends.index.index import Index
from distinguo.backends.index.retrievers import Hybrid
from distinguo.indexing.build import Recipe
from distinguo.methods.baselines.rankrag import Rankrag
from distinguo.methods.baselines.vanilla import Vanilla
from distinguo.methods.racot import Racot
from distinguo.records import Completion, Document, Prompt, Question, Role, Sampling
from distinguo.testing import HashEncoder, ScriptedLLM, WordTokeniser
from doubles.indexed import put

ENCODER = HashEncoder()
TEXTS = {f"d{n:02}": f"gate {n} of the tower opens at {n % 7} and shuts at {n % 5}" for n in range(40)}
QUESTIONS = [Question(f"q{n}", f"when does gate {n} of the tower open at {n % 7}") for n in range(5)]


class Embedder:
    async def embed(self, text: str, role: Role):
        return ENCODER.encode([text], role)[0]


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hybrid]:
    recipe = Recipe(ENCODER, WordTokeniser())
    with Index.make(tmp_path_factory.mktemp("racot") / "index", recipe.fingerprint) as index:
        put(index, (Document(id_, text) for id_, text in TEXTS.items()), recipe)
        yield Hybrid(index, Embedder(), depth=20)


def judging(prompt: Prompt, sampling: Sampling) -> Completion:
    """A relevance that hangs on all that is asked, and is not in the order of the search."""
    assert prompt.name == "relevance", "nothing else is asked: no contrast, no sketch"
    share = (crc32(prompt.messages[-1].content.encode()) % 97 + 1) / 99
    return Completion("Yes", first_token=(("Yes", log(share)), ("No", log(1 - share))))


@pytest.mark.parametrize("question", QUESTIONS)
async def test_without_contrast_and_threshold_it_is_vanilla_rag(hybrid: Hybrid, question: Question) -> None:
    llm = ScriptedLLM(judging)
    plain = await Vanilla(llm, hybrid, k=20).find(question)
    passages = [item.passage.id for item in plain]
    assert len(passages) == 20
    weighed = await Racot(llm, llm, Embedder(), hybrid, candidates=0, threshold=0.0).find(question)
    assert {item.passage.id for item in weighed} == set(passages), "the same passages, by relevance"
    assert len(llm.prompts) == 20
    unweighed = Racot(ScriptedLLM([]), ScriptedLLM([]), Embedder(), hybrid, candidates=0, filters=False)
    assert await unweighed.find(question) == plain, "the same passages in the same order"


@pytest.mark.parametrize("question", QUESTIONS)
async def test_without_contrast_and_with_top_k_it_weighs_as_rankrag(
    hybrid: Hybrid, question: Question
) -> None:
    theirs, ours = ScriptedLLM(judging), ScriptedLLM(judging)
    expected = await Rankrag(theirs, hybrid, pool=20, k=5).find(question)
    found = await Racot(ours, ours, Embedder(), hybrid, candidates=0, threshold=0.0, k=5).find(question)
    assert found == expected
    assert ours.prompts == theirs.prompts
    assert [item.passage.id for item in found] != [
        item.passage.id for item in await Vanilla(ours, hybrid, k=5).find(question)
    ]
