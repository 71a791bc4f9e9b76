"""How the OpenVINO engine schedules questions, over a stand-in for the runtime."""

from pathlib import Path

import pytest

from distinguo.backends.llm.openvino import OpenVinoLLM
from distinguo.backends.llm.openvino_child import BLOCK, OpenVinoEngine
from distinguo.backends.llm.serving import Ask, RefusedError
from distinguo.errors import ConfigError
from distinguo.records import Completion, Message, Sampling
from doubles.openvino_runtime import runtime

GOOD, BAD = '{"type": "object"}', '{"type": "bad"}'


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


def engine(model: Path, *, context: int = 4096, cache: int = 4096) -> OpenVinoEngine:
    return OpenVinoEngine(runtime(), model, context, cache, 0)


def ask(number: int, text: str = "", sampling: Sampling | None = None) -> Ask:
    return Ask(number, (Message("user", text or f"question {number}"),), sampling or Sampling(max_tokens=3))


def run(
    engine: OpenVinoEngine, dropped: frozenset[int] = frozenset()
) -> dict[int, Completion | RefusedError]:
    answers: dict[int, Completion | RefusedError] = {}
    for _ in range(1000):
        if not engine.is_busy:
            return answers
        answers.update(engine.step(dropped))
    raise AssertionError("it never ends")


def test_questions_run_together(model: Path) -> None:
    it = engine(model)
    for number in range(3):
        it.begin(ask(number))
    list(it.step(frozenset()))
    assert len(it.pipeline.running()) == 3
    assert {number: answer.text for number, answer in run(it).items() if isinstance(answer, Completion)} == {
        0: "xxx",
        1: "xxx",
        2: "xxx",
    }


def test_a_reply_tells_its_tokens_and_whether_it_was_cut(model: Path) -> None:
    it = engine(model)
    it.begin(ask(1, "abc"))
    answer = run(it)[1]
    assert isinstance(answer, Completion)
    assert answer.is_truncated
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (4, 3)


def test_settings_reach_the_runtime(model: Path) -> None:
    it = engine(model)
    it.begin(ask(1, sampling=Sampling(temperature=0.5, top_p=0.9, seed=7, max_tokens=2, stop=("a", "b"))))
    it.begin(ask(2, sampling=Sampling(seed=7, max_tokens=2, schema=GOOD)))
    list(it.step(frozenset()))
    drawn, greedy = (request.config for request in it.pipeline.requests)
    assert (drawn.do_sample, drawn.temperature, drawn.top_p, drawn.rng_seed) == (True, 0.5, 0.9, 7)
    assert (drawn.max_new_tokens, drawn.stop_strings) == (2, {"a", "b"})
    assert (greedy.do_sample, greedy.structured_output_config.json_schema) == (False, GOOD)


def test_wanted_words_are_forced_one_by_one_after_the_reply(model: Path) -> None:
    it = engine(model)
    it.begin(ask(1, sampling=Sampling(max_tokens=2, first_token=("Yes", "No"))))
    answer = run(it)[1]
    assert isinstance(answer, Completion)
    assert answer.first_token == (("Yes", -0.25), ("No", -0.25))
    assert [request.config.max_new_tokens for request in it.pipeline.requests] == [2, 1, 1]


def test_words_that_begin_with_one_token_tell_nothing(model: Path) -> None:
    it = engine(model)
    it.begin(ask(1, sampling=Sampling(max_tokens=1, first_token=("Yes", "Yet", "No"))))
    answer = run(it)[1]
    assert isinstance(answer, Completion)
    assert answer.first_token == (("No", -0.25),)


def test_a_prompt_is_refused_where_it_leaves_no_room_for_a_reply(model: Path) -> None:
    it = engine(model, context=100)
    with pytest.raises(RefusedError, match=r"prompt has 100 tokens.* 100 together"):
        it.begin(ask(1, "x" * 99))
    it.begin(ask(2, "x" * 98))
    answer = run(it)[2]
    assert isinstance(answer, Completion)
    assert answer.usage.completion_tokens == 1


@pytest.mark.parametrize("messages", [(), (Message("user", "half a pair: \ud800"),)])
def test_what_cannot_be_rendered_or_encoded_is_refused(model: Path, messages: tuple[Message, ...]) -> None:
    with pytest.raises(RefusedError, match="rendered or encoded"):
        engine(model).begin(Ask(1, messages, Sampling()))


def test_questions_wait_while_the_cache_is_full(model: Path) -> None:
    it = engine(model, context=4 * BLOCK, cache=4 * BLOCK)
    for number in range(5):
        it.begin(ask(number, f"{number}" * BLOCK, Sampling(max_tokens=BLOCK - 1)))  # two blocks each
    most = 0
    answers: dict[int, Completion | RefusedError] = {}
    while it.is_busy:
        answers.update(it.step(frozenset()))
        most = max(most, len(it.pipeline.running()))
    assert most == 2
    assert sorted(answers) == [0, 1, 2, 3, 4]


def test_what_several_prompts_begin_with_is_read_once(model: Path) -> None:
    it = engine(model)
    passage = "p" * (3 * BLOCK)
    for number in range(4):
        it.begin(ask(number, passage + f"question {number}"))
    it.begin(ask(9, "q" * (3 * BLOCK)))
    list(it.step(frozenset()))
    assert len(it.pipeline.requests) == 2  # one on each passage
    list(it.step(frozenset()))  # the passages were read: the others find theirs
    assert len(it.pipeline.requests) == 5
    assert sorted(run(it)) == [0, 1, 2, 3, 9]


def test_a_dropped_question_ends_whether_it_runs_or_waits(model: Path) -> None:
    it = engine(model, context=4 * BLOCK, cache=4 * BLOCK)
    for number in (1, 2):
        it.begin(ask(number, f"{number}" * 2 * BLOCK, Sampling(max_tokens=BLOCK)))
    list(it.step(frozenset()))
    assert run(it, frozenset({1, 2})) == {}
    assert [request.status for request in it.pipeline.requests] == ["CANCEL"]


@pytest.mark.parametrize("bad", [{1}, {1, 3}, {0, 1, 2, 3}])
def test_a_schema_that_breaks_the_pipeline_is_refused_and_the_others_are_answered(
    model: Path, bad: set[int]
) -> None:
    it = engine(model)
    for number in range(4):
        it.begin(ask(number, sampling=Sampling(max_tokens=3, schema=BAD if number in bad else GOOD)))
    it.begin(ask(4))
    answers = run(it)
    assert {number for number, answer in answers.items() if isinstance(answer, RefusedError)} == bad
    assert sorted(answers) == [0, 1, 2, 3, 4]
    assert all("no such grammar" in str(answers[number]) for number in bad)


def test_an_accident_without_a_suspect_ends_the_process(model: Path) -> None:
    it = engine(model)
    it.begin(ask(1))
    it.pipeline.is_broken = True
    with pytest.raises(RuntimeError):
        run(it)


def test_a_cache_smaller_than_the_context_is_a_config_error(model: Path) -> None:
    with pytest.raises(ConfigError, match="cache of 100 tokens"):
        OpenVinoLLM(model, "small", context=200, cache=100)
