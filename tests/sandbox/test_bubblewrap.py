from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.isolation import Ended, SandboxJob, SandboxLimits
from nightshift.sandbox.bubblewrap import STILL, BubblewrapSandbox
from tests.support.processes import mark, start
from tests.support.sandboxes import bubblewrap, hierarchy, open_it

SHELL = ("/bin/sh", "-c")
THERE = [
    f"/proc/{name}"
    for name in (
        "stat", "loadavg", "vmstat", "interrupts", "softirqs", "diskstats", "schedstat", "zoneinfo", "buddyinfo",
        "locks", "pagetypeinfo", "cgroups", "pressure/cpu", "pressure/io", "pressure/memory", "sys/fs/inode-nr",
        "sys/fs/inode-state", "sys/fs/dentry-state", "sys/fs/file-nr", "sys/fs/aio-nr", "sys/kernel/pty/nr",
    )
    if Path("/proc", name).exists()
]  # fmt: skip


@pytest.fixture
def box() -> BubblewrapSandbox:
    return bubblewrap()


def shell(script: str, **more: object) -> SandboxJob:
    return replace(SandboxJob(argv=(*SHELL, script)), **more)  # type: ignore[arg-type]


COUNTED = """
import json, os, sys
def read():
    return {path: open(path, "rb").read().decode() for path in json.loads(sys.argv[1])}
def written(path):
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True
before = read()
for _ in range(20):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
files = [open(sys.executable) for _ in range(50)]
print(json.dumps([before, read() == before, [path for path in before if written(path)]]))
"""


@pytest.mark.parametrize("name", ["bubblewrap", "nested"])
async def test_counters_of_the_whole_machine_stand_still(name: str, folder: Path) -> None:
    async with open_it(name, folder) as box:
        result = await box.run(SandboxJob(argv=("/usr/bin/python3", "-c", COUNTED, json.dumps(THERE))))
    seen, still, written = json.loads(result.stdout)
    assert seen == {path: STILL.get(path, "") for path in THERE}
    assert {"/proc/stat", "/proc/loadavg", "/proc/vmstat"} <= seen.keys()
    assert still
    assert written == []


async def test_programs_find_the_processors_on_still_counters(box: BubblewrapSandbox) -> None:
    code = "import os; print(os.cpu_count(), len(open('/proc/stat').read().split('cpu')) - 2)"
    result = await box.run(SandboxJob(argv=("/usr/bin/python3", "-c", code)))
    assert result.stdout.decode() == f"{os.cpu_count()} {os.cpu_count()}\n"


async def test_the_memory_of_a_job_is_measured_where_there_are_groups(box: BubblewrapSandbox) -> None:
    code = "x = bytearray(300 << 20)"
    limits = SandboxLimits(wall_s=10, memory_mb=64)
    result = await box.run(SandboxJob(argv=("/usr/bin/python3", "-c", code), limits=limits))
    if hierarchy() is not None:
        assert result.ended is Ended.OUT_OF_MEMORY
        assert 60 < (result.peak_memory_mb or 0) <= 64


async def test_the_launcher_itself_has_an_empty_environment(box: BubblewrapSandbox) -> None:
    word = mark()
    running = asyncio.create_task(box.run(shell(f"sleep {word}")))
    await start(word)
    seen = await asyncio.to_thread(environments_of, word)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert seen
    assert all(names <= {"PATH", "PWD"} | INSIDE for names in seen)


INSIDE = {"HOME", "TMPDIR", "LANG", "PYTHONDONTWRITEBYTECODE", "_", "OLDPWD", "SHLVL"}


def environments_of(word: str) -> list[set[str]]:
    """Return the variable names of every readable process that has this word in its command line."""
    environments = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (path / "cmdline").read_bytes():
                entries = (path / "environ").read_bytes().split(b"\0")
                environments.append({entry.partition(b"=")[0].decode() for entry in entries if entry})
        except OSError:
            continue
    return environments


async def test_without_control_groups_each_process_is_bounded() -> None:
    box = BubblewrapSandbox(None)
    limits = SandboxLimits(memory_mb=128, pids=30)
    code = "import os\ntry:\n    x = bytearray(300 << 20)\nexcept MemoryError:\n    print('refused')"
    forks = "for i in $(seq 99); do sleep 1 & done 2>/dev/null; echo done"
    memory, processes = await asyncio.gather(
        box.run(SandboxJob(argv=("/usr/bin/python3", "-c", code), limits=limits)), box.run(shell(forks, limits=limits))
    )
    assert memory.stdout == b"refused\n"
    assert processes.stdout != b"done\n", "the shell gives up when it cannot fork"
