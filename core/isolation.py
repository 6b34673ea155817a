"""What a sandbox is asked to run and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field
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
class SandboxLimits:
    """Limits of one run; every isolation enforces all of them or refuses to run.

    `reserved_mb` is address space that the command reserves without using it, as Node.js does; where memory can only be
    bounded for each process, the bound of its address space is higher by so much.
    """

    wall_s: float = 60.0
    cpus: float = 2.0
    memory_mb: int = 512
    pids: int = 128
    output_bytes: int = 1 << 20
    work_mb: int = 64
    reserved_mb: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A host folder or file shown read-only at `inside`."""

    host: Path
    inside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """A command to run in `/work`, a private copy of `copy_in` (later folders win) that dies with the run.

    `stdin` is written and closed. What the command writes to its standard output and standard error comes back
    separately: the trusted parent inside keeps standard output for results and gives its children standard error.
    With `answers` the command is over when it closes its standard output; an isolation that can then ends what is left
    of it without making its caller wait for that.
    """

    argv: tuple[str, ...]
    copy_in: tuple[Path, ...] = ()
    mounts: tuple[Mount, ...] = ()
    stdin: bytes = b""
    answers: bool = False
    limits: SandboxLimits = field(default_factory=SandboxLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """`exit_code` is negative for a signal; streams are cut at the limit."""

    exit_code: int
    ended: Ended
    stdout: bytes
    stderr: bytes
    duration_s: float
    peak_memory_mb: float | None = None
