"""What is sent to an OpenAI-compatible server, and how each of its replies is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from distinguo.backends.http import EXCERPT, Endpoint, retry_after
from distinguo.backends.llm.first_token import beginnings
from distinguo.backends.llm.openai import OpenAICompatible
from distinguo.errors import BackendError, ConfigError
from distinguo.records import GREEDY, Completion, Message, Prompt, Sampling, Usage
from distinguo.trace import Trace, tracing

PROMPT = Prompt("unit", (Message("system", "Be brief."), Message("user", "Capital of France?")))
KEY = "sk-very-secret"
Respond = Callable[[httpx.Request], httpx.Response]


def model(respond: Respond, url: str = "http://house:8000/v1", key: str | None = None) -> OpenAICompatible:
    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    return OpenAICompatible(url, "small", key=key, client=client)


def reply(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
    }


def tops(*candidates: tuple[str, Any], token: str = "Yes") -> dict[str, Any]:
    top = [{"token": text, "logprob": value} for text, value in candidates]
    return {"content": [{"token": token, "logprob": -0.1, "top_logprobs": top}]}


async def read(body: Any, sampling: Sampling = GREEDY) -> Completion:
    """What the client makes of a 200 with `body` (JSON, or text as it is)."""
    text = body if isinstance(body, str) else json.dumps(body)
    return await model(lambda _: httpx.Response(200, text=text)).complete(PROMPT, sampling)


async def refused(status: int, body: str = "", sampling: Sampling = GREEDY, **headers: str) -> BackendError:
    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, text=body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    with pytest.raises(BackendError) as caught:
        await model(respond, key=KEY).complete(PROMPT, sampling)
    return caught.value


# ── what is sent ─────────────────────────────────────────────────────────────────────────────────────────


async def sent(sampling: Sampling, prompt: Prompt = PROMPT, **options: Any) -> tuple[httpx.Request, Any]:
    requests: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json=reply({"content": "Paris"}))

    await model(respond, **options).complete(prompt, sampling)
    return requests[0], json.loads(requests[0].content)


async def test_a_greedy_call_sends_only_what_every_server_knows() -> None:
    request, body = await sent(GREEDY)
    assert str(request.url) == "http://house:8000/v1/chat/completions"
    assert "Authorization" not in request.headers
    assert body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Capital of France?"},
        ],
        "temperature": 0.0,
        "max_tokens": 512,
    }


async def test_every_setting_of_a_sampling_is_sent() -> None:
    wanted = Sampling(0.7, 0.9, 5, 20, ("\n", "END"), '{"type": "object"}', ("Yes", "No"))
    request, body = await sent(wanted, key=KEY)
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert {name: value for name, value in body.items() if name not in {"messages", "model"}} == {
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 5,
        "max_tokens": 20,
        "stop": ["\n", "END"],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}},
        },
        "logprobs": True,
        "top_logprobs": 20,
    }


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://house/v1/", "http://house/v1/chat/completions"),
        ("https://house", "https://house/chat/completions"),
        ("http://house/v1?api-version=2", "http://house/v1/chat/completions?api-version=2"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
    ],
)
async def test_the_path_is_put_below_the_base_address(url: str, target: str) -> None:
    request, _ = await sent(GREEDY, url=url)
    assert str(request.url) == target


async def test_a_lone_surrogate_in_a_document_can_be_sent() -> None:
    _, body = await sent(GREEDY, Prompt("unit", (Message("user", "broken \ud83d emoji"),)))
    assert body["messages"][0]["content"] == "broken \ud83d emoji"


async def test_a_schema_that_is_no_json_is_told_with_the_prompt() -> None:
    with pytest.raises(ConfigError, match="'unit' is no JSON"):
        await sent(Sampling(schema="{oops"))


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "", "ftp://house/v1", "http://", "http://house:port/v1"]
)
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match="'small'"):
        OpenAICompatible(url, "small")


@pytest.mark.parametrize("key", ["", "sk-123\n", "sk 123", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError, match="key of model 'small'") as caught:
        OpenAICompatible("http://house/v1", "small", key)
    assert not key or key not in str(caught.value)


# ── what is read ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_plain_reply() -> None:
    assert await read(reply({"content": "Paris"})) == Completion("Paris", usage=Usage(9, 2))


async def test_a_reply_that_hit_the_token_limit_is_truncated() -> None:
    completion = await read(reply({"content": "The capital of"}, finish_reason="length"))
    assert completion.is_truncated
    assert completion.text == "The capital of"


@pytest.mark.parametrize(
    ("message", "text", "thinking", "is_truncated"),
    [
        ({"content": "<think>Rome?</think>\n\nParis"}, "Paris", "Rome?", False),
        ({"content": "Paris", "reasoning_content": "Rome?"}, "Paris", "Rome?", False),
        ({"content": "Paris", "reasoning": "Rome?"}, "Paris", "Rome?", False),
        ({"content": "<think>no</think>Paris", "reasoning": "Rome?"}, "Paris", "Rome?\nno", False),
        ({"content": "<think>Rome? or"}, "", "Rome? or", True),
        ({"content": None, "reasoning_content": "Rome? or"}, "", "Rome? or", True),
        ({"content": "", "reasoning": "Rome? or"}, "", "Rome? or", True),
        ({"content": None, "refusal": "I cannot say."}, "I cannot say.", "", False),
        ({"content": ""}, "", "", False),
    ],
)
async def test_thinking_is_kept_apart(
    message: dict[str, Any], text: str, thinking: str, is_truncated: bool
) -> None:
    completion = await read(reply(message))
    assert (completion.text, completion.thinking, completion.is_truncated) == (text, thinking, is_truncated)


async def test_null_content_at_the_token_limit_is_a_truncated_reply() -> None:
    completion = await read(reply({"content": None}, finish_reason="length"))
    assert (completion.text, completion.is_truncated) == ("", True)


@pytest.mark.parametrize("usage", [{}, {"usage": None}])
async def test_usage_that_the_server_did_not_count_is_zero_and_noted(usage: dict[str, Any]) -> None:
    trace, body = Trace("1", "?"), reply({"content": "Paris"})
    del body["usage"]
    with tracing(trace):
        completion = await read(body | usage)
    assert completion.usage == Usage(0, 0)
    assert [event.name for event in trace.events] == ["usage unknown"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<html>Welcome to Ollama</html>", "Welcome to Ollama"),
        ("", "an empty body"),
        ('{"choices": [{"message": {"content": "Par', "unreadable at the start"),
        ('{"error": {"message": "overloaded"}}', "overloaded"),
        ("[]", "the OpenAI form"),
        ('{"choices": [{"text": "Paris"}]}', r"unreadable at choices\.0\.message"),
        ('{"choices": []}', "no choices"),
        ('{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}', "content is null"),
    ],
)
async def test_a_200_that_is_no_reply_is_a_retryable_error(body: str, words: str) -> None:
    with pytest.raises(BackendError, match=words) as caught:
        await read(body)
    assert caught.value.retryable
    assert "model 'small' at 'http://house:8000/v1'" in str(caught.value)


async def test_a_filtered_reply_is_an_error_that_no_retry_mends() -> None:
    with pytest.raises(BackendError, match="content filter") as caught:
        await read(reply({"content": "Par"}, finish_reason="content_filter"))
    assert not caught.value.retryable


# ── first-token log-probabilities ────────────────────────────────────────────────────────────────────────

YES_NO = Sampling(first_token=("Yes", "No"))


async def test_wanted_words_get_the_log_probability_of_the_first_token_that_is_not_blank() -> None:
    logprobs = tops((" Yes", -0.25), ("No", -1.5), ("Maybe", -3.0))
    logprobs["content"].insert(0, {"token": "\n", "logprob": -0.1, "top_logprobs": [{"token": "No"}]})
    completion = await read(reply({"content": "Yes"}, logprobs=logprobs), YES_NO)
    assert completion.first_token == (("Yes", -0.25), ("No", -1.5))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), 0.5, None])
async def test_a_log_probability_that_is_none_is_dropped_and_noted(bad: float | None) -> None:
    trace = Trace("1", "?")
    with tracing(trace):
        body = reply({"content": "Yes"}, logprobs=tops(("Yes", bad), ("No", -1.5)))
        completion = await read(body, YES_NO)
    assert completion.first_token == (("No", -1.5),)
    assert [(event.name, event.fields["count"]) for event in trace.events] == [
        ("log-probabilities dropped", 1)
    ]


@pytest.mark.parametrize(
    "body",
    [
        reply({"content": "Yes"}),
        reply({"content": "Yes"}, logprobs=None),
        reply({"content": "Yes"}, logprobs={"content": None}),
        reply({"content": "Yes"}, logprobs={"content": []}),
        reply({"content": "Yes", "reasoning": "hm"}, logprobs=tops(("Yes", -0.1))),
        reply({"content": "<think></think>Yes"}, logprobs=tops(("Yes", -0.1))),
    ],
)
async def test_no_log_probability_of_the_replys_own_beginning_is_noted(body: dict[str, Any]) -> None:
    trace = Trace("1", "?")
    with tracing(trace):
        completion = await read(body, YES_NO)
    assert completion.first_token == ()
    assert [event.name for event in trace.events] == ["first token unknown"]


@pytest.mark.parametrize(
    ("tokens", "words", "expected"),
    [
        ([("Yes", -0.1)], ["Yes"], {"Yes": -0.1}),
        ([("yes", -0.1), ("YES", -0.1)], ["Yes"], {}),
        ([("Rele", -0.1)], ["Relevant"], {"Relevant": -0.1}),
        ([("Y", -0.1), (" Yes", -0.7)], ["Yes"], {"Yes": -0.7}),
        ([("Yesterday", -0.1), ("Not", -0.2)], ["Yes", "No"], {}),
        ([("Yes", -1.0), (" Yes", -1.0)], ["Yes"], {"Yes": -0.3069}),
        ([("Yes", -0.0), (" Yes", -1.0)], ["Yes"], {"Yes": 0.0}),
        ([("Yes", -9999.0), (" Yes", -9999.0)], ["Yes"], {"Yes": -9998.3069}),
        ([("Re", -0.1), ("Rel", -0.3)], ["Relevant", "Redundant"], {"Relevant": -0.3}),
        ([("", -0.1), (" ", -0.1)], ["Yes"], {}),
        ([("Yes", -0.1)], ["Yes", "Yes"], {"Yes": -0.1}),
        ([], ["Yes"], {}),
    ],
)
def test_tokens_that_begin_a_word(
    tokens: list[tuple[str, float]], words: list[str], expected: dict[str, float]
) -> None:
    found = beginnings(tokens, words)
    assert dict(found) == pytest.approx(expected, abs=1e-4)
    assert len(found) == len(expected)


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
async def test_what_may_pass_is_retryable(status: int) -> None:
    error = await refused(status, "busy")
    assert error.retryable
    assert f"HTTP {status}" in str(error)
    assert "busy" in str(error)


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, "bad"),
        (401, "key was refused"),
        (403, "key was refused"),
        (404, "'/v1'"),
        (422, "bad"),
        (501, "bad"),
    ],
)
async def test_what_will_not_pass_is_not_retryable_and_says_where_to_look(status: int, hint: str) -> None:
    error = await refused(status, "bad")
    assert not error.retryable
    assert hint in str(error)
    assert "model 'small' at 'http://house:8000/v1'" in str(error)


async def test_a_missing_key_is_named_as_missing() -> None:
    with pytest.raises(BackendError, match="no key was sent"):
        await model(lambda _: httpx.Response(401)).complete(PROMPT)


async def test_an_empty_account_is_no_rate_limit() -> None:
    error = await refused(429, '{"error": {"code": "insufficient_quota"}}')
    assert not error.retryable


async def test_a_redirect_names_the_address_to_use() -> None:
    error = await refused(308, "", Location="https://house/v1/chat/completions")
    assert not error.retryable
    assert "https://house/v1/chat/completions" in str(error)


@pytest.mark.parametrize(
    ("body", "named", "not_named"),
    [
        ("unknown field response_format", "response_format", "logprobs"),
        ("logprobs is not supported", "logprobs", "response_format"),
        ("bad request", "logprobs, response_format", "seed"),
    ],
)
async def test_a_server_that_lacks_a_setting_gets_it_named(body: str, named: str, not_named: str) -> None:
    error = await refused(400, body, Sampling(schema='{"type": "object"}', first_token=("Yes",)))
    hint = str(error).rpartition("; ")[2]
    assert named in hint
    assert not_named not in hint


async def test_a_server_that_asks_to_wait_is_heard() -> None:
    assert (await refused(429, Retry_After="7")).retry_after == 7.0
    assert (await refused(503)).retry_after is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Fri, 01 May 2026 12:00:30 GMT", 30.0),
        ("Fri, 01 May 2026 12:00:30 -0000", 30.0),
        ("Fri, 01 May 2026 13:00:30 +0100", 30.0),
        ("Fri, 01 May 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999", None),
        ("Mon, 01 Jan 99999 00:00:00 GMT", None),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
    ],
)
def test_retry_after_as_seconds_or_date(value: str, seconds: float | None) -> None:
    assert retry_after(value, now=datetime(2026, 5, 1, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize("charset", ["rot13", "base64", "hex", "undefined", "idna", "utf-16", "none such"])
async def test_whatever_encoding_a_server_claims_its_words_are_told(charset: str) -> None:
    error = await refused(500, "busy", Content_Type=f"text/plain; charset={charset}")
    assert "busy" in str(error)
    assert error.retryable


async def test_a_body_that_is_no_text_is_told_all_the_same() -> None:
    with pytest.raises(BackendError, match=r"HTTP 500.*\ufffda"):
        await model(lambda _: httpx.Response(500, content=b"\xff\xfea")).complete(PROMPT)


async def test_a_long_page_is_told_in_a_few_words() -> None:
    assert len(str(await refused(500, "x" * 100_000))) < 500


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [200, 401, 500])
@pytest.mark.parametrize("before", [0, EXCERPT - 6])  # whole, and where the excerpt would cut it
async def test_the_key_is_in_no_message_even_if_the_server_repeats_it(status: int, before: int) -> None:
    error = await refused(status, "x" * before + KEY)
    assert KEY[:4] not in str(error)


@pytest.mark.parametrize("status", [200, 308, 500])
async def test_the_secrets_of_an_address_are_in_no_message_even_if_the_server_repeats_them(
    status: int,
) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, text=f"no {request.url}", headers={"Location": str(request.url)})

    llm = model(respond, url="http://somebody:hu%2Fsh@house/v1?code=well+hidden%2F&api-version=2")
    with pytest.raises(BackendError) as caught:
        await llm.complete(PROMPT)
    assert "'http://house/v1'" in str(caught.value)
    assert not any(secret in str(caught.value) for secret in ("hu%2Fsh", "hu/sh", "hidden", "somebody"))


@pytest.mark.parametrize("url", ["http://me:hu/sh@house", "me:hush@house/v1", "ftp://me:hush@house?k=hush"])
def test_an_address_that_is_none_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(ConfigError, match="'small'") as caught:
        OpenAICompatible(url, "small")
    assert "hu" not in str(caught.value)


@pytest.mark.parametrize("name", ["stall", "total"])
@pytest.mark.parametrize("value", [float("nan"), 0.0, -1.0, float("inf"), 1e9])
def test_a_limit_that_is_none_is_refused_and_named(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"'small': {name} is {value!r}".replace("+", r"\+")):
        OpenAICompatible("http://house/v1", "small", **{name: value})


@pytest.mark.parametrize("kind", [OpenAICompatible, Endpoint])
def test_repr_shows_address_and_model_but_no_secret(kind: Callable[..., object]) -> None:
    shown = repr(kind("http://me:hush@house/v1?code=hidden", "small", KEY))
    assert "'http://house/v1'" in shown
    assert "small" in shown
    assert not any(secret in shown for secret in ("hush", "hidden", KEY))
