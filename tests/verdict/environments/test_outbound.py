"""The proxy that connects a sandbox to the outside, with real clients and servers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from nightshift.verdict.environments.outbound import Endpoint, OutboundProxy, Upstream, is_of_this_machine

HERE = "127.0.0.1"


@dataclass
class Server:
    """A server on the loopback that redirects `/moved` to `elsewhere`, with the heads of its requests."""

    endpoint: Endpoint
    asked: list[list[str]] = field(default_factory=list)
    elsewhere: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode().splitlines())
        moved = f"302 Found\r\nLocation: {self.elsewhere}" if " /moved " in self.asked[-1][0] else "200 OK"
        writer.write(f"HTTP/1.1 {moved}\r\nContent-Length: 7\r\n\r\npackage".encode())
        writer.close()


@contextlib.asynccontextmanager
async def serve() -> AsyncIterator[Server]:
    server = Server(Endpoint(HERE, 0))
    listening = await asyncio.start_server(server.answer, HERE, 0)
    server.endpoint = Endpoint(HERE, listening.sockets[0].getsockname()[1])
    yield server
    listening.close()


@contextlib.asynccontextmanager
async def serving(proxy: OutboundProxy) -> AsyncIterator[int]:
    """Serve a proxy, and yield its port."""
    listening = socket.create_server((HERE, 0))
    async with proxy.serving(listening):
        yield listening.getsockname()[1]


async def fetch(port: int, url: str) -> bytes:
    """Fetch a URL through the proxy with an ordinary client."""

    def ask() -> bytes:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": f"http://{HERE}:{port}"}))
        with opener.open(url, timeout=20) as answer:
            return bytes(answer.read())

    return await asyncio.to_thread(ask)


async def send(port: int, text: str) -> bytes:
    """Send this text to the port, and return the whole answer."""
    reader, writer = await asyncio.open_connection(HERE, port)
    writer.write(text.encode())
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return answer


async def test_a_named_host_is_reached_by_plain_http_and_in_a_tunnel() -> None:
    async with serve() as server:
        proxy = OutboundProxy([server.endpoint])
        async with serving(proxy) as port:
            assert await fetch(port, f"http://{server.endpoint}/simple/?q=1") == b"package"
            inner = f"GET /inner HTTP/1.1\r\nHost: {server.endpoint}\r\nConnection: close\r\n\r\n"
            answer = await send(port, f"CONNECT {server.endpoint} HTTP/1.1\r\n\r\n{inner}")
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200")
    (first, *headers), (second, *_) = server.asked
    assert (first, second) == ("GET /simple/?q=1 HTTP/1.1", "GET /inner HTTP/1.1")
    assert {f"Host: {server.endpoint}", "Connection: close"} <= set(headers)
    assert not proxy.refused


@pytest.mark.parametrize(
    "text",
    [
        "GET http://127.0.0.1:22/ HTTP/1.1\r\n\r\n", "CONNECT packages.example:22 HTTP/1.1\r\n\r\n",
        "CONNECT evil-packages.example:443 HTTP/1.1\r\n\r\n", "GET http://2130706433:PORT/ HTTP/1.1\r\n\r\n",
        "GET http://127.0.0.1:PORT@elsewhere.example/ HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nA: " + "a" * 40_000 + "\r\n\r\n",
    ],
)  # fmt: skip
async def test_nothing_but_what_is_named_is_reached(text: str) -> None:
    async with serve() as server:
        proxy = OutboundProxy([server.endpoint, Endpoint("packages.example", 443)])
        async with serving(proxy) as port:
            assert (await send(port, text.replace("PORT", str(server.endpoint.port)))).startswith(b"HTTP/1.1 4")
        assert not server.asked
    assert len(proxy.refused) == 1


async def test_a_redirect_to_another_host_leads_nowhere() -> None:
    async with serve() as server, serve() as other:
        server.elsewhere = f"http://{other.endpoint}/stolen"
        proxy = OutboundProxy([server.endpoint])
        async with serving(proxy) as port:
            with pytest.raises(urllib.error.HTTPError, match="403"):
                await fetch(port, f"http://{server.endpoint}/moved")
        assert not other.asked
    assert proxy.refused == (str(other.endpoint),)


async def test_an_open_proxy_leads_to_this_machine_only_where_that_was_named() -> None:
    async with serve() as server, serve() as other:
        proxy = OutboundProxy([server.endpoint], is_open=True)
        async with serving(proxy) as port:
            assert await fetch(port, f"http://{server.endpoint}/") == b"package"
            for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"):
                answer = await send(port, f"GET http://{host}:{other.endpoint.port}/ HTTP/1.1\r\n\r\n")
                assert answer.startswith(b"HTTP/1.1 403"), host
        assert not other.asked


def test_addresses_of_this_machine_and_its_link_are_told_from_others() -> None:
    ours = ("127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:127.0.0.1")
    assert all(map(is_of_this_machine, ours))
    assert not any(map(is_of_this_machine, ("203.0.113.9", "10.0.0.7", "2001:db8::1")))


async def test_the_proxy_of_this_machine_is_used_except_for_what_needs_none() -> None:
    async with serve() as server:
        near = OutboundProxy([server.endpoint])
        async with serving(near) as between:
            upstream = Upstream(endpoint=Endpoint(HERE, between), authorization="Basic eDp5", except_for=".example")
            far = OutboundProxy([server.endpoint, Endpoint("a.example", 80), Endpoint("b.test", 80)], upstream=upstream)
            async with serving(far) as port:
                assert await fetch(port, f"http://{server.endpoint}/") == b"package"
                for host in ("a.example", "b.test"):
                    assert (await send(port, f"GET http://{host}/ HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 502")
    assert near.refused == ("b.test:80",)
