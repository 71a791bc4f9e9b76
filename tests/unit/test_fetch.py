import asyncio
import gzip
import socket
import ssl
import subprocess
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from distinguo.backends.web.fetch import Caution, Page, fetch, page_url
from distinguo.backends.web.public import is_public
from distinguo.errors import BackendError, ConfigError

LOCAL = Caution(seconds=20, trusted=(ip_network("127.0.0.0/8"),))
OK = b"HTTP/1.1 200 OK\r\n"
PUBLIC = "93.184.216.34"

Writer = asyncio.StreamWriter
Script = Callable[[str, Writer], Awaitable[None]]
"""Is told the path, and writes the whole response."""


def response(
    content: bytes = b"text", kind: str = "text/plain", *, status: int = 200, **headers: str
) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


@dataclass
class Web:
    """A server on this machine, and what it was asked."""

    port: int = 0
    requests: list[str] = field(default_factory=list)

    def at(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def web(script: Script | dict[str, bytes], tls: ssl.SSLContext | None = None) -> AsyncIterator[Web]:
    running, tasks = Web(), set()

    async def serve(reader: asyncio.StreamReader, writer: Writer) -> None:
        tasks.add(asyncio.current_task())
        try:
            await answer(reader, writer)
        finally:
            writer.close()

    async def answer(reader: asyncio.StreamReader, writer: Writer) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        running.requests.append(request)
        path = request.split()[1]
        with suppress(ConnectionError):
            if isinstance(script, dict):
                writer.write(script.get(path, response(status=404)))
            else:
                await script(path, writer)
            await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The name server of these tests: addresses by host; those of "host#2" from the second question on."""
    table: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def answer(host, *arguments, **options):
        if host in table:
            found = [real(address, *arguments, **options)[0] for address in table[host]]
            table[host] = table[host + "#2"] if host + "#2" in table else table[host]
            return found
        try:
            ip_address(host)  # no test asks a real name server
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, "not known") from None
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return table


async def test_a_page_comes_with_its_type_and_charset() -> None:
    script = {"/p?q=1": response("Grün".encode("latin-1"), "Text/HTML; Charset=ISO-8859-1")}
    async with web(script) as here:
        page = await fetch(here.at("/p?q=1#part"), LOCAL)
    assert page == Page(here.at("/p?q=1"), "Grün".encode("latin-1"), "text/html", "iso-8859-1")
    (request,) = here.requests
    assert f"Host: 127.0.0.1:{here.port}\r\n" in request
    assert "cookie" not in request.lower()
    assert "authorization" not in request.lower()


async def test_redirects_are_followed_without_cookies(names: dict[str, list[str]]) -> None:
    names["docs.example"] = ["127.0.0.1"]
    script = {
        "/old": response(status=301, Location="/new", Set_Cookie="id=7; Path=/"),
        "/new": response(b"here"),
    }
    async with web(script) as here:
        page = await fetch(here.at("/old", "docs.example"), LOCAL)
    assert (page.url, page.content) == (here.at("/new", "docs.example"), b"here")
    assert all(f"Host: docs.example:{here.port}" in request for request in here.requests)
    assert not any("cookie" in request.lower() for request in here.requests)


async def test_proxies_and_netrc_of_the_environment_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with web({"/": response()}) as here:
        assert (await fetch(here.at(), LOCAL)).content == b"text"
    assert "authorization" not in here.requests[0].lower()


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
        ),
        *("192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1"),
        *("[::1]", "[::]", "[fe80::1]", "[fd00:ec2::254]", "[ff02::1]", "[::ffff:93.184.216.34]"),
        *("[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:0:1::]", "168.63.129.16"),
    ],
)
async def test_an_address_that_is_not_public_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises(BackendError, match="not a public address") as caught:
        await fetch(f"http://{host}/")
    assert not caught.value.retryable


@pytest.mark.parametrize("text", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111"])
def test_public_addresses_are_known(text: str) -> None:
    assert is_public(ip_address(text))


async def test_a_name_with_one_private_address_is_refused(names: dict[str, list[str]]) -> None:
    names["mixed.example"] = [PUBLIC, "127.0.0.1"]
    with pytest.raises(BackendError, match=r"mixed.example.*127\.0\.0\.1"):
        await fetch("http://mixed.example/")


async def test_a_second_answer_of_the_name_server_changes_nothing(names: dict[str, list[str]]) -> None:
    async with web({"/": response()}) as here, web({"/": response(b"stolen")}) as inner:
        names["rebinding.example"], names["rebinding.example#2"] = ["127.0.0.1"], ["127.0.0.2"]
        caution = replace(LOCAL, trusted=(ip_network("127.0.0.1/32"),))
        assert (await fetch(here.at(host="rebinding.example"), caution)).content == b"text"
        with pytest.raises(BackendError, match=r"127\.0\.0\.2"):
            await fetch(here.at(host="rebinding.example"), caution)
    assert inner.requests == []


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("http://127.0.0.2/", "not a public address"),
        ("http://inner.example/", "not a public address"),
        ("file:///etc/passwd", "where we do not go"),
        ("http://me:secret@127.0.0.1/", "where we do not go"),
        ("http://h:x/", "where we do not go"),
    ],
)
async def test_every_redirect_is_looked_at(names: dict[str, list[str]], location: str, message: str) -> None:
    names["inner.example"] = ["10.0.0.1"]
    caution = replace(LOCAL, trusted=(ip_network("127.0.0.1/32"),))
    async with web({"/": response(status=302, Location=location)}) as here:
        with pytest.raises(BackendError, match=message) as caught:
            await fetch(here.at(), caution)
    assert "secret" not in str(caught.value)


async def test_redirects_end() -> None:
    async with web({"/": response(status=302, Location="/")}) as here:
        with pytest.raises(BackendError, match="more than 3 times"):
            await fetch(here.at(), replace(LOCAL, redirects=3))
    assert len(here.requests) == 4


async def test_a_page_that_is_too_large_is_refused() -> None:
    async with web({"/": response(b"x" * 1001), "/fits": response(b"x" * 1000)}) as here:
        small = replace(LOCAL, size=1000)
        assert len((await fetch(here.at("/fits"), small)).content) == 1000
        with pytest.raises(BackendError, match="larger than 1,000 bytes"):
            await fetch(here.at(), small)


async def test_packed_pages_are_unpacked_but_no_further_than_the_limit() -> None:
    bomb = gzip.compress(b"\0" * 200_000_000)
    script = {
        "/": response(gzip.compress(b"packed"), Content_Encoding="gzip"),
        "/bomb": response(bomb, Content_Encoding="gzip"),
        "/cut": response(gzip.compress(b"packed")[:-9], Content_Encoding="gzip"),
        "/false": response(b"not packed", Content_Encoding="gzip"),
        "/twice": response(gzip.compress(b"a") + gzip.compress(b"b"), Content_Encoding="gzip"),
        "/deflate": response(zlib.compress(b"a"), Content_Encoding="deflate"),
        "/double": response(gzip.compress(gzip.compress(b"a")), Content_Encoding="gzip, gzip"),
    }
    async with web(script) as here:
        assert (await fetch(here.at(), LOCAL)).content == b"packed"
        tracemalloc.start()
        with pytest.raises(BackendError, match="larger"):
            await fetch(here.at("/bomb"), replace(LOCAL, size=1_000_000))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 10_000_000
        for path in ("/cut", "/false", "/twice", "/deflate", "/double"):
            with pytest.raises(BackendError, match="packed"):
                await fetch(here.at(path), LOCAL)


@pytest.mark.parametrize("start", [b"", OK, OK + b"Content-Length: 9999\r\n\r\n"])
async def test_a_server_that_drips_is_left_after_the_total_time(start: bytes) -> None:
    async def drip(path: str, writer: Writer) -> None:
        writer.write(start)
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)  # the drip itself; the test waits for the limit

    async with web(drip) as here:
        with pytest.raises(BackendError, match=r"within 0\.2 seconds") as caught:
            await fetch(here.at(), replace(LOCAL, seconds=0.2))
    assert caught.value.retryable


async def test_refusals_of_a_server_are_errors_that_say_whether_to_try_again() -> None:
    script = {"/gone": response(status=404), "/busy": response(status=503), "/cut": response(b"x")[:-1]}
    async with web(script) as here:
        for path, retryable in {"/gone": False, "/busy": True, "/cut": True}.items():
            with pytest.raises(BackendError, match=path) as caught:
                await fetch(here.at(path), LOCAL)
            assert caught.value.retryable == retryable
    with pytest.raises(BackendError, match="cannot be fetched"):
        await fetch(here.at(), LOCAL)


async def test_another_address_is_tried_where_one_does_not_answer(names: dict[str, list[str]]) -> None:
    async with web({"/": response()}) as here:
        names["two.example"] = ["::1", "127.0.0.1"]
        caution = replace(LOCAL, trusted=(*LOCAL.trusted, ip_network("::1")))
        assert (await fetch(here.at(host="two.example"), caution)).content == b"text"


async def test_a_host_that_is_not_known_is_an_error(names: dict[str, list[str]]) -> None:
    for host in ("nowhere.example", "a" * 80):
        with pytest.raises(BackendError, match="cannot be found"):
            await fetch(f"http://{host}/")


@pytest.mark.parametrize(
    "text",
    [
        *("ftp://h/", "file:///etc/passwd", "http:///p", "http://h:99999/", "http://①②⑦.⓪.⓪.①/", "h", ""),
        *("http://h\n/", "http://me@h/", "http://0177.0.0.1/"),
    ],
)
def test_what_is_no_address_of_a_page_is_a_mistake(text: str) -> None:
    with pytest.raises(ConfigError, match="address"):
        page_url(text)


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(ConfigError, match="leave it out") as caught:
        page_url("https://me:secret@docs.example/")
    assert "secret" not in str(caught.value)


async def test_a_certificate_must_be_of_the_name(
    tmp_path: Path, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=DNS:docs.example", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    names["docs.example"] = names["other.example"] = ["127.0.0.1"]
    async with web({"/": response()}, tls) as here:
        page = await fetch(f"https://docs.example:{here.port}/", LOCAL)
        assert page.content == b"text"
        for host in ("other.example", "127.0.0.1"):
            with pytest.raises(BackendError, match=r"(?i)certificate"):
                await fetch(f"https://{host}:{here.port}/", LOCAL)
