from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path

import pytest

from core.isolation import Ended, Mount, SandboxJob, SandboxLimits
from core.verdicts import SuiteJob
from sandbox.process import ProcessSandbox
from test_runner import SuiteRunner
from tests.support.sandboxes import runtime
from tests.support.trees import TextTree


@pytest.fixture
def box(folder: Path) -> ProcessSandbox:
    return ProcessSandbox(folder)


def shell(script: str, limits: SandboxLimits | None = None) -> SandboxJob:
    return SandboxJob(argv=("/bin/sh", "-c", script), limits=limits or SandboxLimits(wall_s=10))


async def test_a_job_has_a_clean_environment_and_a_folder_of_its_own(box: ProcessSandbox, folder: Path) -> None:
    source = folder / "source"
    await asyncio.to_thread(source.mkdir)
    await asyncio.to_thread((source / "a.txt").write_text, "a")
    argv = (
        "/bin/sh",
        "-c",
        "cat a.txt sub/b.txt /shown/a.txt $0/a.txt; env | cut -d= -f1 | sort | xargs; id -u",
        "/shown",
    )
    mounts = (Mount(host=source, inside="/shown"), Mount(host=source / "a.txt", inside="/work/sub/b.txt"))
    result = await box.run(SandboxJob(argv=argv, copy_in=(source,), mounts=mounts))
    assert result.stdout.startswith(b"aaa"), result.stderr
    names = set(result.stdout.decode()[3:].split("\n")[0].split())
    assert names <= {"HOME", "LANG", "NIGHTSHIFT_JOB", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "_"}
    assert int(result.stdout.split()[-1]) != 0, "the job is not root"
    assert not await asyncio.to_thread(lambda: list(folder.glob("job-*")))


async def test_limits_hold_for_each_process(box: ProcessSandbox) -> None:
    code = "try:\n    bytearray(300 << 20)\nexcept MemoryError:\n    print('refused')"
    limits = SandboxLimits(wall_s=10, memory_mb=128)
    memory, late, flood = await asyncio.gather(
        box.run(SandboxJob(argv=("/usr/bin/python3", "-c", code), limits=limits)),
        box.run(shell("sleep 60", SandboxLimits(wall_s=0.3))),
        box.run(shell("yes")),
    )
    assert memory.stdout == b"refused\n"
    assert (late.ended, flood.ended) == (Ended.TIMEOUT, Ended.OUTPUT_LIMIT)


async def test_processes_that_left_the_session_are_found_and_killed(box: ProcessSandbox) -> None:
    mark = f"6{secrets.randbelow(10**6):06}"
    await box.run(shell(f"setsid sleep {mark} >/dev/null 2>&1 </dev/null & exit 0"))
    assert not await asyncio.to_thread(_running, mark.encode())


async def test_suites_are_judged_in_it_too(box: ProcessSandbox, folder: Path) -> None:
    runner = SuiteRunner(box, runtime(), emit=lambda event: None, staging_dir=folder / "staging")
    given = {"test_given.py": "from solution import one\n\n\ndef test_one():\n    assert one() == 1\n"}

    def job(text: str) -> SuiteJob:
        return SuiteJob(base=TextTree({"a.txt": ""}), change={"solution.py": text}, given=given, wall_s=10)

    right = await runner.judge(job("def one():\n    return 1\n"))
    wrong = await runner.judge(job("def one():\n    return 2\n"))
    assert right.passed, right.reason
    assert right.evidence.sandbox == "process"
    assert wrong.failures[0].message == "assert 2 == 1\n +  where 2 = one()"


def _running(mark: bytes) -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in _content(path)]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if int(path.parent.name) != os.getpid() else b""
    except OSError:
        return b""


async def test_folders_too_deep_or_closed_to_their_owner_are_removed_too(box: ProcessSandbox, folder: Path) -> None:
    deep = "import os\nfor _ in range(1500):\n    os.mkdir('deep')\n    os.chdir('deep')\n"
    closed = "import os\nos.makedirs('closed/inner')\nopen('closed/inner/file', 'w')\nos.chmod('closed', 0)\n"
    for code in (deep, closed):
        result = await box.run(SandboxJob(argv=("/usr/bin/python3", "-c", code), limits=SandboxLimits(wall_s=10)))
        assert result.exit_code == 0, result.stderr
    assert not await asyncio.to_thread(lambda: list(folder.glob("job-*")))
