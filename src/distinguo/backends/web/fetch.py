"""Fetches one page from the public web, and nothing from anywhere else.

Where a name leads decides, not how it is written: it is resolved here, every address that it has must be
public, and the connection goes to an address that was looked at, so that no second answer of a name server
can lead it elsewhere. Every redirect is looked at in the same way. Requests go through a bare transport:
there are no cookies, proxies or credentials to forget about.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.message import Message
from ssl import SSLContext
from typing import Final, final

import httpx

from distinguo.backends.web.public import Network, address_of, is_public
from distinguo.errors import BackendError, ConfigError

_HEADERS: Final = {"User-Agent": "distinguo", "Accept": "*/*", "Accept-Encoding": "gzip"}
_GZIP: Final = 16 + zlib.MAX_WBITS  # how zlib calls this format
_PORTS: Final = range(1, 2**16)
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


@final
@dataclass(frozen=True, slots=True)
class Caution:
    """How much of a page, how long, and whom we deal with.

    Attributes:
        seconds: for all of it, name server and redirects included.
        size: most bytes of a page, unpacked.
        redirects: how often a page may send us on.
        trusted: networks that may be reached although they are not public. For tests.
    """

    seconds: float = 30.0
    size: int = 32 * 2**20
    redirects: int = 5
    trusted: tuple[Network, ...] = ()


CAUTION: Final = Caution()


@final
@dataclass(frozen=True, slots=True)
class Page:
    """What was at an address.

    Attributes:
        url: where it was at last, after redirects.
        content: its bytes, unpacked.
        type: its media type in lower case, such as ``text/html``; empty if the server named none.
        charset: the encoding that the server named, in lower case, or empty.
    """

    url: str
    content: bytes
    type: str
    charset: str


async def fetch(url: str, caution: Caution = CAUTION) -> Page:
    """What is at `url` now.

    Raises:
        ConfigError: `url` is no address of a page (see `page_url`).
        BackendError: it leads to an address that is not public, fails, takes too long, is too large, or
            answers with anything but success.
    """
    start = page_url(url)
    try:
        async with asyncio.timeout(caution.seconds):
            return await _follow(start, caution)
    except TimeoutError as error:
        raise BackendError(
            f"{start!r} was not whole within {caution.seconds:g} seconds", retryable=True
        ) from error
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise BackendError(f"{start!r} cannot be fetched: {reason}", retryable=True) from error


def page_url(text: str) -> str:
    """`text` as the address of a page: http(s), with a host, without fragment. Raises `ConfigError`."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, TypeError) as error:
        raise ConfigError(f"{text!r} is no address: {error}") from error
    if url.userinfo:
        raise ConfigError("the address holds a name or password, which an index would keep; leave it out")
    if url.scheme not in ("http", "https") or not url.host or (url.port or 80) not in _PORTS:
        raise ConfigError(f"{text!r} is no address of a page; expected http://… or https://…")
    return str(url.copy_with(fragment=None))


async def _follow(start: str, caution: Caution) -> Page:
    url, context = start, httpx.create_ssl_context()
    for _ in range(caution.redirects + 1):
        async with _opened(httpx.URL(url), context, caution) as response:
            if not response.has_redirect_location:
                return await _page(url, response, caution)
            try:
                url = page_url(str(httpx.URL(url).join(response.headers["Location"])))
            except (ConfigError, httpx.InvalidURL) as error:
                raise BackendError(f"{start!r} redirects to where we do not go: {error}") from error
    raise BackendError(f"{start!r} redirects more than {caution.redirects} times")


@asynccontextmanager
async def _opened(url: httpx.URL, context: SSLContext, caution: Caution) -> AsyncGenerator[httpx.Response]:
    """The response at `url`, its body not read yet, from the first of its addresses that accepts us."""
    addresses = await _addresses(_host(url), caution)
    async with httpx.AsyncHTTPTransport(verify=context) as transport:
        for address in addresses:
            try:
                response = await transport.handle_async_request(_request(url, address, caution))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if address == addresses[-1]:
                    raise
                continue
            try:
                yield response
            finally:
                await response.aclose()
            return


def _request(url: httpx.URL, address: str, caution: Caution) -> httpx.Request:
    """A request to `address`; the certificate there is held against the name in `url` all the same."""
    return httpx.Request(
        "GET",
        url.copy_with(host=address),
        headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
        extensions={"sni_hostname": _host(url), "timeout": httpx.Timeout(caution.seconds).as_dict()},
    )


def _host(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii")


async def _addresses(host: str, caution: Caution) -> list[str]:
    """The addresses of `host`; raises `BackendError` unless there are some, and all may be reached."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise BackendError(f"the host {host!r} cannot be found: {error}", retryable=True) from error
    addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
    for address in map(address_of, addresses):
        if not is_public(address) and not any(address in network for network in caution.trusted):
            raise BackendError(
                f"the host {host!r} is at {address}, which is not a public address: it may be a service of "
                "this machine or network that is not meant for documents. Save the page, and index the file"
            )
    return addresses


async def _page(url: str, response: httpx.Response, caution: Caution) -> Page:
    if response.status_code != 200:
        raise BackendError(
            f"{url!r} answers with HTTP {response.status_code}", retryable=response.status_code in _PASSING
        )
    content = bytearray()
    async for piece in _unpacked(url, response, caution.size):
        content += piece
        if len(content) > caution.size:
            raise BackendError(f"{url!r} is larger than {caution.size:,} bytes")
    named = Message()
    named["Content-Type"] = response.headers.get("Content-Type", "")
    kind = named.get_content_type() if named["Content-Type"] else ""
    return Page(url, bytes(content), kind, named.get_content_charset(""))


async def _unpacked(url: str, response: httpx.Response, size: int) -> AsyncIterator[bytes]:
    """The body in pieces, which are never much longer than `size`, whatever they are packed into."""
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packing == "identity":
        async for piece in response.aiter_raw():
            yield piece
        return
    if packing not in ("gzip", "x-gzip"):
        raise BackendError(f"{url!r} comes packed as {packing!r}, which was not asked for")
    unpacker = zlib.decompressobj(_GZIP)
    try:
        async for piece in response.aiter_raw():
            yield unpacker.decompress(piece, size + 1)
    except zlib.error as error:
        raise BackendError(f"{url!r} is not packed as it says: {error}", retryable=True) from error
    if not unpacker.eof or unpacker.unused_data:
        raise BackendError(f"{url!r} does not end where what is packed does", retryable=True)
