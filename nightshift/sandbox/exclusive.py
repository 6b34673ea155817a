"""Lets a job run while no other job runs. Used to repeat a run that was cut off by a timeout."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from nightshift.core.isolation import SandboxJob, SandboxResult
from nightshift.core.ports import Sandbox

PATIENCE_S = 60.0
"""Maximum seconds to wait until running jobs have ended. A search of the repair engine may take longer; then the job
runs beside it.
"""


class Exclusive:
    """A sandbox in which a job can ask to run alone. All other jobs then wait until it has ended.

    Args:
        sandbox: runs the jobs.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.name = sandbox.name
        self._sandbox, self._running = sandbox, 0
        self._turn, self._quiet = asyncio.Lock(), asyncio.Event()

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run a job to its end, to a limit, or until cancelled. Nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up; the job was not started.
        """
        if job.alone:
            async with self._turn:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._others(), PATIENCE_S)
                return await self._sandbox.run(replace(job, alone=False))
        async with self._turn:
            self._running += 1
        try:
            return await self._sandbox.run(job)
        finally:
            self._running -= 1
            self._quiet.set()

    async def _others(self) -> None:
        """Wait until no other job runs."""
        while self._running:
            self._quiet.clear()
            await self._quiet.wait()
