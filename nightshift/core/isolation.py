"""Jobs for a sandbox, and their results."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path

WORK = "/work"
"""The working folder of every job, inside the sandbox."""


class Ended(StrEnum):
    """How a run ended."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output_limit"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of one test run. These values are the defaults of the settings and are defined only here."""

    cpu_s: float = 60
    """Processor time of all processes together, in seconds.

    `verdict.time_limits` derives the wall-clock limit from it.
    """
    cpus: float = 2
    """Number of processor cores that may be used at once."""
    memory_mb: int = 512
    """Memory of all processes together, in megabytes."""
    pids: int = 128
    """Number of processes and threads that may exist at once."""
    work_mb: int = 64
    """Megabytes that a run may write to the working folder."""


RUN_LIMITS = RunLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits(RunLimits):
    """Limits of one command in a sandbox; every isolation enforces all of them, or refuses to run the command."""

    cpu_s: float = math.inf
    """Processor time in seconds. Unlimited by default, so that only `wall_s` applies."""
    wall_s: float = 60
    """Seconds of wall-clock time that the command may take."""
    output_bytes: int = 1 << 20
    """Maximum bytes of standard output, and also of standard error."""
    tmp_mb: int = 160
    """Megabytes that the command may write to `/tmp`."""
    reserved_mb: int = 0
    """Address space in megabytes that the command reserves without using it, as Node.js does.

    An isolation that can only limit memory per process raises its limit of the address space by this amount.
    """

    def with_run(self, limits: RunLimits) -> SandboxLimits:
        """Return a copy of these sandbox limits with the given run limits."""
        return replace(self, **{name: getattr(limits, name) for name in _OF_A_RUN})


_OF_A_RUN = tuple(each.name for each in fields(RunLimits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder or file of the host that is visible read-only at the path `inside`."""

    host: Path
    inside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A folder of the host. A job sees the files of the folder as its own files in `/work`.

    The job's changes to these files are discarded when the run ends. The files belong to the jobs' user
    (`sandbox.launcher`), and nothing changes them on the host. `size_mb` is the size of a copy.
    """

    host: Path
    size_mb: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """A command to run in `/work`, which contains the files of `layers`; a later layer replaces files of earlier ones.

    All processes are killed when the run ends. `stdin` is written and closed. Standard output and standard error are
    returned separately: the trusted parent process inside the sandbox writes results to standard output, and its child
    processes may only write to standard error. With `answers`, the command counts as finished when it closes its
    standard output; an isolation that supports this ends the remaining processes without making its caller wait. A job
    that is `alone` runs while no other job does, if the sandbox knows about the other jobs (`sandbox.exclusive`).
    """

    argv: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
    mounts: tuple[Mount, ...] = ()
    stdin: bytes = b""
    answers: bool = False
    alone: bool = False
    limits: SandboxLimits = field(default_factory=SandboxLimits)

    def copying(self) -> SandboxJob:
        """Return the job with enough room for copies of its layers, for an isolation that cannot share them."""
        copies_mb, limits = sum(layer.size_mb for layer in self.layers), self.limits
        more = {"work_mb": limits.work_mb + copies_mb, "memory_mb": limits.memory_mb + copies_mb}
        return replace(self, limits=replace(limits, **more)) if copies_mb else self


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """The result of a job. A negative `exit_code` is a signal; the output streams are cut off at the limit."""

    exit_code: int
    ended: Ended
    stdout: bytes
    stderr: bytes
    duration_s: float
    peak_memory_mb: float | None = None
