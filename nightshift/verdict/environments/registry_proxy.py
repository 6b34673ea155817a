"""The only way out of a sandbox with a network: an HTTP proxy that reaches the hosts on its list and nothing else.

A setup script reaches package registries with it, an agent that works as an author the services of its vendor.

It is served on a socket that listens inside of the sandbox's own network and was handed out of it, so there is neither
a route nor a name service in there, and nothing of this machine's network is touched but by this module. A request
names a host and a port; they must be on the list. Names are looked up here, once, and the address that was checked is
the one that is used. A tunnel carries TLS to the host it was opened for and no other, by the name in its first message;
without a tunnel one request is read, written anew from its parts, and answered: there is no second one on the same
connection, and no body. Redirects are the client's business: it asks again, and is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import re
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from nightshift.core.text.masking import printable
from nightshift.verdict.environments.tls_hello import first_message, server_name

log = logging.getLogger(__name__)
MOST_BYTES = 6 << 30
"""Limits of one script's traffic."""
MOST_CONNECTIONS, MOST_TOLD = 64, 200
HEAD_BYTES, HEAD_S, CONNECT_S, IDLE_S = 16 << 10, 30.0, 20.0, 180.0
_CHUNK = 1 << 16
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_REQUEST = re.compile(r"([A-Z]+) (\S+) HTTP/1\.[01]")
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253}):([0-9]{1,5})")
_PASSED_ON = frozenset({
    "accept", "accept-encoding", "accept-language", "cache-control", "if-match", "if-modified-since", "if-none-match",
    "if-range", "if-unmodified-since", "pragma", "range", "user-agent",
})  # fmt: skip
_INNER = tuple(
    ipaddress.ip_network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
        "224.0.0.0/3", "::/127", "64:ff9b::/96", "64:ff9b:1::/48", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    )
)  # fmt: skip
"""Networks of a machine or a house: what listens there trusts whoever can reach it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A host and a port that a script may reach, by TLS in a tunnel or by plain HTTP; `host` is in small letters.

    One that is `configured` was named by the owner, so it may be on this machine or in its network.
    """

    host: str
    port: int
    tls: bool = True
    configured: bool = False

    @property
    def shown(self) -> str:
        """Host and port, as people write them."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The proxy that this machine itself must use; hosts that end with one of `except_for` are reached without it."""

    host: str
    port: int
    tls: bool = False
    authorization: str = field(default="", repr=False)
    except_for: tuple[str, ...] = ()

    def serves(self, host: str) -> bool:
        """Tell whether a host is reached through it."""
        names = (each.lstrip("*").lstrip(".").lower() for each in self.except_for)
        return "*" not in self.except_for and not any(host == one or host.endswith(f".{one}") for one in names if one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The traffic that went through: requests and bytes of each host and port; and what was refused, with how often."""

    reached: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)


class Refused(Exception):
    """A request that is not carried out; `status` is the answer's."""

    def __init__(self, status: str, why: str, what: str = "") -> None:
        super().__init__(why)
        self.status, self.what = status, what


class RegistryProxy:
    """Serves the requests of one sandbox.

    Args:
        allowed: what may be reached.
        upstream: the proxy that this machine needs itself.
        most_bytes: how much may go through, both ways together.
        client: who is served, for messages.
        setting: the variable by which the owner adds a host.
    """

    def __init__(
        self,
        allowed: Collection[Endpoint],
        *,
        upstream: Upstream | None = None,
        most_bytes: int = MOST_BYTES,
        client: str = "setup script",
        setting: str = "SETUP_REGISTRIES",
    ) -> None:
        self._name, self._setting = client, setting
        self._allowed = {(one.host, one.port, one.tls): one for one in sorted(allowed, key=lambda one: one.configured)}
        self._upstream, self._left = upstream, most_bytes
        self._requests, self._bytes, self._refused = Counter[str](), Counter[str](), Counter[str]()
        self._clients = set[asyncio.Task[None]]()
        self.spent = asyncio.Event()
        """Is set when no more may go through."""

    @property
    def traffic(self) -> Traffic:
        """The traffic that went through so far."""
        reached = {name: (count, self._bytes[name]) for name, count in self._requests.items()}
        return Traffic(reached=reached, refused=dict(self._refused))

    @contextlib.asynccontextmanager
    async def serving(self, listening: socket.socket) -> AsyncIterator[None]:
        """Answer on a listening socket, which is closed with the block and all connections with it."""
        server = await asyncio.start_server(self._accepted, sock=listening, limit=HEAD_BYTES)
        try:
            yield
        finally:
            server.close()
            for client in (clients := list(self._clients)):
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = asyncio.get_running_loop().create_task(self._client(reader, writer))
        self._clients.add(client)
        client.add_done_callback(self._clients.discard)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._clients) > MOST_CONNECTIONS:
                raise Refused("503 Service Unavailable", "too many connections at once")
            await self._served(reader, writer)
        except Refused as refused:
            self._note_refused(refused)
            with contextlib.suppress(OSError):
                writer.write(_answer(refused))
                await asyncio.wait_for(writer.drain(), CONNECT_S)
        except (OSError, EOFError) as error:  # also that it took too long
            log.debug("a connection of the %s ended: %s", self._name, error)
        finally:
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise Refused("431 Request Header Fields Too Large", "the head of a request is too large") from None
        request = parsed(head)
        endpoint = self._allowed.get((request.host, request.port, request.tunnel))
        shown = f"{request.host}:{request.port}"
        if endpoint is None:
            raise Refused("403 Forbidden", self._not_listed(shown, request), shown)
        if self.spent.is_set():
            raise Refused("403 Forbidden", f"this {self._name} has received as much as it may", shown)
        self._requests[shown] += 1
        log.info("the %s asks for %s (%s)", self._name, shown, "tunnel" if request.tunnel else "request")
        there_reader, there_writer = await self._opened(endpoint, request)
        try:
            if request.tunnel:
                await self._tunnel(endpoint, (reader, writer), (there_reader, there_writer))
            else:
                await self._relay(there_reader, writer, shown)
        finally:
            there_writer.close()

    async def _opened(self, endpoint: Endpoint, request: ProxyRequest) -> _Streams:
        """A connection to a registry, or to the proxy that leads there; a request without a tunnel is sent by then."""
        shown, upstream = endpoint.shown, self._upstream
        try:
            async with asyncio.timeout(CONNECT_S):
                if upstream and upstream.serves(endpoint.host):
                    context = ssl.create_default_context() if upstream.tls else None
                    found = await asyncio.open_connection(upstream.host, upstream.port, ssl=context)
                    try:
                        await _through(found, upstream, endpoint, request)
                    except BaseException:
                        found[1].close()
                        raise
                    return found
                found = await self._connected(endpoint)
        except TimeoutError:
            raise Refused("504 Gateway Timeout", f"{shown} does not answer", shown) from None
        except OSError as error:
            raise Refused("502 Bad Gateway", f"{shown} cannot be reached: {error}", shown) from None
        if not request.tunnel:
            found[1].write(request.written(request.path))
        return found

    async def _connected(self, endpoint: Endpoint) -> _Streams:
        """A connection to one of the addresses of a host."""
        loop = asyncio.get_running_loop()
        infos = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
        if not endpoint.configured and (inner := [one for one in addresses if is_inner(one)]):
            why = f"{endpoint.host} is {inner[0]} here, an address of this machine or its network"
            raise Refused("403 Forbidden", f"{why} ({self._setting} lets it be reached)", endpoint.shown)
        last: OSError = OSError("it has no address")
        for address in addresses:
            try:
                return await asyncio.open_connection(address, endpoint.port)
            except OSError as error:
                last = error
        raise last

    async def _tunnel(self, endpoint: Endpoint, client: _Streams, there: _Streams) -> None:
        client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with asyncio.timeout(HEAD_S):
            first = await first_message(client[0])
        name = server_name(first)
        if name != ("" if _is_address(endpoint.host) else endpoint.host):
            self._note_refused(Refused("", "", f"{printable(name) or 'another protocol'} by way of {endpoint.shown}"))
            return
        self._count(endpoint.shown, len(first))
        there[1].write(first)
        ways = (self._relay(client[0], there[1], endpoint.shown), self._relay(there[0], client[1], endpoint.shown))
        running = [asyncio.create_task(way) for way in ways]
        try:
            await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, shown: str) -> None:
        while not self.spent.is_set():
            async with asyncio.timeout(IDLE_S):
                chunk = await reader.read(_CHUNK)
            if not chunk:
                break
            self._count(shown, len(chunk))
            writer.write(chunk)
            async with asyncio.timeout(IDLE_S):
                await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    def _count(self, shown: str, size: int) -> None:
        self._bytes[shown] += size
        self._left -= size
        if self._left < 0:
            self.spent.set()

    def _note_refused(self, refused: Refused) -> None:
        what = refused.what or str(refused)
        if what in self._refused or len(self._refused) < MOST_TOLD:
            self._refused[what] += 1
        log.info("the %s is refused %s: %s", self._name, what, refused)

    def _not_listed(self, shown: str, request: ProxyRequest) -> str:
        if (request.host, request.port, not request.tunnel) in self._allowed:
            return f"{shown} is reached by {'plain HTTP' if request.tunnel else 'HTTPS'} only"
        return f"{shown} is none of the hosts that this {self._name} may reach ({self._setting} adds one)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """A client's request; `path` and `headers` count without a tunnel alone."""

    host: str
    port: int
    tunnel: bool
    method: str
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    def written(self, target: str, *more: str) -> bytes:
        """The request as it is sent on: one for its connection, with the headers that a download needs."""
        host = self.host if self.port == 80 else f"{self.host}:{self.port}"
        kept = [f"{name}: {value}" for name, value in self.headers if name.lower() in _PASSED_ON]
        lines = [f"{self.method} {target} HTTP/1.1", f"Host: {host}", *kept, *more, "Connection: close"]
        return "\r\n".join((*lines, "", "")).encode("latin-1")


def parsed(head: bytes) -> ProxyRequest:
    """Read the head of a request; what can be understood in two ways is refused."""
    bad = "400 Bad Request"
    first, *rest = head[:-4].decode("latin-1").split("\r\n")
    found, headers = _REQUEST.fullmatch(first), [_HEADER.fullmatch(line) for line in rest]
    if not found or not all(headers):
        raise Refused(bad, "that is no HTTP request")
    method, target = found[1], found[2]
    pairs = tuple((each[1], each[2].strip()) for each in headers if each)
    hosts = [value.lower() for name, value in pairs if name.lower() == "host"]
    if any(name.lower() == "transfer-encoding" or (name.lower() == "content-length" and value.strip("0"))
           for name, value in pairs):  # fmt: skip
        raise Refused("403 Forbidden", "nothing is sent to a registry; packages are fetched only")
    if method == "CONNECT":
        host, port = _authority(target)
        request = ProxyRequest(host=host, port=port, tunnel=True, method=method)
    else:
        request = _plain(method, target, pairs)
    own = {f"{request.host}:{request.port}", *([request.host] if request.port in {80, 443} else [])}
    if len(hosts) > 1 or not own.issuperset(hosts):
        raise Refused(bad, "the Host header names another host than the request", f"{request.host}:{request.port}")
    return request


def _plain(method: str, target: str, headers: tuple[tuple[str, str], ...]) -> ProxyRequest:
    if method not in {"GET", "HEAD"}:
        raise Refused("403 Forbidden", f"{method} is not carried out; packages are fetched only")
    parts = urlsplit(target) if target.startswith("http://") else None
    if parts is None or "@" in parts.netloc or "\\" in target or "#" in target:
        raise Refused("400 Bad Request", "a request has to name http:// and its host; for https:// use CONNECT")
    host, port = _authority(parts.netloc if _AUTHORITY.fullmatch(parts.netloc) else f"{parts.netloc}:80")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return ProxyRequest(host=host, port=port, tunnel=False, method=method, path=path, headers=headers)


def _authority(text: str) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text)
    if not found or not 0 < int(found[2]) < 65536:
        raise Refused("400 Bad Request", "a request has to name a host and a port", printable(text[:100]))
    return found[1].strip("[]").lower().rstrip("."), int(found[2])


def _answer(refused: Refused) -> bytes:
    body = f"nightshift: {refused}\n".encode()
    head = f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


async def _through(there: _Streams, upstream: Upstream, endpoint: Endpoint, request: ProxyRequest) -> None:
    """Have another proxy open the way to a registry."""
    reader, writer = there
    proof = [f"Proxy-Authorization: {upstream.authorization}"] if upstream.authorization else []
    if not request.tunnel:
        writer.write(request.written(f"http://{endpoint.shown}{request.path}", *proof))
        return
    lines = [f"CONNECT {endpoint.shown} HTTP/1.1", f"Host: {endpoint.shown}", *proof, "", ""]
    writer.write("\r\n".join(lines).encode())
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except EOFError as error:
        raise OSError("the proxy of this machine ends the connection") from error
    if not re.match(rb"HTTP/1\.[01] 2\d\d", head):
        raise OSError(f"the proxy of this machine says {printable(head[:80]).splitlines()[0]}")


def is_inner(address: str) -> bool:
    """Tell whether an address is of this machine or a network of its owner's."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return any(found in net for net in _INNER if net.version == found.version)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
