"""Jobs for a sandbox and its reports."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path

WORK = "/work"
"""The working folder of every job, as the job sees it."""


class Ended(StrEnum):
    """How a run came to its end."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output_limit"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of one run of tests. These are the defaults of the settings; nothing else repeats them."""

    cpu_s: float = 60
    """Processor time of all processes together, in seconds; how long that takes on the clock is `verdict.time_limits`'
    business."""
    cpus: float = 2
    """Cores at once."""
    memory_mb: int = 512
    """Memory of all processes together."""
    pids: int = 128
    """Processes and threads at once."""
    work_mb: int = 64
    """Limit of what a run writes to the working folder."""


RUN_LIMITS = RunLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits(RunLimits):
    """Limits of one command in a sandbox; every isolation enforces all of them or refuses to run."""

    cpu_s: float = math.inf
    """Without a limit of its own processor time is bounded by the clock."""
    wall_s: float = 60
    """How long the command may take, on the clock."""
    output_bytes: int = 1 << 20
    """Limit of standard output and of standard error, each."""
    tmp_mb: int = 160
    """Limit of `/tmp`."""
    reserved_mb: int = 0
    """Address space that the command reserves without using it, as Node.js does. Where memory can only be bounded for
    each process, the bound of its address space is higher by so much."""

    def with_run(self, limits: RunLimits) -> SandboxLimits:
        """The same sandbox for a run with these limits."""
        return replace(self, **{name: getattr(limits, name) for name in _OF_A_RUN})


_OF_A_RUN = tuple(each.name for each in fields(RunLimits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A host folder or file shown read-only at `inside`."""

    host: Path
    inside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A folder of the host whose files a job sees in `/work` as its own: what becomes of them there ends with the run.

    They belong to the jobs' user (`sandbox.launcher`), and nobody changes them. `size_mb` is what a copy of them takes.
    """

    host: Path
    size_mb: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """A command to run in `/work`, where the files of `layers` lie (later ones win), and which dies with the run.

    `stdin` is written and closed. What the command writes to its standard output and standard error comes back
    separately: the trusted parent inside keeps standard output for results and gives its children standard error.
    With `answers` the command is over when it closes its standard output; an isolation that can then ends what is left
    of it without making its caller wait for that. A job that is `alone` runs while no other job does, where
    the sandbox knows of the others (`sandbox.exclusive`).
    """

    argv: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
    mounts: tuple[Mount, ...] = ()
    stdin: bytes = b""
    answers: bool = False
    alone: bool = False
    limits: SandboxLimits = field(default_factory=SandboxLimits)

    def copying(self) -> SandboxJob:
        """The same job with room for copies of its layers, for an isolation that cannot share them."""
        copies_mb, limits = sum(layer.size_mb for layer in self.layers), self.limits
        more = {"work_mb": limits.work_mb + copies_mb, "memory_mb": limits.memory_mb + copies_mb}
        return replace(self, limits=replace(limits, **more)) if copies_mb else self


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """`exit_code` is negative for a signal; streams are cut at the limit."""

    exit_code: int
    ended: Ended
    stdout: bytes
    stderr: bytes
    duration_s: float
    peak_memory_mb: float | None = None
