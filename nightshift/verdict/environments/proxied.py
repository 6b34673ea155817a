"""Runs a job whose only way out is a proxy of the daemon's, in folders on the disk that it may write to.

It is the strong sandbox with two differences: the folders that it may write to lie on the disk, where their size is
watched, and a socket of its otherwise empty network is answered by `verdict.environments.registry_proxy`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Mount, SandboxJob, SandboxResult
from nightshift.sandbox import launcher
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.verdict.environments.registry_proxy import RegistryProxy

START = "setup_start.py"
"""The program inside that hands the socket out and becomes what is run."""
LOOK_S = 0.5
LEAST_FREE_MB = 1024
"""Room that must stay free on the disk."""
_ENTRY_BYTES = 1024


class ProxiedRun:
    """One run of one job.

    Args:
        sandbox: holds it.
        proxy: answers it.
        writable: the folders that it may write to; they are the jobs' user's, and the daemon's again afterwards.
        most_mb: what it may take of the disk there.
        who: what it is called in errors.
    """

    def __init__(
        self, sandbox: BubblewrapSandbox, proxy: RegistryProxy, *, writable: Sequence[Mount], most_mb: float, who: str
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
                    return await self._served(running, ours)
                finally:
                    running.cancel()
                    await asyncio.gather(running, return_exceptions=True)
        finally:
            await asyncio.to_thread(_take_over, [mount.host for mount in self._writable])

    async def _served(self, running: asyncio.Task[SandboxResult], channel: socket.socket) -> SandboxResult:
        """Answer its requests until it ends, and see to it that it does not take too much."""
        listening = await _handed_out(channel)
        if listening is None:  # it did not come up; its result says why
            return await running
        async with self._proxy.serving(listening):
            while not running.done():
                await asyncio.wait([running], timeout=LOOK_S)
                await asyncio.to_thread(self._look)
                if self._proxy.spent.is_set():
                    raise SandboxError(f"{self._who} received more than it may")
            return await running

    def _look(self) -> None:
        """Raises `SandboxError` where it takes too much of the disk."""
        try:
            taken = sum(_taken(mount.host) for mount in self._writable)
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


def _taken(folder: Path) -> int:
    """Sum up the room below a folder, with something for each entry."""
    total = 0
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_blocks * 512 + _ENTRY_BYTES  # noqa: PTH118 (many)
    return total


async def _handed_out(channel: socket.socket) -> socket.socket | None:
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
