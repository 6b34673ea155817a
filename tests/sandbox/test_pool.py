from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

from nightshift.core.errors import SandboxUnready
from nightshift.core.isolation import Ended, SandboxJob, SandboxLimits
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.isolation import Begun, Isolation
from nightshift.sandbox.nested import NestedSandbox
from nightshift.sandbox.pool import Pool, warm
from tests.support.processes import words
from tests.support.sandboxes import bubblewrap, open_it, runtime

JOB = SandboxJob(argv=("/bin/sh", "-c", "cat; touch left; ls"), limits=SandboxLimits(wall_s=10, memory_mb=128))


@dataclass
class Counted(Isolation):
    """A real isolation that records the jobs begun with it."""

    inner: NestedSandbox
    begun: list[Begun] = field(default_factory=list)
    name = "counted"

    async def begin(self, job: SandboxJob) -> Begun:
        self.begun.append(await self.inner.begin(job))
        return self.begun[-1]


@pytest.fixture
async def nested() -> AsyncIterator[NestedSandbox]:
    box = NestedSandbox(bubblewrap(), runtime())
    yield box
    await box.aclose()


async def settle(pool: Pool) -> None:
    while pool._tasks:
        await asyncio.gather(*pool._tasks)


async def test_a_shape_that_comes_again_finds_a_sandbox_waiting_and_nothing_is_used_twice(
    nested: NestedSandbox,
) -> None:
    counted = Counted(nested)
    pool = Pool(counted, size=2)
    for number, begun in enumerate([1, 3, 4, 5]):
        result = await pool.run(replace(JOB, stdin=b"%d " % number))
        await settle(pool)
        assert result.stdout == b"%d left\n" % number, "what an earlier job left is not there"
        assert len(counted.begun) == begun
    await pool.aclose()


async def test_a_new_shape_is_served_and_the_oldest_waiting_one_makes_room(nested: NestedSandbox) -> None:
    pool = Pool(nested, size=1)
    shapes = [replace(JOB, limits=replace(JOB.limits, memory_mb=100 + n)) for n in range(3)]
    for shape in (*shapes, *shapes):
        assert (await pool.run(shape)).stdout == b"left\n"
    await settle(pool)
    assert len(pool._waiting) == 1
    await pool.aclose()


async def test_one_that_died_while_it_waited_is_replaced(nested: NestedSandbox) -> None:
    pool = Pool(nested, size=1)
    for _ in range(2):
        await pool.run(JOB)
    await settle(pool)
    await nested.aclose()  # ends all processes below this sandbox
    await asyncio.sleep(0.2)
    result = await pool.run(replace(JOB, stdin=b"again "))
    assert result.stdout == b"again left\n"
    await pool.aclose()


async def test_one_that_waits_too_long_is_let_go(nested: NestedSandbox) -> None:
    pool = Pool(nested, size=1, idle_s=0.05)
    for _ in range(2):
        await pool.run(JOB)
    await settle(pool)
    await asyncio.sleep(0.2)
    await settle(pool)
    assert not pool._waiting
    await pool.aclose()


async def test_bubblewrap_is_nested_and_pooled_after_its_own_self_test() -> None:
    choice = await warm(bubblewrap(), runtime(), size=1)
    assert (choice.remark, choice.sandbox.name) == ("nested, kept warm", "bubblewrap")
    assert (await choice.sandbox.run(JOB)).stdout == b"left\n"
    await choice.aclose()


def kill_first(word: str) -> None:
    """Kill this process's newest descendant whose command contains a word, as the kernel does when memory runs out."""
    below = [process for process in psutil.Process().children(recursive=True) if word in words(process)]
    max(below, key=lambda process: process.create_time()).kill()


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(
    ("name", "victim"),
    [("nested", "bwrap"), ("nested", "30.125")],
    ids=["the sandbox that others are nested in", "the job itself"],
)
async def test_a_job_that_was_ended_from_outside_runs_again_and_is_given_up_at_last(
    tmp_path: Path, name: str, victim: str, times: int
) -> None:
    job = replace(JOB, argv=("/bin/sleep", "30.125"))
    async with open_it(name, tmp_path) as box:
        assert isinstance(box, BubblewrapSandbox | NestedSandbox)
        pool = Pool(box, size=1)
        running = asyncio.create_task(pool.run(replace(job, limits=replace(JOB.limits, wall_s=5 if times < 3 else 60))))
        for _ in range(times):
            async with asyncio.timeout(20):
                while not any("30.125" in words(p) for p in psutil.Process().children(recursive=True)):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            kill_first(victim)
            await asyncio.sleep(0.3)
        if times < 3:
            assert (await running).ended is Ended.TIMEOUT, "its last run came to the end that it has alone"
        else:
            with pytest.raises(SandboxUnready, match="SIGKILL"):
                await running
        await pool.aclose()
