"""CHR as its formula says, S(d) = sim(d, H⁺) − λ·sim(d, H⁻), on a real index of word-hash vectors."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from distinguo.backends.index.index import Index
from distinguo.backends.index.retrievers import Dense, Hybrid, Lexical
from distinguo.errors import ConfigError
from distinguo.indexing.build import Recipe
from distinguo.methods.chr import Chr
from distinguo.protocols import Retriever
from distinguo.records import Abstention, Answer, Document, Evidence, Probe, Query, Question, Role
from distinguo.running.attempt import attempt
from distinguo.stages.search import search
from distinguo.testing import HashEncoder, ListRetriever, ScriptedLLM, WordTokeniser
from distinguo.trace import Trace, tracing
from doubles.house import says
from doubles.indexed import put

ENCODER = HashEncoder(1024)
QUESTION = Question("q", "what makes a lamb limp")
TARGET, MIMIC = "joint ill makes a lamb limp", "foot rot makes a lamb limp"
TEXTS = {
    "both": "joint ill and foot rot each makes a lamb limp",
    "joint": "joint ill swells a joint",
    "foot": "foot rot makes a lamb limp",
    "sheep": "a lamb will limp when it has walked on flint",
    "gate": "the north gate opens at seven",
}


class Embedder:
    async def embed(self, text: str, role: Role):
        return ENCODER.encode([text], role)[0]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    yield from filled(tmp_path_factory.mktemp("chr"), TEXTS)


def filled(folder: Path, texts: dict[str, str]) -> Iterator[Index]:
    recipe = Recipe(ENCODER, WordTokeniser())
    with Index.make(folder / "index", recipe.fingerprint) as index:
        put(index, (Document(id_, text) for id_, text in texts.items()), recipe)
        yield index


def supposing(target: str = TARGET, mimic: str = MIMIC) -> ScriptedLLM:
    return ScriptedLLM(json.dumps({"answer": "a", "target": target, "mimic_answer": "b", "mimic": mimic}))


def method(
    retriever: Retriever,
    writer: ScriptedLLM | None = None,
    *,
    penalty: float = 0.5,
    question_weight: float = 0.0,
    k: int = 5,
) -> Chr:
    return Chr(
        ScriptedLLM(says("joint ill", 1)),
        writer or supposing(),
        retriever,
        penalty=penalty,
        question_weight=question_weight,
        k=k,
    )


def scores(found: Sequence[Evidence]) -> dict[str, float]:
    return {item.passage.document: item.score.value for item in found}


def similarity(text: str, id_: str) -> float:
    return float(ENCODER.encode([text], "query")[0] @ ENCODER.encode([TEXTS[id_]], "passage")[0])


async def test_without_a_penalty_it_is_a_search_for_one_hypothesis(index: Index) -> None:
    dense = Dense(index, Embedder())
    assert await method(dense, penalty=0).find(QUESTION) == await search(dense, Query.of(TARGET), 5)


@pytest.mark.parametrize("penalty", [0.0, 0.3, 0.5, 1.0, 2.0])
async def test_the_search_ranks_by_the_difference_of_similarities(index: Index, penalty: float) -> None:
    found = scores(await method(Dense(index, Embedder()), penalty=penalty).find(QUESTION))
    expected = {id_: similarity(TARGET, id_) - penalty * similarity(MIMIC, id_) for id_ in TEXTS}
    assert found == pytest.approx(expected, abs=1e-5)
    assert [*found.values()] == sorted(found.values(), reverse=True)


async def test_what_the_mimic_says_is_pushed_down(index: Index) -> None:
    dense = Dense(index, Embedder())
    plain, signed = [
        list(scores(await method(dense, penalty=penalty).find(QUESTION))) for penalty in (0, 0.7)
    ]
    assert plain.index("foot") < plain.index("joint")
    assert signed.index("joint") < signed.index("foot")


@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0])
async def test_a_mimic_equal_to_the_target_changes_nothing(index: Index, penalty: float) -> None:
    dense, trace = Dense(index, Embedder()), Trace("t", "")
    with tracing(trace):
        found = await method(dense, supposing(mimic=f"{TARGET.upper()}!"), penalty=penalty).find(QUESTION)
    assert found == await search(dense, Query.of(TARGET), 5)
    assert "mimic dropped" in {event.name for event in trace.events}


async def test_the_question_is_no_probe_unless_it_has_a_weight(index: Index) -> None:
    retriever = ListRetriever([])
    await method(retriever).find(QUESTION)
    await method(retriever, question_weight=1.5).find(QUESTION)
    hypotheses = (Probe(TARGET, 1.0, "positive"), Probe(MIMIC, -0.5, "negative"))
    assert retriever.queries == [Query(hypotheses), Query((*hypotheses, Probe(QUESTION.text, 1.5)))]


@pytest.mark.parametrize("kind", ["lexical", "hybrid"])
async def test_other_searches_take_the_signed_probes_too(index: Index, kind: str) -> None:
    retriever = Lexical(index) if kind == "lexical" else Hybrid(index, Embedder())
    found = list(scores(await method(retriever, penalty=0.9).find(QUESTION)))
    assert found[0] == "joint"


async def test_it_reads_what_it_finds_with_two_models(index: Index) -> None:
    reader, writer, trace = ScriptedLLM(says("joint ill", 1)), supposing(), Trace("t", "")
    with tracing(trace):
        outcome = await Chr(reader, writer, Dense(index, Embedder()), penalty=0.7, k=2).answer(QUESTION)
    assert isinstance(outcome, Answer)
    assert outcome.citations == (outcome.evidence[0].passage.id,)
    assert len(outcome.evidence) == 2
    assert [[prompt.name for prompt in llm.prompts] for llm in (writer, reader)] == [
        ["hypotheses"],
        ["answer_from_passages"],
    ]
    assert [event.name for event in trace.in_order() if event.kind == "span"] == [
        "hypothesise",
        "search",
        "read",
    ]


async def test_of_options_the_best_is_chosen_and_the_writer_sees_none(index: Index) -> None:
    question = Question("q", QUESTION.text, choices=("foot rot", "joint ill"), kind="choice")
    for sees_options in (False, True):
        reader, writer = ScriptedLLM('{"option": "B"}'), supposing()
        chosen = await Chr(reader, writer, Dense(index, Embedder()), sees_options=sees_options).answer(
            question
        )
        assert isinstance(chosen, Answer)
        assert chosen.text == "joint ill"
        assert ("joint ill" in writer.prompts[0].messages[1].content) is sees_options


@pytest.mark.parametrize("texts", [{}, {"one": TEXTS["foot"]}, TEXTS], ids=["empty", "one passage", "five"])
async def test_a_small_corpus_gives_what_it_has(tmp_path: Path, texts: dict[str, str]) -> None:
    for index in filled(tmp_path, texts):
        outcome = await method(Dense(index, Embedder()), k=50).answer(QUESTION)
        assert len(outcome.evidence) == len(texts)
        assert isinstance(outcome, Answer) or outcome == Abstention("no passage was found")


@pytest.mark.parametrize(
    "reply",
    ["", "Mira Holt.", '{"target": "a"', "<think>{}</think>", '{"target": "…", "mimic": "b"}', "{}"],
    ids=["empty", "prose", "cut", "thinking alone", "no words", "empty object"],
)
async def test_a_writer_that_never_writes_a_target_leaves_the_question_unreadable(
    index: Index, reply: str
) -> None:
    chr_ = method(Dense(index, Embedder()), ScriptedLLM(reply))
    result = await attempt(chr_, QUESTION, Trace("t", ""))
    assert result.state == "unreadable"


@pytest.mark.parametrize(
    "text", ["什么让羔羊跛行？", "ما الذي يجعل الحمل يعرج؟", "lamb " * 5000, "} {0} </question> {target}"]
)
async def test_any_question_is_answered(index: Index, text: str) -> None:
    for weight in (0.0, 1.0):
        chr_ = method(Dense(index, Embedder()), question_weight=weight)
        result = await attempt(chr_, Question("q", text), Trace("t", ""))
        assert result.state == "answered"


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: method(ListRetriever([]), k=0), "'k' is 0; expected 1 or more"),
        (lambda: method(ListRetriever([]), penalty=-0.1), "'penalty' is -0.1; expected 0 or more"),
        (lambda: method(ListRetriever([]), question_weight=-1), "'question_weight' is -1; expected 0 or"),
        (lambda: method(ListRetriever([]), penalty=float("nan")), "'penalty' is nan; expected 0 or more"),
    ],
)
def test_numbers_out_of_range_are_named(make: Callable[[], Chr], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        make()
