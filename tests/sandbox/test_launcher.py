"""Sandboxed work has a lower priority, which the tests read inside a run and from the kernel's control groups."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.isolation import SandboxJob, SandboxLimits
from nightshift.core.ports import Sandbox
from nightshift.sandbox import cgroups, launcher
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.cgroups import V1, V2, CgroupError, Hierarchy
from nightshift.sandbox.nested import NestedSandbox
from nightshift.sandbox.process import ProcessSandbox
from tests.support.sandboxes import runtime

NICE = 7
LIMITS = SandboxLimits(wall_s=20, memory_mb=128, pids=64)
LOOK = "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"


@contextlib.asynccontextmanager
async def standing_back(name: str, folder: Path) -> AsyncIterator[Sandbox]:
    if name == "process":
        yield ProcessSandbox(folder, NICE)
        return
    outer = BubblewrapSandbox(_hierarchy(), nice=NICE)
    nested = NestedSandbox(outer, runtime())
    try:
        yield nested
    finally:
        await nested.aclose()


def _hierarchy() -> Hierarchy | None:
    try:
        return cgroups.find()
    except CgroupError:
        return None


def job(code: str) -> SandboxJob:
    return SandboxJob(argv=(*runtime().python, "-c", code), mounts=runtime().mounts, limits=LIMITS)


@pytest.mark.parametrize("name", ["nested", "process"])
async def test_a_job_stands_back_for_the_owners_work(name: str, folder: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    async with standing_back(name, folder) as box:
        result = await box.run(job(LOOK))
    assert result.exit_code == 0, result.stderr
    assert int(result.stdout) == min(19, own + NICE)
    assert os.getpriority(os.PRIO_PROCESS, 0) == own, "the daemon itself stays as it is"


async def test_a_job_gets_the_lowest_of_the_best_io(folder: Path) -> None:
    async with standing_back("nested", folder) as box:
        result = await box.run(SandboxJob(argv=("/usr/bin/ionice",), limits=replace(LIMITS, memory_mb=512)))
    assert result.stdout.split() == [b"best-effort:", b"prio", b"7"], result.stderr


async def test_nothing_is_changed_where_the_owner_wants_no_difference(folder: Path) -> None:
    assert launcher.priority(0) == ()
    result = await ProcessSandbox(folder).run(SandboxJob(argv=(*runtime().python, "-c", LOOK), limits=LIMITS))
    assert int(result.stdout) == os.getpriority(os.PRIO_PROCESS, 0)


def test_all_jobs_together_weigh_less_as_a_group() -> None:
    try:
        light = _weight_of(cgroups.find(nice=NICE))
        usual = _weight_of(cgroups.find())
    except CgroupError:
        return  # without control groups, only the arguments before the command lower the priority
    assert usual > light >= 1


def _weight_of(group_tree: Hierarchy) -> int:
    assert isinstance(group_tree, V1 | V2)
    folder = group_tree.parent if isinstance(group_tree, V2) else group_tree.parents[2]
    return int((folder / ("cpu.weight" if isinstance(group_tree, V2) else "cpu.shares")).read_text())
