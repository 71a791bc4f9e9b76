"""What every OpenAI-compatible endpoint shares: its address, its key, and its failures in our words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Final, TypeVar, final
from urllib.parse import unquote, unquote_plus

import httpx
from pydantic import BaseModel, ValidationError

from distinguo.errors import BackendError, ConfigError

Wire = TypeVar("Wire", bound=BaseModel)

RETRYABLE: Final = frozenset({408, 409, 425, 429})  # and every 5xx but 501: the server may do better later
QUOTA: Final = "insufficient_quota"  # a 429 that waiting does not mend
EXCERPT: Final = 300  # characters of a server's own words that a message repeats
CONNECT: Final = 10.0  # seconds; no server that will answer at all takes longer to accept a connection
LONGEST: Final = 86_400.0  # seconds; a limit beyond a day is a slip, and sockets overflow at some
SECRET: Final = 8  # characters from which a user's name or a value in an address's query may be a key


@final
@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one base address. No message and no ``repr`` holds its key, nor userinfo or query.

    Raises `ConfigError` for an address without http(s) or host, and for a key that no header can carry.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.url)
        except httpx.InvalidURL:  # it quotes what may be half of a password
            raise self._no_address("cannot be read") from None
        if url.scheme not in {"http", "https"} or not url.host:
            raise self._no_address(f"has scheme {url.scheme!r} and host {url.host!r}")
        if self.key is not None and not re.fullmatch(r"[!-~]+", self.key):
            raise ConfigError(
                f"the key of model {self.model!r} is empty or holds spaces, line breaks or "
                "non-ASCII characters; look at the environment variable that it comes from"
            )

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r}, {self.model!r})"

    @property
    def shown(self) -> str:
        """The address as people may see it: without userinfo and query."""
        return str(httpx.URL(self.url).copy_with(userinfo=b"", query=None))

    def at(self, path: str) -> httpx.URL:
        """The address of `path` below the base address, whose own query (``?api-version=…``) stays."""
        base = httpx.URL(self.url)
        return base.copy_with(path=f"{base.path.rstrip('/')}/{path}")

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        known = {"Content-Type": "application/json", "Accept": "application/json"}
        return known if self.key is None else known | {"Authorization": f"Bearer {self.key}"}

    def body(self, fields: Mapping[str, object]) -> bytes:
        """`fields` and the model as JSON; ASCII, so that even a lone surrogate in a prompt can be sent."""
        return json.dumps({"model": self.model, **fields}).encode()

    def read(self, response: httpx.Response, kind: type[Wire], *, asked: Sequence[str] = ()) -> Wire:
        """The body of a good response as a `kind`; raises `BackendError` for any other response.

        A body that cannot be read is retryable: such a 200 is mostly a gateway's passing page, and where the
        address is wrong the last try says the same as the first.
        `asked` names the request's fields that not every server knows, for the message when this one refuses.
        """
        if not response.is_success:
            raise self._refused(response, asked)
        try:
            return kind.model_validate_json(response.content)
        except ValidationError as error:
            place = ".".join(str(step) for step in error.errors()[0]["loc"]) or "the start"
            raise self.error(
                f"expected a JSON reply of the OpenAI form, got {self._excerpt(response)} "
                f"(unreadable at {place}); if this stays so, look at the address: most end in '/v1'",
                retryable=True,
            ) from error

    def error(self, what: str, *, retryable: bool, retry_after: float | None = None) -> BackendError:
        """An error that names model and address; should `what` repeat a secret, it is cut out."""
        message = f"model {self.model!r} at {self.shown!r}: {self._without_secrets(what)}"
        return BackendError(message, retryable=retryable, retry_after=retry_after)

    def unreachable(self, error: httpx.HTTPError) -> BackendError:
        """The error for a connection that failed, stalled, or ended in the middle of a reply."""
        reason = str(error) or type(error).__name__
        match error:
            case httpx.ConnectError() | httpx.ConnectTimeout():
                what = f"cannot connect ({reason}); is the server running?"
            case httpx.TimeoutException():
                what = f"no byte came within the stall limit ({reason})"
            case _:
                what = f"the connection broke before the reply was whole ({reason})"
        return self.error(what, retryable=True)

    def _refused(self, response: httpx.Response, asked: Sequence[str]) -> BackendError:
        status, words = response.status_code, _words(response)
        hint = self._hint(response, [name for name in asked if name in words] or asked)
        mends = status in RETRYABLE or (status >= 500 and status != 501)
        return self.error(
            f"HTTP {status}, {self._excerpt(response)}" + (f"; {hint}" if hint else ""),
            retryable=mends and QUOTA not in words,
            retry_after=retry_after(response.headers.get("Retry-After", ""), now=datetime.now(UTC)),
        )

    def _hint(self, response: httpx.Response, asked: Sequence[str]) -> str:
        match response.status_code:
            case 401 | 403 if self.key:
                return "the key was refused: look at the environment variable that `key_env` names"
            case 401 | 403:
                return "no key was sent: name the environment variable that holds it with `key_env`"
            case 404:
                return "look at the address (most end in '/v1') and at the model's name"
            case 400 | 422 if asked:
                return f"the call used {', '.join(asked)}, which this server may not know"
            case 301 | 302 | 303 | 307 | 308:
                return f"it moved to {response.headers.get('Location')!r}: give the final address as `url`"
            case _:
                return ""

    def _excerpt(self, response: httpx.Response) -> str:
        words = " ".join(self._without_secrets(_words(response)).split())
        return repr(words[:EXCERPT] + "…" * (len(words) > EXCERPT)) if words else "an empty body"

    def _without_secrets(self, text: str) -> str:
        url = httpx.URL(self.url)
        name, _, password = url.userinfo.decode().partition(":")
        values = [pair.partition("=")[2] for pair in url.query.decode().split("&")]
        perhaps = (value for value in (name, *values) if len(value) >= SECRET)
        for secret in filter(None, (self.key, password, *perhaps)):
            for written in (secret, unquote(secret), unquote_plus(secret)):
                text = text.replace(written, "[key]")
        return text

    def _no_address(self, what: str) -> ConfigError:
        return ConfigError(
            f"the address of model {self.model!r} {what}; expected one such as 'http://localhost:8000/v1'"
        )


def _words(response: httpx.Response) -> str:
    """The body as text, whatever encoding the server claims (some names of encodings crash decoders)."""
    return response.content.decode("utf-8", "replace")


def retry_after(value: str, *, now: datetime) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, by number or date; None if it cannot be read."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
            seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now.timestamp()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if isfinite(seconds) else None


def check_seconds(model: str, **seconds: float) -> None:
    """Raise `ConfigError` for a limit that is none."""
    for name, value in seconds.items():
        if not 0 < value <= LONGEST:
            raise ConfigError(
                f"model {model!r}: {name} is {value!r}; expected seconds above 0, up to {LONGEST:.0f}"
            )


def limits(stall: float) -> httpx.Timeout:
    """No byte for `stall` seconds is an error; waiting for a free connection is not (callers bound that)."""
    return httpx.Timeout(stall, connect=min(stall, CONNECT), pool=None)
