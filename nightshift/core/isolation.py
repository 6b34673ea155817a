"""Jobs for a sandbox, and their results."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path

WORK = "/work"
"""The working folder of every job, inside the sandbox."""


class Ended(StrEnum):
    """The way in which a run ended."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output_limit"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of one test run. These are the defaults of the settings, defined only here."""

    cpu_s: float = 60
    """Processor time of all processes together, in seconds.

    `verdict.time_limits` derives the wall-clock limit from it.
    """
    cpus: float = 2
    """Cores used at once."""
    memory_mb: int = 512
    """Memory of all processes together."""
    pids: int = 128
    """Processes and threads at once."""
    work_mb: int = 64
    """Megabytes that a run may write to the working folder."""


RUN_LIMITS = RunLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits(RunLimits):
    """Limits of one command in a sandbox; every isolation enforces all of them or refuses to run."""

    cpu_s: float = math.inf
    """By default only the clock limits processor time."""
    wall_s: float = 60
    """Seconds that the command may take, on the clock."""
    output_bytes: int = 1 << 20
    """Bytes of standard output and of standard error, each."""
    tmp_mb: int = 160
    """Limit of `/tmp`."""
    reserved_mb: int = 0
    """Address space that the command reserves without using it, as Node.js does.

    Where memory can only be limited per process, the limit of the address space is raised by this amount.
    """

    def with_run(self, limits: RunLimits) -> SandboxLimits:
        """Return these sandbox limits with the run limits replaced."""
        return replace(self, **{name: getattr(limits, name) for name in _OF_A_RUN})


_OF_A_RUN = tuple(each.name for each in fields(RunLimits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A host folder or file that is visible read-only at `inside`."""

    host: Path
    inside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A host folder whose files a job sees in `/work` as its own. Changes that the job makes to them end with the run.

    The files belong to the jobs' user (`sandbox.launcher`), and nothing changes them. `size_mb` is the size of a copy.
    """

    host: Path
    size_mb: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """A command to run in `/work`, which contains the files of `layers` (later ones win). It is killed with the run.

    `stdin` is written and closed. Standard output and standard error are returned separately: the trusted parent
    process inside keeps standard output for results and gives its children standard error. With `answers` the command
    is over when it closes its standard output; an isolation that supports this ends the remaining processes without
    making its caller wait. A job that is `alone` runs while no other job does, if the sandbox knows about the others
    (`sandbox.exclusive`).
    """

    argv: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
    mounts: tuple[Mount, ...] = ()
    stdin: bytes = b""
    answers: bool = False
    alone: bool = False
    limits: SandboxLimits = field(default_factory=SandboxLimits)

    def copying(self) -> SandboxJob:
        """Return the job with room for copies of its layers, for an isolation that cannot share them."""
        copies_mb, limits = sum(layer.size_mb for layer in self.layers), self.limits
        more = {"work_mb": limits.work_mb + copies_mb, "memory_mb": limits.memory_mb + copies_mb}
        return replace(self, limits=replace(limits, **more)) if copies_mb else self


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """The result of a job. `exit_code` is negative for a signal; streams are cut at the limit."""

    exit_code: int
    ended: Ended
    stdout: bytes
    stderr: bytes
    duration_s: float
    peak_memory_mb: float | None = None
