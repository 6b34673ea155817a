"""Runs a job that reaches hosts through a proxy of the daemon's, in folders on the disk that it may write to.

It is the strong sandbox with two differences: its folders lie on the disk, where their size is watched, and a socket of
its otherwise empty network is handed out of it and answered here. So the job has neither a route nor a name service,
and this machine's own services stay out of its reach: on the loopback they trust whoever reaches them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import logging
import os
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined] # not in typeshed

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Mount, SandboxJob, SandboxResult
from nightshift.core.text.masking import printable
from nightshift.sandbox import launcher
from nightshift.sandbox.bubblewrap import BubblewrapSandbox

log = logging.getLogger(__name__)
START = "setup_start.py"
"""The program inside that hands the socket out and becomes what is run."""
LOOK_S = 0.5
LEAST_FREE_MB = 1024
"""Room that must stay free on the disk."""
MOST_CONNECTIONS, MOST_REFUSED = 64, 200
HEAD_BYTES, HEAD_S, CONNECT_S, IDLE_S = 16 << 10, 30.0, 20.0, 180.0
_CHUNK = 1 << 16
_ENTRY_BYTES = 1024
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})"
_CONNECT = re.compile(rf"CONNECT {_HOST}:([0-9]{{1,5}}) HTTP/1\.[01]")
_PLAIN = re.compile(rf"([A-Z]+) http://{_HOST}(?::([0-9]{{1,5}}))?(/\S*)? HTTP/1\.[01]")
_OF_ONE_CONNECTION = re.compile(r"(?i)(proxy-[a-z-]+|connection|keep-alive)\s*:")
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host, in small letters, and a port of it."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return both as people write them."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The proxy that this machine itself must use; `except_for` is the text of its NO_PROXY."""

    endpoint: Endpoint
    authorization: str = field(default="", repr=False)
    except_for: str = ""

    def serves(self, host: str) -> bool:
        """Tell whether a host is reached through it."""
        return not proxy_bypass_environment(host, {"no": self.except_for})


def read_upstream(environ: Mapping[str, str]) -> Upstream | None:
    """Read the proxy of this machine from the daemon's environment."""
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")
    parts = urlsplit(next((environ[name] for name in names if environ.get(name)), ""))
    if parts.scheme != "http" or not parts.hostname:
        return None
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()
    return Upstream(
        endpoint=Endpoint(parts.hostname, parts.port or 80),
        authorization=f"Basic {base64.b64encode(login).decode()}" if parts.username else "",
        except_for=environ.get("NO_PROXY", environ.get("no_proxy", "")),
    )


class Refused(Exception):
    """A request that is not carried out; `status` is the answer's, `subject` what is noted."""

    def __init__(self, status: str, why: str, subject: str = "") -> None:
        super().__init__(why)
        self.status, self.subject = status, subject or why


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A request of a client; `head` is what is sent on, empty for a tunnel."""

    endpoint: Endpoint
    head: bytes = b""


class OutboundProxy:
    """Answers the requests of one sandbox.

    Args:
        named: the hosts that may be reached wherever they are.
        is_open: whether all others may be reached as well, but for this machine.
        upstream: the proxy that this machine needs itself.
    """

    def __init__(self, named: Collection[Endpoint], *, is_open: bool = False, upstream: Upstream | None = None) -> None:
        self._named, self._is_open, self._upstream = frozenset(named), is_open, upstream
        self._refused, self._clients = dict[str, None](), set[asyncio.Task[None]]()

    @property
    def refused(self) -> tuple[str, ...]:
        """Return the refusals so far."""
        return tuple(self._refused)

    @contextlib.asynccontextmanager
    async def serving(self, listening: socket.socket) -> AsyncIterator[None]:
        """Answer on a listening socket, which is closed with the block and all connections with it."""
        server = await asyncio.start_server(self._accept, sock=listening, limit=HEAD_BYTES)
        try:
            yield
        finally:
            server.close()
            for client in (clients := list(self._clients)):
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = asyncio.get_running_loop().create_task(self._answer(reader, writer))
        self._clients.add(client)
        client.add_done_callback(self._clients.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(reader, writer)
        except Refused as refused:
            if len(self._refused) < MOST_REFUSED:
                self._refused[refused.subject] = None
            body = f"nightshift: {refused}\n".encode()
            head = f"HTTP/1.1 {refused.status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            with contextlib.suppress(OSError):
                writer.write(head.encode() + body)
                await asyncio.wait_for(writer.drain(), CONNECT_S)
        except (OSError, EOFError) as error:  # also that it took too long
            log.debug("a connection out of a sandbox ended: %s", error)
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) > MOST_CONNECTIONS:
            raise Refused("503 Service Unavailable", "too many connections at once")
        try:
            async with asyncio.timeout(HEAD_S):
                request = _read_request(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            raise Refused("431 Request Header Fields Too Large", "the head of a request is too large") from None
        if not self._is_open and request.endpoint not in self._named:
            raise Refused(
                "403 Forbidden", f"{request.endpoint} is none of the hosts to be reached", str(request.endpoint)
            )
        there_reader, there_writer = await self._open(request)
        try:
            there_writer.write(request.head)
            if not request.head:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            ways = [
                asyncio.create_task(_relay(*streams)) for streams in ((reader, there_writer), (there_reader, writer))
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            there_writer.close()

    async def _open(self, request: _Request) -> _Streams:
        endpoint = request.endpoint
        try:
            async with asyncio.timeout(CONNECT_S):
                addresses = await self._look_up(endpoint)
                if self._upstream and self._upstream.serves(endpoint.host):
                    return await _open_through(self._upstream, endpoint)
                return await _connect(addresses, endpoint.port)
        except TimeoutError:
            raise Refused("504 Gateway Timeout", f"{endpoint} does not answer", str(endpoint)) from None
        except OSError as error:
            raise Refused("502 Bad Gateway", f"{endpoint} cannot be reached: {error}", str(endpoint)) from None

    async def _look_up(self, endpoint: Endpoint) -> list[str]:
        """Find the addresses of a host, which are then the ones that are used; a proxy may know more names."""
        loop = asyncio.get_running_loop()
        try:
            infos = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        except OSError:
            if self._upstream is None:
                raise
            return []
        addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
        if endpoint not in self._named and any(map(is_of_this_machine, addresses)):
            raise Refused("403 Forbidden", f"{endpoint} is this machine itself", str(endpoint))
        return addresses


def _read_request(head: bytes) -> _Request:
    """Read the head of a request; one without a tunnel is written anew, for its connection alone."""
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    if tunnel := _CONNECT.fullmatch(first):
        return _Request(endpoint=_endpoint(tunnel[1], tunnel[2]))
    if not (request := _PLAIN.fullmatch(first)):
        raise Refused("400 Bad Request", "a request has to name http:// and its host; for https:// use CONNECT")
    headers = [line for line in lines if not _OF_ONE_CONNECTION.match(line)]
    text = "\r\n".join([f"{request[1]} {request[4] or '/'} HTTP/1.1", *headers, "Connection: close", "", ""])
    return _Request(endpoint=_endpoint(request[2], request[3] or "80"), head=text.encode("latin-1"))


def _endpoint(host: str, port: str) -> Endpoint:
    if not 0 < int(port) < 1 << 16:
        raise Refused("400 Bad Request", f"{port} is no port")
    return Endpoint(host.strip("[]").lower().rstrip("."), int(port))


def is_of_this_machine(address: str) -> bool:
    """Tell whether an address leads back to this machine or its link, such as the loopback."""
    given = ipaddress.ip_address(address.partition("%")[0])
    meant = (given.ipv4_mapped or given) if isinstance(given, ipaddress.IPv6Address) else given
    return meant.is_loopback or meant.is_link_local or meant.is_unspecified or meant.is_multicast


async def _connect(addresses: Sequence[str], port: int) -> _Streams:
    error = OSError("it has no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(address, port)
        except OSError as failure:
            error = failure
    raise error


async def _open_through(upstream: Upstream, endpoint: Endpoint) -> _Streams:
    """Have another proxy open the way to a host."""
    reader, writer = await asyncio.open_connection(upstream.endpoint.host, upstream.endpoint.port)
    proof = [f"Proxy-Authorization: {upstream.authorization}"] if upstream.authorization else []
    writer.write("\r\n".join([f"CONNECT {endpoint} HTTP/1.1", f"Host: {endpoint}", *proof, "", ""]).encode())
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if not re.match(rb"HTTP/1\.[01] 2\d\d", head):
            raise OSError(f"the proxy of this machine says {printable(head[:80]).splitlines()[0]}")
    except EOFError as error:
        writer.close()
        raise OSError("the proxy of this machine ends the connection") from error
    except BaseException:
        writer.close()
        raise
    return reader, writer


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await asyncio.wait_for(reader.read(_CHUNK), IDLE_S):
        writer.write(chunk)
        await asyncio.wait_for(writer.drain(), IDLE_S)
    if writer.can_write_eof():
        writer.write_eof()


class OutboundRun:
    """One run of one job.

    Args:
        sandbox: holds it.
        proxy: answers it.
        writable: the folders that it may write to; they are the jobs' user's, and the daemon's again afterwards.
        most_mb: what it may take of the disk there.
        who: what it is called in errors.
    """

    def __init__(
        self, sandbox: BubblewrapSandbox, proxy: OutboundProxy, *, writable: Sequence[Mount], most_mb: float, who: str
    ) -> None:
        self._sandbox, self._proxy, self._writable = sandbox, proxy, writable
        self._most_mb, self._who = most_mb, who

    async def run(
        self, job: Callable[[int], SandboxJob], order: bytes, *, passed: Sequence[socket.socket] = ()
    ) -> SandboxResult:
        """See it to its end, to a limit, or until cancelled; then nothing of it runs any more.

        Args:
            job: what is run, by the number of the descriptor on which it hands its socket out.
            order: for `START`.
            passed: further sockets that it gets, with the same numbers; closed here once it has them.

        Raises:
            SandboxError: it took more than it may, or could not be set up.
        """
        ours, theirs = socket.socketpair()
        try:
            with ours, theirs:
                ours.setblocking(False)
                descriptors = (theirs.fileno(), *(each.fileno() for each in passed))
                begun = await self._sandbox.begin(job(theirs.fileno()), writable=self._writable, passed=descriptors)
                for each in (theirs, *passed):
                    each.close()
                running = asyncio.create_task(begun.finish(order))
                try:
                    return await self._see_to_end(running, ours)
                finally:
                    running.cancel()
                    await asyncio.gather(running, return_exceptions=True)
        finally:
            await asyncio.to_thread(_take_over, [mount.host for mount in self._writable])

    async def _see_to_end(self, running: asyncio.Task[SandboxResult], channel: socket.socket) -> SandboxResult:
        """Answer its requests until it ends, and see to it that it does not take too much."""
        listening = await _receive_socket(channel)
        if listening is None:  # it did not come up; its result says why
            return await running
        async with self._proxy.serving(listening):
            while not running.done():
                await asyncio.wait([running], timeout=LOOK_S)
                await asyncio.to_thread(self._check_disk)
            return await running

    def _check_disk(self) -> None:
        """Raises `SandboxError` where it takes too much of the disk."""
        try:
            taken = sum(_measure_bytes(mount.host) for mount in self._writable)
        except RecursionError:
            raise SandboxError(f"{self._who} makes folders that are too deep") from None
        if taken > self._most_mb * 2**20:
            raise SandboxError(f"{self._who} takes more than {self._most_mb:g} MB on the disk")
        if shutil.disk_usage(self._writable[0].host).free < LEAST_FREE_MB * 2**20:
            raise SandboxError(f"less than {LEAST_FREE_MB} MB are left on the disk")


def give_to_jobs(folders: Sequence[Path]) -> None:
    """Let the jobs' user write to folders and to all that is in them."""
    if os.geteuid() == 0:
        owner = f"{launcher.JOB_UID}:{launcher.JOB_UID}"
        subprocess.run(["chown", "-RhP", owner, "--", *folders], check=True)


def _take_over(folders: Sequence[Path]) -> None:
    """Give what a job left back to the daemon's user, who may read and remove it; its modes count for nothing."""
    paths = [path for path in folders if path.exists()]
    if os.geteuid() == 0:
        subprocess.run(["chown", "-RhP", "0:0", "--", *paths], check=False, capture_output=True)
    subprocess.run(["chmod", "-R", "u+rwX,go-w,a-st", "--", *paths], check=False, capture_output=True)


def _measure_bytes(folder: Path) -> int:
    """Sum up the room below a folder, with something for each entry."""
    total = 0
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_blocks * 512 + _ENTRY_BYTES  # noqa: PTH118 (many)
    return total


async def _receive_socket(channel: socket.socket) -> socket.socket | None:
    """The listening socket that comes out of the sandbox; None where the other end is closed without one."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(channel, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(channel)
    _, descriptors, _, _ = socket.recv_fds(channel, 64, 1)
    if not descriptors:
        return None
    listening = socket.socket(fileno=descriptors[0])
    listening.setblocking(False)
    return listening
