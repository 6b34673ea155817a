"""Protocol of an isolation that can begin a job ahead of need, so that a pool can keep it warm."""

from __future__ import annotations

from typing import Protocol

from nightshift.core.isolation import SandboxJob, SandboxResult


class Begun(Protocol):
    """A sandbox that has started its command, which waits for its standard input. Good for one job."""

    async def finish(self, stdin: bytes) -> SandboxResult:
        """Send the input and wait for the job's end; its wall time begins now.

        Raises:
            SandboxError: the sandbox did not start, or is gone: the job was not started.
        """
        ...

    async def discard(self) -> None:
        """End it unused, and remove everything of it."""
        ...


class Isolation(Protocol):
    """A `core.ports.Sandbox` whose jobs can be begun before their input is known; `run` begins and finishes a job."""

    @property
    def name(self) -> str:
        """The isolation's short name."""
        ...

    async def begin(self, job: SandboxJob) -> Begun:
        """Start a job without its standard input (`job.stdin` is ignored)."""
        ...

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run a job to its end, to a limit, or until cancelled; nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up; the job was not started.
        """
        return await (await self.begin(job)).finish(job.stdin)
