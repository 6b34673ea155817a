"""A sandbox that records the jobs that it runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from nightshift.core.isolation import SandboxJob, SandboxResult
from nightshift.core.ports import Sandbox


def request_of(job: SandboxJob) -> dict[str, Any]:
    """Return the request that a run of tests sends as its input: the length, a line break, and JSON."""
    length, _, rest = job.stdin.partition(b"\n")
    request: dict[str, Any] = json.loads(rest[: int(length)])
    return request


@dataclass
class Recording:
    """A real sandbox, which records each job."""

    sandbox: Sandbox
    jobs: list[SandboxJob] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.sandbox.name

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The request of each job."""
        return [request_of(job) for job in self.jobs]

    async def run(self, job: SandboxJob) -> SandboxResult:
        self.jobs.append(job)
        return await self.sandbox.run(job)
