"""Runs a job with network access through a proxy of the daemon, and with writable folders on disk.

The job runs in the strong sandbox with two differences. Its folders are on disk, where the daemon watches their size.
And the job creates a listening socket in its otherwise empty network, and passes the socket to the daemon, whose proxy
answers on it. So the job has neither a route nor a name service, and cannot reach this machine's own services, which
trust any client on the loopback.
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
"""The program that starts first in the sandbox. It passes the socket to the daemon, and then becomes the job's program.
"""
LOOK_S = 0.5
LEAST_FREE_MB = 1024
"""Megabytes that must stay free on the disk."""
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
    """A host, in lower case, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The proxy that this machine itself must use.

    Attributes:
        endpoint: the proxy's host and port.
        authorization: the value of the header `Proxy-Authorization`; empty if there is no login.
        except_for: the value of NO_PROXY, which lists the hosts that are reached directly.
    """

    endpoint: Endpoint
    authorization: str = field(default="", repr=False)
    except_for: str = ""

    def serves(self, host: str) -> bool:
        """Check whether a host is reached through this proxy."""
        return not proxy_bypass_environment(host, {"no": self.except_for})


def read_upstream(environ: Mapping[str, str]) -> Upstream | None:
    """Read this machine's proxy from the daemon's environment; None if it has none."""
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
    """Raised for a request that the proxy does not carry out.

    Args:
        status: the status of the response, such as `403 Forbidden`.
        why: the reason, which the response contains.
        subject: the text that the proxy records; `why` if it is empty.
    """

    def __init__(self, status: str, why: str, subject: str = "") -> None:
        super().__init__(why)
        self.status, self.subject = status, subject or why


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A client's request.

    Attributes:
        endpoint: the host and port that the client wants to reach.
        head: the head of the request as it is forwarded; empty for a tunnel.
    """

    endpoint: Endpoint
    head: bytes = b""


class OutboundProxy:
    """The proxy that forwards or refuses the requests of one sandbox.

    Args:
        named: the hosts that may always be reached, even on this machine.
        is_open: whether all other hosts may be reached as well, except this machine.
        upstream: the proxy that this machine itself needs.
    """

    def __init__(self, named: Collection[Endpoint], *, is_open: bool = False, upstream: Upstream | None = None) -> None:
        self._named, self._is_open, self._upstream = frozenset(named), is_open, upstream
        self._refused, self._clients = dict[str, None](), set[asyncio.Task[None]]()

    @property
    def refused(self) -> tuple[str, ...]:
        """The subjects of the requests that were refused so far, usually `host:port`."""
        return tuple(self._refused)

    @contextlib.asynccontextmanager
    async def serving(self, listening: socket.socket) -> AsyncIterator[None]:
        """Answer requests on a listening socket until the block ends, then close the socket and all connections."""
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
        except (OSError, EOFError) as error:  # OSError includes timeouts
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
            raise Refused("431 Request Header Fields Too Large", "the request head is too large") from None
        if not self._is_open and request.endpoint not in self._named:
            raise Refused("403 Forbidden", f"{request.endpoint} is not one of the allowed hosts", str(request.endpoint))
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
        """Resolve a host to its addresses; empty if only the upstream proxy may be able to resolve the host.

        A direct connection uses exactly these addresses.

        Raises:
            Refused: an address belongs to this machine, and the host is not one of the named hosts.
        """
        loop = asyncio.get_running_loop()
        try:
            infos = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        except OSError:
            if self._upstream is None:
                raise
            return []
        addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
        if endpoint not in self._named and any(map(is_of_this_machine, addresses)):
            raise Refused("403 Forbidden", f"{endpoint} is an address of this machine", str(endpoint))
        return addresses


def _read_request(head: bytes) -> _Request:
    """Parse the head of a request.

    The head of a request that is not for a tunnel is rewritten: the headers for proxies are removed, and the connection
    is to be closed after the response.
    """
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    if tunnel := _CONNECT.fullmatch(first):
        return _Request(endpoint=_endpoint(tunnel[1], tunnel[2]))
    if not (request := _PLAIN.fullmatch(first)):
        raise Refused("400 Bad Request", "a request must begin with http:// and a host; for https:// use CONNECT")
    headers = [line for line in lines if not _OF_ONE_CONNECTION.match(line)]
    text = "\r\n".join([f"{request[1]} {request[4] or '/'} HTTP/1.1", *headers, "Connection: close", "", ""])
    return _Request(endpoint=_endpoint(request[2], request[3] or "80"), head=text.encode("latin-1"))


def _endpoint(host: str, port: str) -> Endpoint:
    if not 0 < int(port) < 1 << 16:
        raise Refused("400 Bad Request", f"{port} is not a valid port")
    return Endpoint(host.strip("[]").lower().rstrip("."), int(port))


def is_of_this_machine(address: str) -> bool:
    """Check whether an address leads back to this machine or only to its local link, such as a loopback address."""
    given = ipaddress.ip_address(address.partition("%")[0])
    meant = (given.ipv4_mapped or given) if isinstance(given, ipaddress.IPv6Address) else given
    return meant.is_loopback or meant.is_link_local or meant.is_unspecified or meant.is_multicast


async def _connect(addresses: Sequence[str], port: int) -> _Streams:
    error = OSError("the host has no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(address, port)
        except OSError as failure:
            error = failure
    raise error


async def _open_through(upstream: Upstream, endpoint: Endpoint) -> _Streams:
    """Open a tunnel to a host through another proxy."""
    reader, writer = await asyncio.open_connection(upstream.endpoint.host, upstream.endpoint.port)
    proof = [f"Proxy-Authorization: {upstream.authorization}"] if upstream.authorization else []
    writer.write("\r\n".join([f"CONNECT {endpoint} HTTP/1.1", f"Host: {endpoint}", *proof, "", ""]).encode())
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if not re.match(rb"HTTP/1\.[01] 2\d\d", head):
            raise OSError(f"the proxy of this machine answered {printable(head[:80]).splitlines()[0]}")
    except EOFError as error:
        writer.close()
        raise OSError("the proxy of this machine closed the connection") from error
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
    """A single run of a job in the sandbox with network access.

    Args:
        sandbox: runs the job.
        proxy: answers the job's requests.
        writable: the folders that the job may write to. During the run they belong to the jobs' user, afterwards to the
            daemon's user.
        most_mb: megabytes that the job may use in these folders.
        who: the job's name in errors.
    """

    def __init__(
        self, sandbox: BubblewrapSandbox, proxy: OutboundProxy, *, writable: Sequence[Mount], most_mb: float, who: str
    ) -> None:
        self._sandbox, self._proxy, self._writable = sandbox, proxy, writable
        self._most_mb, self._who = most_mb, who

    async def run(
        self, job: Callable[[int], SandboxJob], order: bytes, *, passed: Sequence[socket.socket] = ()
    ) -> SandboxResult:
        """Run the job until it ends, reaches a limit or is cancelled. Afterwards none of its processes is left.

        Args:
            job: makes the job, given the number of the descriptor through which the job passes its socket.
            order: the instructions for the program `START`.
            passed: further sockets that the job receives under the same numbers. They are closed here once the job has
                them.

        Raises:
            SandboxError: the job exceeded a limit, or could not be set up.
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
        """Answer the job's requests until it ends, and enforce its disk limit."""
        listening = await _receive_socket(channel)
        if listening is None:  # The job did not start; its result contains the reason.
            return await running
        async with self._proxy.serving(listening):
            while not running.done():
                await asyncio.wait([running], timeout=LOOK_S)
                await asyncio.to_thread(self._check_disk)
            return await running

    def _check_disk(self) -> None:
        """Raise `SandboxError` if the job uses too much disk space."""
        try:
            taken = sum(_measure_bytes(mount.host) for mount in self._writable)
        except RecursionError:
            raise SandboxError(f"{self._who} creates folders that are nested too deeply") from None
        if taken > self._most_mb * 2**20:
            raise SandboxError(f"{self._who} uses more than {self._most_mb:g} MB of disk space")
        if shutil.disk_usage(self._writable[0].host).free < LEAST_FREE_MB * 2**20:
            raise SandboxError(f"less than {LEAST_FREE_MB} MB of disk space are left")


def give_to_jobs(folders: Sequence[Path]) -> None:
    """Let the jobs' user write to folders and everything in them."""
    if os.geteuid() == 0:
        owner = f"{launcher.JOB_UID}:{launcher.JOB_UID}"
        subprocess.run(["chown", "-RhP", owner, "--", *folders], check=True)


def _take_over(folders: Sequence[Path]) -> None:
    """Return a job's files to the daemon's user, who may then read and remove them whatever their modes are."""
    paths = [path for path in folders if path.exists()]
    if os.geteuid() == 0:
        subprocess.run(["chown", "-RhP", "0:0", "--", *paths], check=False, capture_output=True)
    subprocess.run(["chmod", "-R", "u+rwX,go-w,a-st", "--", *paths], check=False, capture_output=True)


def _measure_bytes(folder: Path) -> int:
    """Sum up the disk space below a folder, plus a fixed amount per entry."""
    total = 0
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_blocks * 512 + _ENTRY_BYTES  # noqa: PTH118 (many)
    return total


async def _receive_socket(channel: socket.socket) -> socket.socket | None:
    """Receive the listening socket from the sandbox; None if the other end closes without sending one."""
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
