"""The agent that the owner configured: its command, its folders and hosts, and a run in a sandbox."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from nightshift.core.isolation import WORK, Mount, SandboxJob, SandboxLimits, SandboxResult
from nightshift.models.acp.protocol import MOST_LINE, AgentSession, Connection
from nightshift.models.acp.working_copy import WorkingCopy
from nightshift.sandbox import job_folders
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.outbound import START, Endpoint, OutboundProxy, OutboundRun, give_to_jobs
from nightshift.verdict.environments.registries import CERTIFICATES, Registries

TMP = "/tmp"  # noqa: S108 (inside)
HOME = f"{TMP}/home"
LIMITS = SandboxLimits(cpus=2.0, memory_mb=4096, pids=1024, work_mb=512, output_bytes=4 << 20, reserved_mb=1 << 16)
"""Limits of one run. `work_mb` limits the size of a single file. `output_bytes` limits the agent's standard error."""
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/sbin")
_HIDDEN = Path("/usr/local")
GRACE_S = 5.0
"""Seconds that an agent may take to exit after it has answered, or after it was asked to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The owner's settings for an agent.

    Attributes:
        command: the program and its arguments.
        hosts: the endpoints that the agent may reach.
        variables: environment variables in addition to the sandbox's default ones, including the agent's key.
        folders: folders of this machine that are mounted read-only in the sandbox, at the same path.
        auth_method: the id of the login method to request; empty for none.
        turn_s: timeout in seconds for the agent's answer to one prompt.
        most_mb: disk space that the agent may use, in MB.
    """

    command: tuple[str, ...]
    hosts: tuple[Endpoint, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    folders: tuple[Path, ...] = ()
    auth_method: str = ""
    turn_s: float = 840.0
    most_mb: float = 2048

    @property
    def program(self) -> str:
        """The path of the agent's program on this machine; empty if it is not found."""
        places = [*(str(folder / "bin") for folder in self.folders), "/usr/local/bin", "/usr/bin", "/bin"]
        return shutil.which(self.command[0], path=":".join(places)) or ""

    @property
    def fault(self) -> str:
        """The reason why the agent cannot be started, and a fix, in words for the owner; empty if it can be started."""
        for folder in self.folders:
            if not folder.is_absolute() or not folder.is_dir():
                return f"ACP_FOLDERS: {folder} is not a folder on this machine; give the folder's absolute path"
            if Path.home().resolve().is_relative_to(folder.resolve()):
                return f"ACP_FOLDERS: {folder} contains your home folder; name only the program's folder"
            if not job_folders.enterable(folder):
                return f"ACP_FOLDERS: the sandbox's user may not enter {folder}; install the agent elsewhere"
        if not self.program:
            where = "in /usr/bin, /usr/local/bin or a folder of ACP_FOLDERS"
            return f"ACP_COMMAND: there is no program {self.command[0]!r} {where}"
        program = Path(self.program)
        if hidden := next((path for path in (program, program.resolve()) if not self._shows(path)), None):
            return f"ACP_COMMAND: the sandbox does not show {hidden}; add the folder of this file to ACP_FOLDERS"
        return ""

    def _shows(self, path: Path) -> bool:
        folders = [*self.folders, *(folder.resolve() for folder in self.folders)]
        is_system = any(map(path.is_relative_to, _SYSTEM)) and not path.is_relative_to(_HIDDEN)
        return is_system or any(map(path.is_relative_to, folders))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlace:
    """The folders and programs with which agents run.

    Attributes:
        sandbox: runs the agents.
        runtime: the interpreter that starts the agents, and the tools that tests need.
        folder: parent folder of the copies that agents work on; nothing else uses it.
        network: returns the certificates that this machine trusts and the proxy that it must use.
    """

    sandbox: BubblewrapSandbox
    runtime: Runtime
    folder: Path
    network: Callable[[], Registries]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """A started agent.

    Attributes:
        connection: the connection to the agent.
        ended: the task that finishes when the agent's sandbox ends.
        proxy: the agent's only way to the network.
    """

    connection: Connection
    ended: asyncio.Task[SandboxResult]
    proxy: OutboundProxy


@asynccontextmanager
async def start_agent(
    settings: AgentSettings, site: AgentPlace, copy: WorkingCopy, session: AgentSession
) -> AsyncIterator[AgentRun]:
    """Start the agent on a copy of the files. When the block ends, the agent and all its processes are stopped.

    Args:
        settings: the agent to start.
        site: the folders and programs with which the agent runs.
        copy: the files that the agent works on; the folder `tmp` beside the copy becomes the agent's `/tmp`.
        session: answers the agent's requests.
    """
    network = await asyncio.to_thread(site.network)
    proxy = OutboundProxy(settings.hosts, upstream=network.upstream)
    root = copy.folder.parent
    writable = (Mount(host=copy.folder, inside=WORK), Mount(host=root / "tmp", inside=TMP))
    await asyncio.to_thread(_prepare, root, network, writable)
    (to_agent, its_input), (from_agent, its_output) = socket.socketpair(), socket.socketpair()
    runs = OutboundRun(site.sandbox, proxy, writable=writable, most_mb=settings.most_mb, who="the agent")
    talks = (its_input, its_output)
    order = _order(settings, site.runtime, network, [each.fileno() for each in talks])
    ended = asyncio.create_task(
        runs.run(lambda channel: _job(settings, site.runtime, network, root, channel), order, passed=talks)
    )
    try:
        reader, other = await asyncio.open_connection(sock=from_agent, limit=MOST_LINE)
        _, writer = await asyncio.open_connection(sock=to_agent)
        try:
            yield AgentRun(connection=Connection(reader, writer, session), ended=ended, proxy=proxy)
        finally:
            other.transport.abort()
            writer.transport.abort()
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)
        for each in (to_agent, from_agent, *talks):
            each.close()


def _prepare(root: Path, network: Registries, writable: tuple[Mount, ...]) -> None:
    (root / "tmp" / "home").mkdir(parents=True)
    (root / "certificates.pem").write_text(network.certificates)
    root.chmod(0o755)
    give_to_jobs([mount.host for mount in writable])


def _job(settings: AgentSettings, runtime: Runtime, network: Registries, root: Path, channel: int) -> SandboxJob:
    mounts = [*runtime.mounts, *(Mount(host=folder, inside=str(folder)) for folder in settings.folders)]
    if network.certificates:
        mounts.append(Mount(host=root / "certificates.pem", inside=CERTIFICATES))
    return SandboxJob(
        argv=(*runtime.python, "-I", "-S", "-B", f"{runtime.inside}/{START}", str(channel)),
        mounts=tuple(mounts),
        limits=replace(LIMITS, wall_s=settings.turn_s + 4 * GRACE_S),
    )


def _order(settings: AgentSettings, runtime: Runtime, network: Registries, talks: list[int]) -> bytes:
    node = [str(runtime.node.folder)] if runtime.node and runtime.node.folder else []
    environ = {
        **dict(runtime.variables),
        **dict(word.split("=", 1) for word in runtime.python if "=" in word),
        **{name: value for name, value in network.variables.items() if value == CERTIFICATES},
        **settings.variables,
        "PATH": ":".join([*(str(folder / "bin") for folder in settings.folders), *node, "/usr/bin", "/bin"]),
        "HOME": HOME,
        "TMPDIR": TMP,
        "LANG": "C.UTF-8",
        "NIGHTSHIFT": "agent",
    }
    argv = [settings.program, *settings.command[1:]]
    return json.dumps({"argv": argv, "environ": environ, "folder": WORK, "talks": talks}).encode()
