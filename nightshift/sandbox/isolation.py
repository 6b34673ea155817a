"""An isolation can also begin a job ahead of need, so that a pool keeps it warm."""

from __future__ import annotations

from typing import Protocol

from nightshift.core.isolation import SandboxJob, SandboxResult


class Begun(Protocol):
    """A sandbox that has started its command, which waits for its standard input. Good for one job."""

    async def finish(self, stdin: bytes) -> SandboxResult:
        """Hand the input over and see the job to its end; its wall time begins now.

        Raises:
            SandboxError: the sandbox did not come up, or is gone: the job was not started.
        """
        ...

    async def discard(self) -> None:
        """End it unused; nothing of it is left."""
        ...


class Isolation(Protocol):
    """A `core.ports.Sandbox` whose jobs can be begun ahead of their input; to run one is to begin and to finish it."""

    @property
    def name(self) -> str:
        """The isolation's short name."""
        ...

    async def begin(self, job: SandboxJob) -> Begun:
        """Start a job without its standard input (`job.stdin` is not looked at)."""
        ...

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run to the end, to the limit, or until cancelled; nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up; the job was not started.
        """
        return await (await self.begin(job)).finish(job.stdin)
