from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from nightshift.core.errors import SandboxUnready
from nightshift.core.isolation import WORK, Ended, Mount, SandboxJob, SandboxLimits, SandboxResult
from nightshift.sandbox.nested import NestedSandbox
from nightshift.sandbox.runtime import COMMANDS
from tests.support.processes import words
from tests.support.sandboxes import bubblewrap, runtime

LIMITS = SandboxLimits(wall_s=10, memory_mb=128)
PATIENT = replace(LIMITS, wall_s=60)


@pytest.fixture
async def nested() -> AsyncIterator[NestedSandbox]:
    box = NestedSandbox(bubblewrap(), runtime())
    yield box
    await box.aclose()


def shell(script: str, **more: object) -> SandboxJob:
    return replace(SandboxJob(argv=("/bin/sh", "-c", script), limits=LIMITS), **more)  # type: ignore[arg-type]


def fork_servers() -> list[psutil.Process]:
    """Return our processes that fork sandboxes."""
    return [p for p in psutil.Process().children(recursive=True) if "fork_server" in " ".join(words(p))]


def kill_fork_servers() -> None:
    for process in fork_servers():
        with contextlib.suppress(ProcessLookupError):  # killing another one may already have ended this one
            os.kill(process.pid, signal.SIGKILL)


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not happened():  # noqa: ASYNC110 (other processes' doing)
            await asyncio.sleep(0.05)


async def a_long_job(nested: NestedSandbox) -> asyncio.Task[SandboxResult]:
    """Start a job that would continue for a minute."""
    await nested.run(shell("true"))
    running = asyncio.create_task(nested.run(shell("exec sleep 60.25")))
    await until(lambda: any("60.25" in words(p) for p in psutil.Process().children(recursive=True)))
    return running


async def test_jobs_are_forked_and_are_as_fresh_as_a_new_sandbox(nested: NestedSandbox) -> None:
    results = [await nested.run(shell("echo $$ $(ls . /tmp /dev/shm | wc -w); pwd; touch a /tmp/b")) for _ in "ab"]
    outputs = {result.stdout.decode() for result in results}
    assert outputs == {f"1 3\n{WORK}\n"}, "process 1, and nothing but the three headings"
    assert len({process.pid for process in fork_servers()}) >= 1


async def test_what_needs_other_mounts_gets_a_sandbox_of_its_own(nested: NestedSandbox) -> None:
    mount = Mount(host=runtime().mounts[0].host, inside="/shown")
    result = await nested.run(shell("ls -d /shown/pytest", mounts=(mount,)))
    assert result.stdout == b"/shown/pytest\n"
    assert not fork_servers()


DEVICE_TIMES = """
import os
for name in ("null", "zero", "full", "random", "urandom", "tty"):
    path = f"/dev/{name}"
    before = os.stat(path)
    try:
        os.utime(path, (17, 17))
    except OSError:
        pass
    if name in ("zero", "urandom"):
        open(path, "rb", 0).read(4)
    if name == "null":
        open(path, "wb", 0).write(b"text")
    after = os.stat(path)
    print(name, before.st_atime_ns == after.st_atime_ns, before.st_mtime_ns == after.st_mtime_ns)
"""


async def test_devices_work_and_their_times_are_no_mailbox(nested: NestedSandbox) -> None:
    result = await nested.run(SandboxJob(argv=("/usr/bin/python3", "-c", DEVICE_TIMES), limits=LIMITS))
    names = ("null", "zero", "full", "random", "urandom", "tty")
    assert result.stdout.decode().splitlines() == [f"{name} True True" for name in names]


async def test_a_fork_server_that_was_killed_is_replaced(nested: NestedSandbox) -> None:
    assert (await nested.run(shell("echo 1"))).stdout == b"1\n"
    kill_fork_servers()
    await until(lambda: not any(task.result().is_alive for task in nested._servers.values()))
    assert (await nested.run(shell("echo 2"))).stdout == b"2\n"


async def test_closing_leaves_nothing_running(nested: NestedSandbox) -> None:
    running = await a_long_job(nested)
    assert fork_servers()
    await nested.aclose()
    with pytest.raises(SandboxUnready):
        await running
    assert not fork_servers()


async def test_a_job_that_answers_is_over_when_it_closes_its_output(nested: NestedSandbox) -> None:
    """After the answer, the job's remaining processes are killed in the background.

    A job that closes its output without an answer ends like any other job.
    """
    result = await nested.run(shell("echo answer; exec >&-; exec sleep 60.5", answers=True))
    assert (result.stdout, result.ended, result.exit_code) == (b"answer\n", Ended.EXITED, 0)
    await until(lambda: not any("60.5" in words(p) for p in psutil.Process().children(recursive=True)))
    silent, late, flood = await asyncio.gather(
        nested.run(shell("exec >&-; exit 3", answers=True)),
        nested.run(shell("echo half; exec sleep 60", answers=True, limits=replace(LIMITS, wall_s=0.3))),
        nested.run(shell("yes", answers=True, limits=replace(LIMITS, output_bytes=1000))),
    )
    assert (silent.exit_code, silent.ended) == (3, Ended.EXITED)
    assert late.ended is Ended.TIMEOUT
    assert flood.ended is Ended.OUTPUT_LIMIT


async def test_an_environment_has_a_fork_server_of_its_own_that_shows_its_folders(
    nested: NestedSandbox, folder: Path
) -> None:
    (folder / "shown").mkdir(mode=0o755)
    (folder / "shown" / "moonphase.py").write_text("FULL = 1\n")
    other = runtime().with_layer(Mount(host=folder / "shown", inside="/opt/shown"))
    key = secrets.token_bytes(32)
    for used_runtime in (other, runtime(), other):
        job = SandboxJob(
            argv=used_runtime.argv(COMMANDS),
            mounts=used_runtime.mounts_for(COMMANDS),
            stdin=describe(key),
            limits=LIMITS,
        )
        result = await nested.run(replace(job, answers=True))
        answer = json.loads(result.stdout.partition(b"\n")[2])
        output = "".join(answer["output"][:2])
        assert output == ("1\n" if used_runtime is other else "none\n"), (output, result.stderr)
    assert len(outer()) == 2, "the second job of the environment took the first one's"


async def test_fork_servers_of_other_runtimes_that_rest_are_let_go(
    nested: NestedSandbox, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nightshift.sandbox.nested.MOST_SERVERS", 1)
    for name in ("one", "two", "three"):
        await nested.run(job_of_another_runtime(folder, name))
    async with asyncio.timeout(20):
        while len(outer()) > 2:  # a server that was in use is removed with the next job
            await nested.run(shell("true"))


def job_of_another_runtime(folder: Path, name: str) -> SandboxJob:
    """Return a job that needs its own fork server."""
    (folder / name).mkdir(mode=0o755, exist_ok=True)
    other = runtime().with_layer(Mount(host=folder / name, inside="/opt/shown"))
    key = secrets.token_bytes(32)
    return SandboxJob(
        argv=other.argv(COMMANDS), mounts=other.mounts_for(COMMANDS), stdin=describe(key), limits=PATIENT, answers=True
    )


@pytest.mark.parametrize("names", ["da", "cab"])
async def test_jobs_of_many_runtimes_at_once_take_no_fork_server_from_each_other(
    nested: NestedSandbox, folder: Path, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    for name in "abc":
        await nested.run(job_of_another_runtime(folder, name))
    await until(lambda: not any(task.result().jobs for task in nested._servers.values()))
    monkeypatch.setattr("nightshift.sandbox.nested.MOST_SERVERS", 0)
    done = await asyncio.gather(*(nested.run(job_of_another_runtime(folder, name)) for name in names))
    assert [each.ended for each in done] == [Ended.EXITED] * len(names)


def outer() -> list[psutil.Process]:
    """Return the outer sandboxes, inside which fork servers run."""
    processes = []
    for process in fork_servers():
        with contextlib.suppress(psutil.NoSuchProcess):  # the process has just ended
            processes += [process] if process.name() == "bwrap" else []
    return processes


def describe(key: bytes) -> bytes:
    """Return the input of a command that prints whether a module can be imported."""
    command = "python -c 'import moonphase; print(moonphase.FULL)' 2>/dev/null || echo none"
    instructions: dict[str, object] = {
        "key": key.hex(), "files": [], "gone": [], "digests": {}, "command": command, "environ": {},
        "node": None, "go": None, "services": [], "variables": {}, "own": {},
        "wall_s": 60, "cpu_s": 8, "idle_s": 60, "output_bytes": 1 << 16, "token": "",
    }  # fmt: skip
    header = json.dumps(instructions).encode()
    return b"%d\n" % len(header) + header
