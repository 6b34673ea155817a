"""Communicates with a container engine on this machine through docker-py, and explains failures.

All methods block, so the sandbox calls them in threads. Only engines behind a socket of this machine are used, because
jobs need folders of this machine, which a remote engine does not have.

The three streams of a container share one connection, which the event loop reads. The engine sends frames: one byte
that names the stream, three zero bytes, four bytes with the length, and then the text
(<https://docs.docker.com/reference/api/engine/>, "attach to a container"). Input is sent without frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightshift.core.errors import SandboxError

OWNER = "nightshift.daemon"
"""Container label. The value identifies the daemon that created the container."""
HOME = "nightshift.home"
"""Container label. The value is the home folder of the daemon that created the container. The home is needed in
addition to the process number, because a daemon in another container may have the same number.
"""
CALL_S = 60.0
_SCHEME = "unix://"
_LIMITS = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "CPU"}
CHUNK = 1 << 16
_HEADER = 8
_STDERR = 2
_PREFACE = 1 << 14  # limit of the output before the job starts, in bytes


class ImageGoneError(SandboxError):
    """The image does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How a container ended."""

    exit_code: int
    out_of_memory: bool


class Engine:
    """A container engine that answers and enforces limits.

    Args:
        host: the engine's address, `unix://` and the path of its socket; empty for the default paths.
        home: the daemon's own folder. Only containers that were created for this folder are ever removed.
        ensure_client: installs the package `docker` if needed, once an engine was found, or raises `SandboxError`.

    Raises:
        SandboxError: there is no engine, it may not be used, or it enforces no limits; the message has a remedy.
    """

    def __init__(self, host: str = "", *, home: str = "", ensure_client: Callable[[], None] = lambda: None) -> None:
        self.host, self._home = host or _usual(), home
        _reach(self.host)
        ensure_client()
        import docker  # type: ignore[import-untyped]  # noqa: PLC0415 (slow to import, used with this sandbox alone)

        with _turn_errors("the engine gave an unexpected answer"):
            self._api: Any = docker.APIClient(self.host, version="auto", timeout=CALL_S)
            self._api.trust_env = False  # a local socket needs no proxies
            facts = self._api.info()
        self.cpus = int(facts["NCPU"])
        if missing := [name for key, name in _LIMITS.items() if not facts.get(key)]:
            raise SandboxError(
                f"the engine at {self.host} does not enforce limits of {', '.join(missing)}; a rootless engine "
                "needs control groups version 2 with these controllers delegated"
            )

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def create(self, name: str, *, host: Mapping[str, Any], **config: Any) -> None:
        """Create a container.

        Args:
            name: its name.
            host: the arguments of docker-py's `create_host_config`.
            config: the other arguments of docker-py's `create_container`.

        Raises:
            ImageGoneError: there is no such image.
            SandboxError: the engine refused.
        """
        with _turn_errors("the container could not be made"):
            host_config = self._api.create_host_config(**host)
            labels = {OWNER: identity(os.getpid()), HOME: self._home}
            # By default, the proxies in the user's configuration would be set in the container's environment.
            self._api.create_container(
                name=name, host_config=host_config, labels=labels, use_config_proxy=False, **config
            )

    def attach(self, name: str) -> socket.socket:
        """Return a connection to the three streams of a container. The container must not have been started yet."""
        with _turn_errors("the container's streams could not be opened"):
            held = self._api.attach_socket(name, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            own = socket.socket(fileno=os.dup(held.fileno()))
            held._response.close()  # noqa: SLF001 (where docker-py keeps what must be closed)
            own.setblocking(False)
            return own

    def start(self, name: str) -> None:
        """Start a container."""
        with _turn_errors("the container could not be started"):
            self._api.start(name)

    def wait(self, name: str) -> None:
        """Wait for a container's end, without a time limit."""
        with _turn_errors("Nightshift could not wait for the container's end"), _unless(404):
            self._api.wait(name)

    def kill(self, name: str) -> None:
        """Kill everything that runs in a container, and wait for its end. Does nothing if the container has ended."""
        with _turn_errors("the container could not be killed"), _unless(404, 409):
            self._api.kill(name)

    def state(self, name: str) -> State:
        """Return how a container ended."""
        with _turn_errors("the container's end could not be read"):
            fields = self._api.inspect_container(name)["State"]
        return State(exit_code=fields["ExitCode"], out_of_memory=bool(fields["OOMKilled"]))

    def remove(self, name: str) -> None:
        """Kill and remove a container if it exists.

        Its streams must be closed before, because the engine waits for their readers.
        """
        with _turn_errors("the container could not be removed"), _unless(404, 409):
            self._api.remove_container(name, v=True, force=True)

    def reap(self) -> int:
        """Remove the containers of dead daemons with this home; return the number of removed containers."""
        with _turn_errors("the containers could not be listed"):
            containers = self._api.containers(all=True, filters={"label": [OWNER, f"{HOME}={self._home}"]})
        left = [each for each in containers if not _alive(each["Labels"][OWNER])]
        for each in left:
            self.remove(each["Id"])
        return len(left)

    def has_image(self, name: str) -> bool:
        """Check whether an image exists."""
        with _turn_errors("the engine's images could not be read"):
            try:
                self._api.inspect_image(name)
            except _api_error() as error:
                if error.status_code == 404:
                    return False
                raise
        return True

    def take_image(self, tar: Path, repository: str, tag: str) -> None:
        """Import a root file system as an image, and remove the unused older images of the repository."""
        with _turn_errors("the image could not be made"):
            self._api.import_image_from_file(str(tar), repository=repository, tag=tag)
            for image in self._api.images(name=repository):
                for name in image["RepoTags"] or ():
                    if name != f"{repository}:{tag}":
                        with _unless(404, 409):
                            self._api.remove_image(name)


def bind(host: Path, inside: str) -> Mapping[str, Any]:
    """Return a read-only mount of a folder or file of this machine, without the file systems mounted below it."""
    from docker.types import Mount  # type: ignore[import-untyped]  # noqa: PLC0415 (see `Engine`)

    mount: dict[str, Any] = Mount(inside, str(host), type="bind", read_only=True, propagation="private")
    # Engines before version 25 would leave such file systems writable.
    mount["BindOptions"]["NonRecursive"] = True
    return mount


def ulimits(values: Mapping[str, int]) -> Sequence[Mapping[str, Any]]:
    """Return limits of single processes, each with the same value as soft and as hard limit."""
    from docker.types import Ulimit  # noqa: PLC0415 (see `Engine`)

    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]


def _usual() -> str:
    """Return the address of the engine's default socket: the system's, or that of a rootless engine."""
    places = [Path("/var/run/docker.sock"), Path(f"/run/user/{os.geteuid()}/docker.sock")]
    return _SCHEME + str(next((path for path in places if path.exists()), places[0]))


def _reach(host: str) -> None:
    """Connect to the engine once without docker-py, because an OSError is more precise than docker-py's errors."""
    if not host.startswith(_SCHEME):
        raise SandboxError(
            f"DOCKER_HOST is {host}: set the socket of an engine on this machine, such as unix:///var/run/docker.sock"
        )
    path = host.removeprefix(_SCHEME)
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            probe.connect(path)
    except PermissionError:
        raise SandboxError(
            f"this user may not use the engine at {host}; type `sudo usermod -aG docker $USER` and log in "
            "again (that group is as powerful as root)"
        ) from None
    except OSError as error:
        raise SandboxError(
            f"no engine answers at {host} ({error.strerror or error}); install and start one "
            "(`sudo apt-get install docker.io`, `sudo systemctl start docker`) or name its socket in DOCKER_HOST"
        ) from None


def _api_error() -> Any:
    from docker.errors import APIError  # type: ignore[import-untyped]  # noqa: PLC0415 (see `Engine`)

    return APIError


@contextlib.contextmanager
def _turn_errors(what: str) -> Iterator[None]:
    """Convert errors of docker-py to `SandboxError`. `what` says what has failed."""
    from docker.errors import DockerException, ImageNotFound  # noqa: PLC0415 (see `Engine`)
    from requests.exceptions import RequestException  # noqa: PLC0415 (comes with docker)

    try:
        yield
    except ImageNotFound as error:
        raise ImageGoneError(f"{what}: {error.explanation}") from error
    except (DockerException, RequestException) as error:
        raise SandboxError(f"{what}: {getattr(error, 'explanation', None) or error}") from error


@contextlib.contextmanager
def _unless(*codes: int) -> Iterator[None]:
    """Ignore the engine's error answers with these codes, because they mean that the goal was already reached."""
    try:
        yield
    except _api_error() as error:
        if error.status_code not in codes:
            raise


def identity(pid: int) -> str:
    """Return a process's number with its start time, because the system reuses process numbers."""
    return f"{pid}-{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"


def _alive(owner: str) -> bool:
    try:
        return identity(int(owner.partition("-")[0])) == owner
    except (OSError, ValueError):
        return False


class Streams:
    """The streams of a container: both outputs, each up to a limit, and the input.

    The future `started` is done when the marker was found on standard error (True), or can no longer come (False). The
    future `over` is done when there is nothing more to read; its result is True if a limit was reached.

    Args:
        connection: the connection to the container, in non-blocking mode.
        marker: the line that marks the start of the job. Output before it is stored in `preface`.
        most: maximum number of bytes that are kept of each output.
    """

    def __init__(self, connection: socket.socket, marker: bytes, most: int) -> None:
        self._connection, self._marker, self._most = connection, marker + b"\n", most
        self._loop = asyncio.get_running_loop()
        self.started: asyncio.Future[bool] = self._loop.create_future()
        self.over: asyncio.Future[bool] = self._loop.create_future()
        self.stdout, self.stderr, self.preface = bytearray(), bytearray(), bytearray()
        self._raw = bytearray()
        self._left = memoryview(b"")
        self._loop.add_reader(connection, self._read)

    def send(self, text: bytes) -> None:
        """Write the input as fast as the container accepts it, then close the input."""
        self._left = memoryview(text)
        if not self._closed:
            self._loop.add_writer(self._connection, self._write)

    def close(self) -> None:
        """Stop reading, and close the connection."""
        self._settle(flooded=False)
        if not self._closed:
            self._loop.remove_writer(self._connection)
            self._connection.close()

    @property
    def _closed(self) -> bool:
        return self._connection.fileno() < 0

    def _write(self) -> None:
        try:
            self._left = self._left[self._connection.send(self._left) :]
        except BlockingIOError:
            return
        except OSError:  # the container has ended and accepts no more input
            self._left = self._left[:0]
        if not self._left:
            self._loop.remove_writer(self._connection)
            try:
                self._connection.shutdown(socket.SHUT_WR)
            except OSError:
                self._settle(flooded=False)

    def _read(self) -> None:
        try:
            data = self._connection.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._raw += data
        for stream, text in self._frames():
            self._keep(stream, text)
        if not data or self._is_full:
            self._settle(flooded=self._is_full)

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        while len(self._raw) >= _HEADER:
            end = _HEADER + int.from_bytes(self._raw[4:_HEADER], "big")
            if len(self._raw) < end:
                return
            yield self._raw[0], bytes(self._raw[_HEADER:end])
            del self._raw[:end]

    def _keep(self, stream: int, text: bytes) -> None:
        if stream == _STDERR and not self.started.done():
            self.preface += text
            before, marker, after = self.preface.partition(self._marker)
            if not marker:
                return
            self.preface, text = before, bytes(after)
            self.started.set_result(True)
        output = self.stderr if stream == _STDERR else self.stdout
        output += text[: self._most - len(output)]

    @property
    def _is_full(self) -> bool:
        """True if an output exceeds its limit.

        The engine copies the two outputs separately. A large part of one output may therefore arrive before the marker,
        which is on the other output. So the outputs count only after the marker. Before the marker, only `preface`
        counts, which has its own limit.
        """
        flooded = self.started.done() and max(len(self.stdout), len(self.stderr)) >= self._most
        return flooded or len(self.preface) > _PREFACE

    def _settle(self, *, flooded: bool) -> None:
        if self.over.done():
            return
        self._loop.remove_reader(self._connection)
        self.over.set_result(flooded)
        if not self.started.done():
            self.started.set_result(False)
