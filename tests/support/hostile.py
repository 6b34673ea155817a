"""Runs hostile programs, bare and in a sandbox, and judges them by their effects on the host's bait.

A program is a file below tests/hostile/payloads with a function `attack(facts)`. It gets the locations of the bait and
writes everything that it could read to its standard output. The program itself never decides whether it succeeded: the
host searches the output for its secrets, and checks its files, its listeners, its processes, and the resources that the
program's processes used while they ran. A program that does not prove that it ran (by a digest of a token that it was
given) counts as an error, not as an attack that was stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nightshift.core.isolation import Ended, Mount, SandboxJob, SandboxLimits, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.sandbox import launcher
from tests.support.hostile_host import ENVIRONMENT_NAME, SHOWN, Host, host, list_marked_processes
from tests.support.sandboxes import runtime

PAYLOADS = Path(__file__).resolve().parent.parent / "hostile" / "payloads"
LIMITS = SandboxLimits(wall_s=8, cpus=1, memory_mb=96, pids=32, output_bytes=1 << 18, work_mb=16)
BARE_S = 20
_BOOT = """
import hashlib, json, sys, time, traceback
told = json.load(sys.stdin)
print('alive', hashlib.sha256(told['token'].encode()).hexdigest(), flush=True)
space = {'__name__': 'payload'}
exec(compile(told.pop('program'), 'payload.py', 'exec'), space)
def hold(told):
    space['leave'](told)
    time.sleep(0.45)
def seek(told):
    until = time.monotonic() + 0.4
    while time.monotonic() < until:
        try:
            space['find'](told)
        except OSError:
            pass
        time.sleep(0.05)
try:
    ({'hold': hold, 'seek': seek}.get(told['step']) or space[told['step']])(told)
except (OSError, MemoryError) as error:
    print('refused', type(error).__name__, error, flush=True)
except BaseException:
    traceback.print_exc(file=sys.stdout)
    print('broken', flush=True)
print('over', flush=True)
"""


@dataclass(slots=True)
class Used:
    """The peak resource use of all of a program's processes together, as the kernel counts it."""

    processes: int = 0
    threads: int = 0
    memory_mb: float = 0
    locked_mb: float = 0
    descriptors: int = 0
    disk_mb: float = 0
    files: int = 0
    file_mb: float = 0
    cpu_s: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The effects of a program's run, as the host observed them."""

    host: Host
    output: bytes
    duration_s: float
    limits: SandboxLimits
    used: Used = field(default_factory=Used)
    left: int = 0
    called: bool = False
    has_leftovers: bool = False
    report: bytes | None = b""
    changed: tuple[str, ...] = ()
    arrived: tuple[str, ...] = ()
    harmed: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    ended: Ended = Ended.EXITED

    def check(self) -> None:
        """Raise AssertionError unless the program started, and ran to its end or to a limit."""
        assert self.output.startswith(_proof(self.host)), f"it did not start: {self.output[-2000:]!r}"
        assert b"\nbroken\n" not in self.output, f"it is broken: {self.output[-2000:]!r}"
        over = self.output.rstrip().endswith(b"over") or self.ended is not Ended.EXITED
        assert over, f"it ended before its end: {self.output[-2000:]!r}"


Effect = Callable[[Seen], bool]


def start(bait_host: Host, result: SandboxResult) -> bool:
    """Check whether a program proved that it had started, and did not report that it was broken."""
    return result.stdout.startswith(_proof(bait_host)) and b"\nbroken\n" not in result.stdout


def _proof(bait_host: Host) -> bytes:
    return f"alive {hashlib.sha256(bait_host.token.encode()).hexdigest()}".encode()


def source(name: str) -> str:
    """Return the source text of a program with a name of the form `group/name`."""
    return (PAYLOADS / f"{name}.py").read_text()


def list_told_to(bait_host: Host, name: str, limits: SandboxLimits, step: str = "attack") -> bytes:
    """Return the standard input of a program: its own source text, the locations of the bait, and its limits."""
    facts = {
        **bait_host.facts, "program": source(name), "step": step, "pids": str(limits.pids),
        "memory_mb": str(limits.memory_mb), "work_mb": str(limits.work_mb), "wall_s": str(limits.wall_s),
        "output_bytes": str(limits.output_bytes),
    }  # fmt: skip
    if step in {"leave", "hold"}:
        facts["secret"] = bait_host.secret
    return json.dumps(facts).encode()


def command(bait_host: Host) -> tuple[str, ...]:
    """Return the command line that starts any program."""
    return (*runtime().python, "-I", "-S", "-B", "-c", _BOOT, bait_host.mark)


async def run_bare(
    bait_host: Host, name: str, limits: SandboxLimits, step: str = "attack", *, as_job: bool = False
) -> SandboxResult:
    """Run a program without a sandbox, but with the environment, descriptors and user of the daemon.

    Args:
        bait_host: the bait.
        name: the program.
        limits: the limits that the program is told.
        step: the function of the program to call.
        as_job: run as the user that jobs run as, for attacks that would be trivial for root.
    """
    bait_host.bare.mkdir(exist_ok=True)
    bait_host.bare.chmod(0o777)
    user = launcher.job_uid() if as_job and os.geteuid() == 0 else None
    return await asyncio.to_thread(
        _bare, command(bait_host), bait_host.bare, list_told_to(bait_host, name, limits, step), user
    )


def _bare(argv: tuple[str, ...], folder: Path, stdin: bytes, user: int | None) -> SandboxResult:
    started = time.monotonic()
    groups: tuple[int, ...] | None = None if user is None else ()
    process = subprocess.Popen(
        argv, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        close_fds=False, start_new_session=True, user=user, group=user, extra_groups=groups,
    )  # fmt: skip
    try:
        out, _ = process.communicate(stdin, timeout=BARE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
    ended = Ended.KILLED if process.returncode < 0 else Ended.EXITED
    return SandboxResult(
        exit_code=process.returncode, ended=ended, stdout=out, stderr=b"", duration_s=time.monotonic() - started
    )


async def run_inside(
    sandbox: Sandbox, bait_host: Host, name: str, limits: SandboxLimits, step: str = "attack", *, shown: bool = False
) -> SandboxResult:
    """Run a program in a sandbox; `shown` mounts a folder of the host in it."""
    mounts = [*runtime().mounts, *([Mount(host=bait_host.canaries / "runtime", inside=SHOWN)] if shown else [])]
    job = SandboxJob(
        argv=command(bait_host), mounts=tuple(mounts), stdin=list_told_to(bait_host, name, limits, step), limits=limits
    )
    return await sandbox.run(job)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A hostile program and the conditions of its run.

    The conditions are the program's limits and what the run needs: a bait process, a watch on its resource use in the
    kernel's accounting (`books`), or a caller from outside.
    """

    name: str
    limits: SandboxLimits = LIMITS
    bait: bool = False
    books: bool = False
    caller: bool = False
    as_job: bool = False
    tidy: bool = False
    shown: bool = False

    async def bare(self, env_secret: str) -> Seen:
        """Run the program without a sandbox, and remove its folder as a daemon usually does."""
        with host(env_secret, bait=self.bait, in_memory=self.books) as bait_host:
            run = run_bare(bait_host, self.name, self.limits, as_job=self.as_job)
            seen = await self._seen(bait_host, env_secret, run)
            report = await asyncio.to_thread(_collect, bait_host.bare)
            return replace(seen, report=report, has_leftovers=self.tidy and not _remove(bait_host.bare))

    async def inside(self, sandbox: Sandbox, env_secret: str, scratch: Path) -> Seen:
        """Run the program in a sandbox.

        `scratch` is the folder in which the sandbox may keep a job's files during the run.
        """
        with host(env_secret, bait=self.bait) as bait_host:
            seen = await self._seen(
                bait_host, env_secret, run_inside(sandbox, bait_host, self.name, self.limits, shown=self.shown)
            )
            report = await asyncio.to_thread(_collect, scratch)
            return replace(
                seen, report=report, has_leftovers=any(await asyncio.to_thread(lambda: list(scratch.iterdir())))
            )

    async def _seen(self, bait_host: Host, env_secret: str, run: Coroutine[None, None, SandboxResult]) -> Seen:
        books, called = Used(), list[bool]()
        with contextlib.ExitStack() as held:
            if self.books:
                held.enter_context(_watch(lambda: _enter(books, bait_host.mark)))
            if self.caller:
                held.enter_context(_watch(lambda: _call(bait_host, called)))
            result = await run
        left = await asyncio.to_thread(_leave, bait_host.mark)
        return Seen(
            host=bait_host, output=result.stdout + result.stderr, duration_s=result.duration_s, limits=self.limits,
            used=books, left=left, called=bool(called), changed=tuple(bait_host.changed()),
            arrived=tuple(bait_host.arrived()), harmed=tuple(bait_host.harmed()),
            secrets=(bait_host.secret, env_secret), ended=result.ended,
        )  # fmt: skip

    def within(self, **limits: Any) -> Attack:
        """Return the same attack with other limits (fields of `SandboxLimits`)."""
        return replace(self, limits=replace(self.limits, **limits))


@contextlib.contextmanager
def _watch(look: Callable[[], None]) -> Iterator[None]:
    """Call `look` repeatedly from a thread while the block runs.

    The calls take at most half of the time, because listing a folder blocks the processes that write to it.
    """
    over = threading.Event()

    def watch() -> None:
        took_s = 0.0
        while not over.wait(max(0.02, took_s)):
            started = time.monotonic()
            look()
            took_s = time.monotonic() - started

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _collect(folder: Path) -> bytes | None:
    """Read a run's report from its folder as a daemon does; return None if reading would block for ever."""
    report = folder / "report.json"
    if report.is_fifo():
        return None
    return report.read_bytes() if report.exists() else b""


def _remove(folder: Path) -> bool:
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        return False
    return True


def _leave(mark: str) -> int:
    """Give the processes with this mark a moment to end, and return how many are left."""
    for _ in range(5):
        if not (left := list_marked_processes(mark)):
            break
        time.sleep(0.02)
    return len(left)


def _call(bait_host: Host, called: list[bool]) -> None:
    """Connect to the free port of the host, and record in `called` if the hostile program answers there."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", int(bait_host.facts["free_port"])), 0.1) as s,
    ):
        if s.recv(100).decode() == bait_host.challenge:
            called.append(True)


def _enter(used: Used, mark: str) -> None:
    here = Path.cwd().stat()
    now, folders = Used(), {(here.st_dev, here.st_ino)}
    for pid in list_marked_processes(mark):
        with contextlib.suppress(OSError, ValueError):
            _add(now, Path("/proc", str(pid)), folders)
    for name in Used.__slots__:
        setattr(used, name, max(getattr(used, name), getattr(now, name)))


def _add(now: Used, process: Path, folders: set[tuple[int, int]]) -> None:
    pairs = (line.split(":", 1) for line in (process / "status").read_text().splitlines())
    facts = {pair[0]: pair[1].split()[0] for pair in pairs if len(pair) == 2 and pair[1].strip()}
    stat = (process / "stat").read_text().rpartition(")")[2].split()
    now.cpu_s += sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")
    now.processes += 1
    now.threads += int(facts["Threads"])
    now.memory_mb += (int(facts.get("RssAnon", "0")) + int(facts.get("RssShmem", "0"))) / 1024
    now.locked_mb += int(facts.get("VmLck", "0")) / 1024
    now.descriptors = max(now.descriptors, len(os.listdir(process / "fd")))  # noqa: PTH208 (a count, no paths)
    folder = (process / "cwd").stat()
    if (folder.st_dev, folder.st_ino) not in folders:  # count each folder once, and never the daemon's
        folders.add((folder.st_dev, folder.st_ino))
        _add_folder(now, process / "cwd/.")


def _add_folder(now: Used, folder: Path) -> None:
    with os.scandir(folder) as entries:
        listed_entries = list(entries)
    now.files += len(listed_entries)
    for entry in listed_entries[:100]:
        stat = entry.stat(follow_symlinks=False)
        now.disk_mb += stat.st_blocks / 2048
        now.file_mb = max(now.file_mb, stat.st_size / (1 << 20))


# Each function below checks for one kind of effect.


def has_leaked(seen: Seen) -> bool:
    """Check whether a secret of the host is in the output."""
    return any(secret.encode() in seen.output for secret in seen.secrets)


def change(seen: Seen) -> bool:
    """Check whether a file of the host was changed, removed or added."""
    return bool(seen.changed)


def collect(seen: Seen) -> bool:
    """Check whether the run's report contains a secret, or whether reading the report would block for ever."""
    return seen.report is None or any(secret.encode() in seen.report for secret in seen.secrets)


def has_arrived(seen: Seen) -> bool:
    """Check whether something reached a listener of the host."""
    return bool(seen.arrived)


def answer(seen: Seen) -> bool:
    """Check whether somebody outside reached a listener of the program."""
    return seen.called


def has_harmed(seen: Seen) -> bool:
    """Check whether a process of the host was ended, stopped or changed."""
    return bool(seen.harmed)


def carry(seen: Seen) -> bool:
    """Check whether the host's random text came back through a part of the kernel that is forbidden to programs."""
    return f"carried {seen.host.challenge}".encode() in seen.output


def leave(seen: Seen) -> bool:
    """Check whether a process outlived the run."""
    return seen.left > 0


def has_outlasted(seen: Seen) -> bool:
    """Check whether the run took over a second longer than its time limit."""
    return seen.duration_s > seen.limits.wall_s + 1


def has_flooded(seen: Seen) -> bool:
    """Check whether the run returned more output than the limit allows."""
    return len(seen.output) > 2 * seen.limits.output_bytes + 4096


def has_hogged(seen: Seen) -> bool:
    """Check whether the run used more processor time than the limit allows."""
    return seen.used.cpu_s > 1.5 * seen.limits.cpus * seen.duration_s + 0.1


def keep(seen: Seen) -> bool:
    """Check whether files of the run are left after its end."""
    return seen.has_leftovers


def more(name: str, limit: Callable[[SandboxLimits], float]) -> Effect:
    """Return a check whether the peak use of a resource exceeded the limit.

    `name` is a field of `Used`, and `limit` returns the maximum.
    """

    def effect(seen: Seen) -> bool:
        return bool(getattr(seen.used, name) > limit(seen.limits))

    return effect


@contextlib.contextmanager
def daemon_environment(env_secret: str) -> Iterator[None]:
    """Put a secret where a daemon has its keys: in the environment, and in an open file that children could inherit."""
    os.environ[ENVIRONMENT_NAME] = env_secret
    descriptor = os.memfd_create("canary", 0)
    os.write(descriptor, env_secret.encode())
    os.set_inheritable(descriptor, True)
    try:
        yield
    finally:
        os.close(descriptor)
        del os.environ[ENVIRONMENT_NAME]
