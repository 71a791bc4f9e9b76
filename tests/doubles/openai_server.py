"""An OpenAI-compatible server on 127.0.0.1 that replies by script and, when told to, fails as real ones do.

    with serving(lambda asked: f"You said {asked.last!r}.") as server:
        llm = OpenAICompatible(server.url, "double")

A script returns a text, which the server cuts to the limits that were asked for, or one of the records below.
`faulty` wraps a script so that a seeded share of the calls fails.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, get_args

Fault = Literal["429", "429 bare", "500", "cut", "html", "empty", "nan", "stall"]
FAULTS: tuple[Fault, ...] = get_args(Fault)


@dataclass(frozen=True)
class Asked:
    """One request as it came; `number` counts from 0."""

    number: int
    path: str
    headers: Mapping[str, str]
    fields: dict[str, Any]

    @property
    def last(self) -> str:
        """The last message's content."""
        return self.fields["messages"][-1]["content"]


@dataclass(frozen=True)
class Chat:
    """A reply as the model wrote it, before any limit, with the likeliest first tokens."""

    text: str
    tops: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Body:
    """Any response at all."""

    content: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    type: str = "application/json"


@dataclass(frozen=True)
class Cut:
    """The good reply, whose connection breaks in the middle."""

    text: str = "It would have been a long reply."


@dataclass(frozen=True)
class Stall:
    """Silence for so many seconds, then the end of the connection."""

    seconds: float = 60.0


Reply = str | Chat | Body | Cut | Stall
Script = Callable[[Asked], Reply]


def faulty(script: Script, *, seed: int, share: float = 0.5, faults: Sequence[Fault] = FAULTS) -> Script:
    """`script`, but a seeded `share` of the calls meets one of the `faults`, by its number."""

    def reply(asked: Asked) -> Reply:
        chance = random.Random(f"{seed} {asked.number}")
        return fail(chance.choice(faults), asked, script) if chance.random() < share else script(asked)

    return reply


def fail(fault: Fault, asked: Asked, script: Script) -> Reply:
    """One fault."""
    match fault:
        case "429":
            return Body('{"error": {"message": "slow down"}}', 429, {"Retry-After": "0"})
        case "429 bare":
            return Body('{"error": {"message": "slow down"}}', 429)
        case "500":
            return Body("Internal Server Error", 500, type="text/plain")
        case "cut":
            return Cut()
        case "html":
            return Body("<!doctype html><title>Just a moment…</title>", type="text/html")
        case "empty":
            return Body('{"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 0}}')
        case "nan":
            reply = script(asked)
            return Chat(reply, {reply.split(" ")[0]: float("nan")}) if isinstance(reply, str) else reply
        case "stall":
            return Stall()


def vector(text: str) -> list[float]:
    """A vector of eight numbers that depends on `text` alone; not normalised."""
    return [float(byte) - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:8]]


@dataclass
class Server:
    """A running double: where it is, and what it was asked so far."""

    url: str
    asked: list[Asked]
    stalled: threading.Event
    """Set once a call stalls: what cancels a call in flight waits for it."""


@contextmanager
def serving(
    script: Script = lambda asked: f"You said: {asked.last}",
    *,
    embed: Callable[[str], Sequence[float]] = vector,
) -> Iterator[Server]:
    """Serve until the block ends; then stalls end too, and every thread is joined."""
    httpd = _Httpd(script, embed)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{httpd.server_port}/v1", httpd.asked, httpd.stalled)
    finally:
        httpd.closing.set()
        httpd.shutdown()
        thread.join()
        httpd.server_close()


class _Httpd(ThreadingHTTPServer):
    daemon_threads = False  # joined, so that no test leaves a thread behind
    request_queue_size = 256

    def __init__(self, script: Script, embed: Callable[[str], Sequence[float]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script, self.embed = script, embed
        self.asked: list[Asked] = []
        self.lock, self.closing, self.stalled = threading.Lock(), threading.Event(), threading.Event()

    def ask(self, path: str, headers: Mapping[str, str], fields: dict[str, Any]) -> Asked:
        with self.lock:
            asked = Asked(len(self.asked), path, headers, fields)
            self.asked.append(asked)
        return asked


class _Handler(BaseHTTPRequestHandler):
    """One request a connection (HTTP/1.0), so that closing the server waits for no idle client."""

    server: _Httpd

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet."""

    def do_POST(self) -> None:
        fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = self.server.ask(self.path, headers, fields)
        with suppress(ConnectionError):  # the client may go away, as clients do
            self._reply(asked)

    def _reply(self, asked: Asked) -> None:
        if asked.path.endswith("/embeddings"):
            rows = [
                {"index": i, "embedding": self.server.embed(t)} for i, t in enumerate(asked.fields["input"])
            ]
            return self._send(Body(json.dumps({"data": rows[::-1]})))
        match self.server.script(asked):
            case str(text):
                self._send(_chat(asked, Chat(text)))
            case Chat() as chat:
                self._send(_chat(asked, chat))
            case Body() as body:
                self._send(body)
            case Cut(text):
                self._send(_chat(asked, Chat(text)), share=0.5)
            case Stall(seconds):
                self.server.stalled.set()
                self.server.closing.wait(seconds)
        return None

    def _send(self, body: Body, *, share: float = 1.0) -> None:
        content = body.content.encode()
        self.send_response(body.status)
        self.send_header("Content-Type", body.type)
        self.send_header("Content-Length", str(len(content)))
        for name, value in body.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: int(len(content) * share)])


def _chat(asked: Asked, chat: Chat) -> Body:
    """The reply under the limits that were asked for; a token is a word with the space before it."""
    fields, text = asked.fields, chat.text
    for stop in fields.get("stop", ()):
        text = text.split(stop)[0]
    words = text.split(" ")
    kept = words[: fields["max_tokens"]]
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": " ".join(kept)},
        "finish_reason": "length" if len(kept) < len(words) else "stop",
    }
    if fields.get("logprobs"):
        tops = [{"token": token, "logprob": value} for token, value in chat.tops.items()]
        choice["logprobs"] = {"content": [{"token": kept[0], "logprob": -0.1, "top_logprobs": tops}]}
    read = sum(len(message["content"].split()) for message in fields["messages"])
    usage = {"prompt_tokens": read, "completion_tokens": len(kept), "total_tokens": read + len(kept)}
    return Body(json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}))
