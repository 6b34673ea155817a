"""What a setup script can reach through the proxy, and what it cannot: real sockets, real TLS."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.environments.registry_proxy import (
    Endpoint,
    ProxyRequest,
    Refused,
    RegistryProxy,
    Upstream,
    is_inner,
    parsed,
)
from nightshift.verdict.environments.tls_hello import server_name

HERE = "127.0.0.1"


@dataclass
class Registry:
    """A server of packages; what it was asked for, with the headers."""

    port: int
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    elsewhere: str = ""


@contextlib.contextmanager
def registry(certificate: Path | None = None) -> Iterator[Registry]:
    """A server on loopback: `/moved` leads elsewhere, `/large` has a megabyte, all else is `package`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found.asked.append((self.path, dict(self.headers)))
            body = b"x" * (1 << 20) if self.path == "/large" else b"package"
            self.send_response(302 if self.path == "/moved" else 200)
            if self.path == "/moved":
                self.send_header("Location", found.elsewhere)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer((HERE, 0), Handler)
    server.daemon_threads = True
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    found = Registry(port=server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.asynccontextmanager
async def serving(proxy: RegistryProxy) -> AsyncIterator[int]:
    """The port of a proxy."""
    listening = socket.create_server((HERE, 0))
    async with proxy.serving(listening):
        yield listening.getsockname()[1]


def plain(one: Registry) -> Endpoint:
    return Endpoint(host=HERE, port=one.port, tls=False, configured=True)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificate") / "localhost.pem"
    words = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *words]
    subprocess.run([*made, "-keyout", path, "-out", path.with_suffix(".crt")], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


async def fetched(port: int, url: str, context: ssl.SSLContext | None = None) -> bytes:
    """What an ordinary client gets by way of the proxy."""

    def fetch() -> bytes:
        proxies = urllib.request.ProxyHandler({"http": f"http://{HERE}:{port}", "https": f"http://{HERE}:{port}"})
        opener = urllib.request.build_opener(proxies, urllib.request.HTTPSHandler(context=context))
        with opener.open(url, timeout=20) as answer:
            return bytes(answer.read())

    return await asyncio.to_thread(fetch)


async def said(port: int, text: bytes) -> bytes:
    """All that the proxy answers to these bytes."""
    reader, writer = await asyncio.open_connection(HERE, port)
    writer.write(text)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return answer


async def test_a_registry_is_reached_by_plain_http_and_each_request_is_counted() -> None:
    with registry() as one:
        proxy = RegistryProxy([plain(one)])
        async with serving(proxy) as port:
            assert await fetched(port, f"http://{HERE}:{one.port}/simple/?q=1") == b"package"
        ((path, headers),) = one.asked
    assert path == "/simple/?q=1"
    assert (headers["Host"], headers["Connection"]) == (f"{HERE}:{one.port}", "close")
    ((count, size),) = proxy.traffic.reached.values()
    assert count == 1
    assert size > len(b"package")
    assert not proxy.traffic.refused


async def test_a_registry_is_reached_by_tls_in_a_tunnel(certificate: Path) -> None:
    with registry(certificate) as one:
        endpoint = Endpoint(host="localhost", port=one.port, configured=True)
        proxy = RegistryProxy([endpoint])
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with serving(proxy) as port:
            assert await fetched(port, f"https://localhost:{one.port}/simple/", trusting) == b"package"
    assert proxy.traffic.reached[endpoint.shown][0] == 1


REFUSED = {
    "another host": "GET http://elsewhere.example/ HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
    "another port": "GET http://127.0.0.1:22/ HTTP/1.1\r\n\r\n",
    "a tunnel to another host": "CONNECT elsewhere.example:443 HTTP/1.1\r\n\r\n",
    "a tunnel to another port of a registry": "CONNECT packages.example:22 HTTP/1.1\r\n\r\n",
    "a tunnel to a registry without TLS": "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n",
    "plain HTTP to a registry with TLS": "GET http://packages.example:443/ HTTP/1.1\r\n\r\n",
    "an address": "CONNECT 203.0.113.9:443 HTTP/1.1\r\n\r\n",
    "an address of six": "CONNECT [::1]:PORT HTTP/1.1\r\n\r\n",
    "an address as one number": "GET http://2130706433:PORT/ HTTP/1.1\r\n\r\n",
    "a name before the host": "GET http://127.0.0.1:PORT@elsewhere.example/ HTTP/1.1\r\n\r\n",
    "a host that ends like a registry": "CONNECT evil-packages.example:443 HTTP/1.1\r\n\r\n",
    "another Host header": "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
    "two Host headers": "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nHost: 127.0.0.1\r\n\r\n",
    "a header in a header": "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nA: b\nHost: elsewhere.example\r\n\r\n",
    "a folded header": "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nA: b\r\n Host: elsewhere.example\r\n\r\n",
    "no host": "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    "another scheme": "GET ftp://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n",
    "an upload": "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nContent-Length: 4\r\n\r\ndata",
    "a body": "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nContent-Length: 4\r\n\r\ndata",
    "chunks": "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "no HTTP": "SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "a huge head": "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nA: " + "a" * 40_000 + "\r\n\r\n",
}


@pytest.mark.parametrize("what", REFUSED)
async def test_nothing_else_is_reached(what: str) -> None:
    with registry() as one:
        proxy = RegistryProxy([plain(one), Endpoint(host="packages.example", port=443)])
        async with serving(proxy) as port:
            answer = await said(port, REFUSED[what].replace("PORT", str(one.port)).encode())
        assert answer.startswith(b"HTTP/1.1 4"), answer
        assert not one.asked
    assert sum(proxy.traffic.refused.values()) == 1
    assert not proxy.traffic.reached


async def test_a_redirect_to_another_host_leads_nowhere() -> None:
    with registry() as one, registry() as other:
        one.elsewhere = f"http://{HERE}:{other.port}/stolen"
        proxy = RegistryProxy([plain(one)])
        async with serving(proxy) as port:
            with pytest.raises(urllib.error.HTTPError, match="403"):
                await fetched(port, f"http://{HERE}:{one.port}/moved")
        assert [path for path, _ in one.asked] == ["/moved"]
        assert not other.asked
    assert list(proxy.traffic.refused) == [f"{HERE}:{other.port}"]


async def test_a_second_request_on_a_connection_is_not_sent_on() -> None:
    with registry() as one:
        ask = f"GET http://{HERE}:{one.port}/first HTTP/1.1\r\n\r\n"
        more = ask.replace("/first", "/second")
        async with serving(RegistryProxy([plain(one)])) as port:
            answer = await said(port, (ask + more).encode())
        assert answer.count(b"HTTP/1.1 200") == 1
        assert [path for path, _ in one.asked] == ["/first"]


async def test_a_name_that_leads_to_this_machine_is_refused_unless_its_owner_named_it() -> None:
    with registry() as one:
        proxy = RegistryProxy([Endpoint(host="localhost", port=one.port, tls=False)])
        async with serving(proxy) as port:
            answer = await said(port, f"GET http://localhost:{one.port}/ HTTP/1.1\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403")
        assert b"an address of this machine" in answer
        assert not one.asked


async def test_a_tunnel_carries_tls_to_its_own_host_alone(certificate: Path) -> None:
    with registry(certificate) as one:
        proxy = RegistryProxy([Endpoint(host="localhost", port=one.port, configured=True)])
        async with serving(proxy) as port:
            opening = f"CONNECT localhost:{one.port} HTTP/1.1\r\n\r\n".encode()
            for first in (hello("elsewhere.example"), hello(""), b"SSH-2.0-OpenSSH_9.2\r\n"):
                assert await said(port, opening + first) == b"HTTP/1.1 200 Connection established\r\n\r\n"
            assert (await said(port, opening + hello("localhost"))).count(b"\x16\x03") >= 1, "the registry answers"
        assert not one.asked
    assert proxy.traffic.refused == {
        f"elsewhere.example by way of localhost:{one.port}": 1,
        f"another protocol by way of localhost:{one.port}": 2,
    }


async def test_what_goes_through_is_bounded() -> None:
    with registry() as one:
        proxy = RegistryProxy([plain(one)], most_bytes=100_000)
        async with serving(proxy) as port:
            ask = f"GET http://{HERE}:{one.port}/large HTTP/1.1\r\n\r\n".encode()
            assert len(await said(port, ask)) < 400_000
            assert proxy.spent.is_set()
            assert (await said(port, ask)).startswith(b"HTTP/1.1 403")
        assert len(one.asked) == 1


async def test_a_proxy_of_this_machine_is_used_except_for_what_needs_none(certificate: Path) -> None:
    with registry() as one, registry(certificate) as two:
        near = RegistryProxy([plain(one), Endpoint(host="localhost", port=two.port, configured=True)])
        async with serving(near) as between:
            upstream = Upstream(host=HERE, port=between, authorization="Basic eDp5", except_for=(".example",))
            far = RegistryProxy(
                [plain(one), Endpoint(host="localhost", port=two.port), Endpoint(host="a.example", port=80, tls=False)],
                upstream=upstream,
            )
            async with serving(far) as port:
                assert await fetched(port, f"http://{HERE}:{one.port}/") == b"package"
                trusting = ssl.create_default_context(cafile=str(certificate))
                assert await fetched(port, f"https://localhost:{two.port}/", trusting) == b"package"
                assert (await said(port, b"GET http://a.example/ HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 502")
        assert set(near.traffic.reached) == {f"{HERE}:{one.port}", f"localhost:{two.port}"}
    assert "eDp5" not in repr(upstream)


def test_addresses_of_a_machine_and_of_a_house_are_told_from_others() -> None:
    inner = ["127.0.0.1", "10.1.2.3", "192.168.1.1", "169.254.169.254", "100.64.0.1", "::1", "fe80::1%eth0", "fd00::1",
             "::ffff:127.0.0.1", "0.0.0.0", "224.0.0.1", "64:ff9b::7f00:1"]  # fmt: skip
    assert all(map(is_inner, inner))
    assert not any(map(is_inner, ["8.8.8.8", "151.101.0.223", "2606:4700::1", "::ffff:8.8.8.8"]))


def hello(name: str) -> bytes:
    """The first message of a real client."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    out = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name or None)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


@given(st.from_regex(r"[a-z][a-z0-9]{0,20}(\.[a-z][a-z0-9]{0,20}){0,4}", fullmatch=True))
def test_the_name_that_a_real_client_says_is_read(name: str) -> None:
    assert server_name(hello(name)) == name


@given(st.binary(max_size=200), st.integers(0, 600), st.binary(max_size=4))
def test_any_bytes_are_read_without_an_error(noise: bytes, at: int, change: bytes) -> None:
    real = hello("packages.example")
    assert server_name(noise) == ""
    assert isinstance(server_name(real[:at] + change + real[at + len(change) :]), str)


@given(st.text(st.sampled_from("GET CONNECT http://a.example:443/@?#\\\r\n:Host HTTP/1.1[]%"), max_size=120))
def test_any_head_of_a_request_is_read_or_refused(text: str) -> None:
    try:
        found = parsed(text.encode("latin-1") + b"\r\n\r\n")
    except Refused:
        return
    assert isinstance(found, ProxyRequest)
    assert "\r" not in found.path
    assert 0 < found.port < 65536
