from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nightshift.core.isolation import WORK, Layer, Mount, SandboxJob
from nightshift.sandbox.process import ProcessSandbox


@pytest.fixture
def box(folder: Path) -> ProcessSandbox:
    return ProcessSandbox(folder)


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
    mounts = (Mount(host=source, inside="/shown"), Mount(host=source / "a.txt", inside=f"{WORK}/sub/b.txt"))
    result = await box.run(SandboxJob(argv=argv, layers=(Layer(host=source),), mounts=mounts))
    assert result.stdout.startswith(b"aaa"), result.stderr
    names = set(result.stdout.decode()[3:].split("\n")[0].split())
    assert names <= {"HOME", "LANG", "NIGHTSHIFT_JOB", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "_"}
    assert int(result.stdout.split()[-1]) != 0, "the job is not root"
    assert not await asyncio.to_thread(lambda: list(folder.glob("job-*")))
