"""A sandbox for machines with a container engine. Each job gets its own container, which is never reused.

The engine provides the namespaces, the control group and its own system-call filter. A job has no network, no
capabilities, an unprivileged user, a read-only root, and small private file systems in memory. Three things that the
engine's filter allows are blocked by our filter: io_uring, sockets to the machine's host, and tracing of own children.
A few lines of Python load our filter inside the container, before they become the command. They also replace the
environment that the engine and the image set.

As in bubblewrap, the command is process 1 of the container, so nothing inside can kill it, and its end ends everything.
A job counts as started when a random line appears on its standard error. The code that loads the filter writes that
line.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.core.isolation import WORK, Ended, SandboxJob, SandboxResult
from nightshift.core.text.masking import printable
from nightshift.sandbox import child, docker_engine, launcher, seccomp
from nightshift.sandbox.docker_engine import Engine, ImageGoneError, Streams
from nightshift.sandbox.grouped import refuse_killed

NAME = "docker"
START_S = 60.0
SHM_MB = 16
_ENV = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 (the job's own)
    "TMPDIR": "/tmp",  # noqa: S108 (the job's own)
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_INSIDE = Path(__file__).resolve().parent / "inside"


class DockerSandbox:
    """Runs jobs in containers.

    Args:
        engine: creates the containers.
        image: returns the image's name; called again if the image has disappeared.
        python: the command that starts the image's interpreter.
        nice: by how many levels the priority of jobs is lowered (`sandbox.launcher`).

    Raises:
        SandboxError: there is no image, or no system-call filter for this machine.
    """

    name = NAME

    def __init__(self, engine: Engine, image: Callable[[], str], python: Sequence[str], *, nice: int = 0) -> None:
        try:
            self._filter = seccomp.program()
        except KeyError as error:
            raise SandboxError(f"there is no system-call filter for {error.args[0]}") from None
        self._engine, self._find_image, self._python = engine, image, python
        self._nice = nice
        self._enter = (_INSIDE / "enter.py").read_text()
        self._image = image()
        engine.reap()

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run a job to its end, to a limit, or until cancelled. Nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up; the job was not started.
        """
        return await (await self.begin(job)).see(job.stdin)

    async def begin(self, job: SandboxJob) -> Container:
        """Start a container whose command waits for its input.

        Raises:
            SandboxError: the engine refused.
        """
        name, marker, job = f"nightshift-{secrets.token_hex(8)}", secrets.token_hex(16), job.copying()
        starting = asyncio.ensure_future(asyncio.to_thread(self._start, name, job, marker))
        try:
            connection = await child.finish_uninterrupted(starting)
        except (SandboxError, asyncio.CancelledError):
            if starting.exception() is None:
                starting.result().close()
            await child.finish_uninterrupted(asyncio.to_thread(self._engine.remove, name))
            raise
        return Container(self._engine, name, Streams(connection, marker.encode(), job.limits.output_bytes), job)

    def _start(self, name: str, job: SandboxJob, marker: str) -> socket.socket:
        try:
            self._create(name, job, marker)
        except ImageGoneError:
            self._image = self._find_image()
            self._create(name, job, marker)
        connection = self._engine.attach(name)
        try:
            self._engine.start(name)
        except SandboxError:
            connection.close()
            raise
        return connection

    def _create(self, name: str, job: SandboxJob, marker: str) -> None:
        user = launcher.job_uid()
        self._engine.create(
            name,
            image=self._image,
            entrypoint=self._command(job, marker),  # replaces the image's own entry point
            hostname="sandbox",
            user=f"{user}:{user}",
            working_dir=WORK,
            environment=_ENV,
            stdin_open=True,
            network_disabled=True,
            healthcheck={"test": ["NONE"]},
            host={**_bounds(job, user, self._engine.cpus), **_weights(self._nice)},
        )

    def _command(self, job: SandboxJob, marker: str) -> list[str]:
        """Return the container's command.

        It fills `/work`, loads the filter, writes the start mark and runs the job's command.
        """
        environment = [f"{name}={value}" for name, value in _ENV.items()]
        enter = [*self._python, "-I", "-S", "-B", "-c", self._enter, self._filter.hex(), marker, *environment, "--"]
        copies = "".join(f"cp -R /src/{n}/. {WORK}/ && " for n in range(len(job.layers)))
        shell = ["/bin/sh", "-c", f'{copies}exec "$@"', "sh"] if copies else []
        return [*shell, *enter, *job.argv]


def _bounds(job: SandboxJob, user: int, cpus: int) -> Mapping[str, Any]:
    """Return the limits of the container, as arguments of docker-py's `create_host_config`."""
    limits, memory = job.limits, job.limits.memory_mb << 20
    shown = [(_INSIDE / "hosts", "/etc/hosts")]  # replaces the engine's file, which is empty without a network
    shown += [(layer.host, f"/src/{n}") for n, layer in enumerate(job.layers)]
    shown += [(mount.host, mount.inside) for mount in job.mounts]
    return {
        "network_mode": "none",
        "ipc_mode": "private",
        "cgroupns": "private",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "init": False,
        "log_config": {"type": "none"},
        "pids_limit": limits.pids,
        "mem_limit": memory,
        "memswap_limit": memory,
        "nano_cpus": int(min(limits.cpus, cpus) * 1e9),
        "ulimits": docker_engine.ulimits({name: most for name, (_, most) in launcher.each_process(limits).items()}),
        "shm_size": SHM_MB << 20,
        "tmpfs": {
            "/tmp": f"exec,nosuid,nodev,mode=1777,size={limits.tmp_mb}m",  # noqa: S108 (inside)
            WORK: f"exec,nosuid,nodev,mode=0755,uid={user},gid={user},size={limits.work_mb}m",
            "/sys": "ro,size=4k",  # hides facts about the machine; no test needs them
        },
        "mounts": [docker_engine.bind(host, inside) for host, inside in shown],
    }


def _weights(nice: int) -> Mapping[str, int]:
    """Return the weights of a container relative to other containers.

    The engine ignores weights that its kernel lacks.
    """
    if not nice:
        return {}
    return {"cpu_shares": launcher.weight(nice, 1024, 2), "blkio_weight": launcher.weight(nice, 500, 10)}


class Container:
    """A started container that waits for its input. It serves one job."""

    def __init__(self, engine: Engine, name: str, streams: Streams, job: SandboxJob) -> None:
        self._engine, self._name, self._streams = engine, name, streams
        self._limits, self._answers = job.limits, job.answers

    async def finish(self, stdin: bytes) -> SandboxResult:
        """Send the input like `see`. Raise an error if the command has ended while it waited for its input.

        Raises:
            SandboxError: the job was not started, is gone, or the engine does not answer.
        """
        if self._streams.over.done():
            await self.discard()
            raise SandboxUnready("the container ended while it waited for its input")
        return await self.see(stdin)

    async def see(self, stdin: bytes) -> SandboxResult:
        """Send the input and wait for the job's end. The job's wall time begins with this call.

        Raises:
            SandboxError: the job was not started, or the engine does not answer.
        """
        try:
            await self._up()
            started = time.monotonic()
            self._streams.send(stdin)
            ended = await self._wait_end(started + self._limits.wall_s)
            duration_s = time.monotonic() - started
            self._streams.close()  # must precede the kill, since the engine waits for its readers
            state = await child.finish_uninterrupted(asyncio.to_thread(self._stop, ended))
        finally:
            await self.discard()
        if state.out_of_memory and ended is not Ended.OUTPUT_LIMIT:
            ended = Ended.OUT_OF_MEMORY
        exit_code = 128 - state.exit_code if 128 < state.exit_code < 192 else state.exit_code
        if self._answers and ended is Ended.EXITED:
            refuse_killed(exit_code)
        return SandboxResult(
            exit_code=exit_code,
            ended=Ended.KILLED if exit_code < 0 and ended is Ended.EXITED else ended,
            stdout=bytes(self._streams.stdout),
            stderr=bytes(self._streams.stderr),
            duration_s=duration_s,
        )

    async def discard(self) -> None:
        """End and remove the container, whether it was used or not."""
        self._streams.close()
        await child.finish_uninterrupted(asyncio.to_thread(self._engine.remove, self._name))

    async def _up(self) -> None:
        await asyncio.wait({self._streams.started}, timeout=START_S)
        if not (self._streams.started.done() and self._streams.started.result()):
            output = printable(bytes(self._streams.preface)).strip()
            raise SandboxUnready(output or f"the container did not start its command within {START_S:g} s")

    async def _wait_end(self, deadline: float) -> Ended:
        """Wait for the job's end, too much output, or the deadline; return which of them came first.

        A job may close its output streams and continue to run.
        """
        await asyncio.wait({self._streams.over}, timeout=deadline - time.monotonic())
        if not self._streams.over.done():
            return Ended.TIMEOUT
        if self._streams.over.result():
            return Ended.OUTPUT_LIMIT
        end = asyncio.ensure_future(asyncio.to_thread(self._engine.wait, self._name))
        over, _ = await asyncio.wait({end}, timeout=deadline - time.monotonic())
        if not over:
            return Ended.TIMEOUT  # the waiting thread returns when the container is killed
        end.result()
        return Ended.EXITED

    def _stop(self, ended: Ended) -> docker_engine.State:
        """Make sure that the container has ended, and return how it ended."""
        if ended is not Ended.EXITED:
            self._engine.kill(self._name)
        return self._engine.state(self._name)
