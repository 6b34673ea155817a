"""The protocol of an isolation that can start a job before its input is known, so that a pool can keep jobs waiting."""

from __future__ import annotations

from typing import Protocol

from nightshift.core.isolation import SandboxJob, SandboxResult


class Begun(Protocol):
    """A sandbox whose command has started and waits for its standard input. It serves one job."""

    async def finish(self, stdin: bytes) -> SandboxResult:
        """Send the input and wait for the job's end. The job's wall time begins with this call.

        Raises:
            SandboxError: the sandbox did not start, or is gone; the job was not started.
        """
        ...

    async def discard(self) -> None:
        """End the sandbox without using it, and remove all its parts."""
        ...


class Isolation(Protocol):
    """A `core.ports.Sandbox` whose jobs can be started before their input is known. `run` starts and finishes a job."""

    @property
    def name(self) -> str:
        """The isolation's short name."""
        ...

    async def begin(self, job: SandboxJob) -> Begun:
        """Start a job that waits for its standard input (`job.stdin` is ignored)."""
        ...

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run a job to its end, to a limit, or until cancelled. Nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up; the job was not started.
        """
        return await (await self.begin(job)).finish(job.stdin)
