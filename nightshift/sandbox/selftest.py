"""Tests at start whether a sandbox holds. Each probe really tries to escape, and has a control that shows that it ran.

"Nothing escaped" alone is no evidence, because a probe that never started would report the same. So every probe first
does something that is allowed and reports it. The host also does what the probe must not be able to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import pwd
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Ended, SandboxJob, SandboxLimits, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.sandbox import orphans
from nightshift.sandbox.runtime import Runtime

PROBED_MB = 96
PROBED_PIDS = 24
PROBE_S = 60.0
"""Seconds a probe may take. Long, because the machine may be booting or busy, and probes have a low priority."""
NAMES = ("network", "home", "processes", "environment", "kernel settings", "memory limit", "process limit")
"""The probes, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one probe."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """All findings about a sandbox.

    The sandbox passed if every finding did. `is_late` is True if a probe did not finish in time.
    """

    sandbox: str
    findings: tuple[Finding, ...]
    is_late: bool = False

    @property
    def passed(self) -> bool:
        """True if the sandbox may be used."""
        return all(finding.passed for finding in self.findings)

    @property
    def report(self) -> str:
        """The findings as lines for the owner."""
        return "\n".join(f"{'ok    ' if f.passed else 'FAILED'} {f.name}: {f.detail}" for f in self.findings)


async def probe(sandbox: Sandbox, runtime: Runtime) -> SelfTest:
    """Try to escape from a sandbox in every way that can be tried within a second."""
    try:
        async with _bait() as (targets, visitors):
            looked, memory, forks = await asyncio.gather(
                sandbox.run(_job(runtime, "look", targets)),
                sandbox.run(_job(runtime, "memory", {"mb": 2 * PROBED_MB})),
                sandbox.run(_job(runtime, "forks", {"count": 3 * PROBED_PIDS})),
            )
    except SandboxError as error:
        return SelfTest(sandbox=sandbox.name, findings=(Finding(name="start", passed=False, detail=str(error)),))
    findings = [*_read_probes(looked, visitors), _memory(memory), _forks(forks)]
    is_late = any(result.ended is Ended.TIMEOUT for result in (looked, memory, forks))
    return SelfTest(sandbox=sandbox.name, findings=tuple(findings), is_late=is_late)


def _job(runtime: Runtime, name: str, settings: dict[str, object]) -> SandboxJob:
    code = "import sys; sys.path.insert(0, sys.argv[1]); from nightshift_inside import probes; probes.main()"
    return SandboxJob(
        argv=(*runtime.python, "-I", "-S", "-B", "-c", code, runtime.code, name),
        mounts=runtime.mounts,
        stdin=json.dumps(settings).encode(),
        limits=SandboxLimits(wall_s=PROBE_S, memory_mb=PROBED_MB, pids=PROBED_PIDS, output_bytes=1 << 16),
    )


@contextlib.asynccontextmanager
async def _bait() -> AsyncIterator[tuple[dict[str, object], list[str]]]:
    """Provide targets on the host that a job must not reach: a listening port, a file, a process and a home."""
    visitors: list[str] = []

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitors.append(str(writer.get_extra_info("peername")))
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)  # the control: the port is reachable from here
        writer.close()
        await writer.wait_closed()
        visitors.clear()
        with _open_file() as name:
            yield {"port": port, "file": name, "home": _home(), "cmdline": _cmdline()}, visitors
    finally:
        server.close()
        await server.wait_closed()


@contextlib.contextmanager
def _open_file() -> Iterator[str]:
    """Create a file that every user can read, so that only the isolation protects it.

    Also remove such files of dead processes.
    """
    orphans.sweep_temporary()
    with tempfile.NamedTemporaryFile(prefix=orphans.prefix("probe")) as file:
        file.write(secrets.token_hex(16).encode())
        file.flush()
        os.fchmod(file.fileno(), 0o644)
        yield file.name


def _home() -> list[str]:
    """List up to 50 paths in the home folder of the user who runs the daemon; empty if it is unreadable or unknown."""
    try:
        home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return []
    return [str(path) for path in home.iterdir()][:50] if os.access(home, os.R_OK) else []


def _cmdline() -> str:
    return hashlib.sha256(Path("/proc/self/cmdline").read_bytes()).hexdigest()


def _read_probes(result: SandboxResult, visitors: Sequence[str]) -> list[Finding]:
    try:
        answers = json.loads(result.stdout)
    except ValueError:
        return [Finding(name="look", passed=False, detail=f"the probe gave no answer ({result.ended})")]
    findings = []
    for name in NAMES[:5]:
        control, escapes = answers.get(name, (False, []))
        detail = "; ".join(escapes) or ("closed" if control else "the probe's control did not work")
        findings.append(Finding(name=name, passed=bool(control) and not escapes, detail=detail))
    if visitors and findings[0].passed:
        findings[0] = Finding(name=NAMES[0], passed=False, detail="a connection from inside reached the host")
    return findings


def _memory(result: SandboxResult) -> Finding:
    started, refused = b"control" in result.stdout, b"refused" in result.stdout
    killed = result.ended is Ended.OUT_OF_MEMORY
    alone = (
        "holds for each process separately: together, the processes can use more"
        if refused
        else "holds for all processes together"
    )
    detail = (
        alone
        if refused or killed
        else f"not enforced: a job could use {2 * PROBED_MB} MB, although the limit is {PROBED_MB} MB"
    )
    if not started:
        detail = f"the probe's control did not work ({result.ended})"
    return Finding(name="memory limit", passed=started and (refused or killed), detail=detail)


def _forks(result: SandboxResult) -> Finding:
    words = result.stdout.split()
    count = int(words[1]) if len(words) == 2 and words[0] == b"made" and words[1].isdigit() else 0
    passed = 0 < count <= 2 * PROBED_PIDS  # without a control group, all processes of the jobs' user count
    detail = f"{count} processes under a limit of {PROBED_PIDS}" if count else "the probe's control did not work"
    return Finding(name="process limit", passed=passed, detail=detail)
