"""Keys are equal when requests are, and what is kept comes back as it was."""

import asyncio
import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distinguo.backends.cache import CallCache, key_of
from distinguo.backends.limits import Budget
from distinguo.backends.wrapped import wrap_llm
from distinguo.records import Completion, Message, Prompt, Sampling, Usage
from distinguo.testing import ScriptedLLM

TEXTS = st.text(st.characters(exclude_categories=[]))  # lone surrogates included
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
COMPLETIONS = st.builds(
    Completion,
    text=TEXTS,
    is_truncated=st.booleans(),
    usage=st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6)),
    thinking=TEXTS,
    first_token=st.lists(st.tuples(TEXTS, st.floats(allow_nan=False, max_value=0.0)), max_size=3).map(tuple),
)
PROMPTS = st.builds(
    Prompt,
    name=st.sampled_from(["read", "draft"]),
    messages=st.lists(
        st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=TEXTS), max_size=3
    ).map(tuple),
)
SAMPLINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0, 0.0, -0.0, 1, 1.0, 0.3]),
    seed=st.integers(0, 2),
    stop=st.lists(TEXTS, max_size=2).map(tuple),
)


def turned(value):
    """`value` with every dictionary in another order and whole numbers as floats where that is exact."""
    match value:
        case dict():
            return {name: turned(item) for name, item in reversed(value.items())}
        case list():
            return [turned(item) for item in value]
        case int() if not isinstance(value, bool) and abs(value) < 2**53:
            return float(value)
        case _:
            return value


@given(JSON)
def test_keys_do_not_depend_on_how_a_request_is_written(request):
    assert key_of(turned(request)) == key_of(request)


@given(JSON)
def test_keys_survive_json(request):
    assert key_of(json.loads(json.dumps(request))) == key_of(request)


def canonical(value):
    """An independent notion of sameness: numbers by value, booleans apart from numbers."""
    match value:
        case dict():
            return ("dict", frozenset((name, canonical(item)) for name, item in value.items()))
        case list():
            return ("list", tuple(canonical(item) for item in value))
        case bool():
            return ("bool", value)
        case _:
            return value


@given(JSON, JSON)
def test_keys_are_equal_only_for_the_same_request(one, other):
    assert (key_of(one) == key_of(other)) == (canonical(one) == canonical(other))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    cache = CallCache(tmp_path_factory.mktemp("cache"))
    yield cache
    cache.close()


@given(completion=COMPLETIONS, prompt=PROMPTS, sampling=SAMPLINGS)
def test_a_kept_completion_comes_back_as_it_was_but_flagged(cache, completion, prompt, sampling):
    cache.clear()
    llm = wrap_llm(ScriptedLLM([completion]), model="m", budget=Budget(), cache=cache)
    first = asyncio.run(llm.complete(prompt, sampling))
    again = asyncio.run(llm.complete(Prompt("other", prompt.messages), sampling))
    assert first == completion
    assert again == dataclasses.replace(
        completion, usage=dataclasses.replace(completion.usage, is_cached=True)
    )
