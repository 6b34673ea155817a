"""A started job with its control group. Waits for the end of the job, and always removes the group afterwards."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from nightshift.core.errors import SandboxUnready
from nightshift.core.isolation import Ended, SandboxLimits, SandboxResult
from nightshift.sandbox import cgroups, child
from nightshift.sandbox.cgroups import Group, Usage
from nightshift.sandbox.child import Finished, Patience, Running


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedJob:
    """A started job with its control group (a `sandbox.isolation.Begun`).

    `proved` is called with the way in which the process ended. It raises `SandboxError` if the job itself was never
    started; otherwise it returns the result to report.
    """

    running: Running
    group: Group | None
    limits: SandboxLimits
    answers: bool
    proved: Callable[[Finished], Finished]

    async def finish(self, stdin: bytes) -> SandboxResult:
        """Send the input and wait for the job's end.

        Raises:
            SandboxError: the job was not started, or was ended from outside the sandbox.
        """
        if self.running.is_over:
            await self.discard()
            raise SandboxUnready("the sandbox ended while it waited for a job")
        if self.answers and (answer := await self._wait_answer(stdin)):
            usage = self.group.usage() if self.group else None
            _in_background(self.discard())
            return _result(self.proved(answer), usage, answers=True)
        try:
            finished = await self.running.finish(stdin, self._patience)
            usage = self.group.usage() if self.group else None
        finally:
            await self._remove_group()
        return _result(self.proved(finished), usage, answers=self.answers)

    @property
    def _patience(self) -> Patience:
        """The job's time limits. Processor time is limited only if there is a control group, which measures it."""
        if self.group is None:
            return Patience(wall_s=self.limits.wall_s)
        return Patience(
            wall_s=self.limits.wall_s, cpu_s=self.limits.cpu_s, cpus=self.limits.cpus, used_s=self.group.cpu_s
        )

    async def _wait_answer(self, stdin: bytes) -> Finished | None:
        try:
            return await self.running.wait_for_answer(stdin, self._patience)
        except asyncio.CancelledError:
            await self.discard()
            raise

    async def discard(self) -> None:
        """End the job without using it.

        If the event loop is being closed, this call may be cancelled before it begins. In that case the job is killed
        without waiting.
        """
        try:
            await child.finish_uninterrupted(self.running.end())
        except asyncio.CancelledError:
            self.running.let_go()
            raise
        finally:
            await self._remove_group()

    async def _remove_group(self) -> None:
        if self.group is None:
            return
        try:
            await child.finish_uninterrupted(cgroups.remove(self.group))
        except asyncio.CancelledError:
            cgroups.remove_now(self.group)
            raise


# Signals that can only come from outside the sandbox. No process of a job can send them to the first process of its
# namespace, or to bubblewrap.
_FROM_OUTSIDE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})
_ending: set[asyncio.Task[None]] = set()


def _in_background(work: Coroutine[Any, Any, None]) -> None:
    """Clean up a sandbox in the background, while its result is already used.

    The event loop waits for the clean-up before it ends.
    """
    task = asyncio.create_task(work)
    _ending.add(task)
    task.add_done_callback(_ending.discard)


def refuse_killed(code: int) -> None:
    """Raise `SandboxUnready` if a signal that no job can send ended the job's first process."""
    if -code in _FROM_OUTSIDE:
        raise SandboxUnready(
            f"{signal.Signals(-code).name} from outside the sandbox ended a job; the machine may be short of memory"
        )


def _result(finished: Finished, usage: Usage | None, *, answers: bool) -> SandboxResult:
    """Return a job's result, given how its process ended and what its control group measured.

    Raises:
        SandboxUnready: the job's process was ended from outside the sandbox.
    """
    ended = finished.ended
    if usage and usage.oom_kills and not usage.is_own_limit:
        raise SandboxUnready("the kernel killed a process of a job, because this machine is short of memory")
    if usage and usage.oom_kills and ended is not Ended.OUTPUT_LIMIT:
        ended = Ended.OUT_OF_MEMORY
    elif ended is Ended.KILLED or (ended is Ended.EXITED and answers):  # for a shell, 137 is an ordinary status
        refuse_killed(finished.exit_code)
    if ended is Ended.EXITED and finished.exit_code < 0:
        ended = Ended.KILLED
    return SandboxResult(
        exit_code=finished.exit_code,
        ended=ended,
        stdout=finished.stdout,
        stderr=finished.stderr,
        duration_s=finished.duration_s,
        peak_memory_mb=usage.peak_bytes / (1 << 20) if usage and usage.peak_bytes else None,
    )
