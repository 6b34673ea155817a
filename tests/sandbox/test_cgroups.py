from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from nightshift.core.isolation import SandboxLimits
from nightshift.sandbox import cgroups
from nightshift.sandbox.cgroups import Group, Hierarchy
from tests.support.sandboxes import hierarchy


@pytest.fixture
def group_tree() -> Hierarchy:
    own_hierarchy = hierarchy()
    assert own_hierarchy is not None, "control groups are needed: run the tests as root, or in a delegated unit"
    return own_hierarchy


def setting(group: Group, *names: str) -> str:
    """Return the text of a group's control file, whose name differs between versions 1 and 2."""
    return next((f / name).read_text().strip() for f in group.folders for name in names if (f / name).exists())


def within(group: Group, script: str) -> subprocess.Popen[str]:
    """Start a shell that has joined the group."""
    enter = "".join(f"echo $$ > {file}; " for file in group.join_files)
    return subprocess.Popen(["sh", "-c", enter + script], stdout=subprocess.PIPE, text=True)


async def test_limits_are_in_force_and_hold_for_who_enters(group_tree: Hierarchy) -> None:
    group = group_tree.create(SandboxLimits(memory_mb=64, pids=7, cpus=0.5))
    assert setting(group, "pids.max") == "7"
    assert setting(group, "memory.max", "memory.limit_in_bytes") == str(64 << 20)
    assert setting(group, "cpu.max", "cpu.cfs_quota_us").split()[0] == "50000"
    sleeps = "for i in 1 2 3 4 5 6 7 8 9; do sleep 5 >/dev/null 2>&1 & done 2>/dev/null; echo done"
    with within(group, sleeps) as process:
        output, _ = process.communicate(timeout=20)
    assert "done" not in output, "the ninth process is one too many"
    group.kill()
    await cgroups.remove(group)
    assert not any(folder.exists() for folder in group.folders)


async def test_killing_reaches_every_process_of_the_group(group_tree: Hierarchy) -> None:
    group = group_tree.create(SandboxLimits())
    with within(group, "setsid sleep 60 >/dev/null & echo up; exec sleep 60") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        assert not group.remove(), "a group with processes stays"
        group.kill()
        assert process.wait(10) == -9
    await cgroups.remove(group)


async def test_a_removal_that_was_cancelled_can_be_finished_without_the_loop(group_tree: Hierarchy) -> None:
    group = group_tree.create(SandboxLimits())
    with within(group, "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; echo up; exec sleep 60") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        removal = asyncio.create_task(cgroups.remove(group))
        await asyncio.sleep(0)
        removal.cancel()
        with pytest.raises(asyncio.CancelledError):
            await removal
        cgroups.remove_now(group)
        assert not any(folder.exists() for folder in group.folders)


def test_groups_that_were_swept_are_named_and_those_of_the_living_stay(group_tree: Hierarchy) -> None:
    group = group_tree.create(SandboxLimits())
    for folder in group.folders:
        folder.with_name("999999999-def").mkdir()
    swept = cgroups.sweep()  # Tests that run beside this one leave groups as well.
    assert "999999999-def" in swept
    assert group.folders[0].name not in swept
    assert all(folder.exists() for folder in group.folders)
    assert group.remove()
    assert "999999999-def" not in cgroups.sweep()


@pytest.mark.parametrize(
    ("name", "text"), [("cpu.stat", "usage_usec 1500000\nuser_usec 9\n"), ("cpuacct.usage", "1500000000\n")]
)
def test_both_versions_count_processor_time(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / name).write_text(text)
    assert Group((tmp_path, tmp_path / "cpu")).cpu_s() == 1.5
    assert Group((tmp_path,)).cpu_s() is None


MAX = {"memory.limit_in_bytes": "96000000\n"}


@pytest.mark.parametrize(
    ("files", "kills", "is_own"),
    [
        ({"memory.events": "oom 1\noom_kill 2\n"}, 2, True),
        ({"memory.events": "oom 0\noom_kill 2\n"}, 2, False),
        ({"memory.oom_control": "oom_kill 1\n", **MAX, "memory.max_usage_in_bytes": "96000000\n"}, 1, True),
        ({"memory.oom_control": "oom_kill 1\n", **MAX, "memory.max_usage_in_bytes": "50000000\n"}, 1, False),
        ({}, 0, True),
    ],
)
def test_a_group_tells_whether_its_own_limit_killed(
    tmp_path: Path, files: dict[str, str], kills: int, is_own: bool
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    used = Group((tmp_path,)).usage()
    assert (used.oom_kills, used.is_own_limit) == (kills, is_own)
