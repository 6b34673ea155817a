from __future__ import annotations

import asyncio
import os
import signal

import psutil
import pytest

from nightshift.core.isolation import Ended
from nightshift.sandbox import child


def launch(script: str, **more: object) -> child.Launch:
    fields: dict[str, object] = {
        "argv": ["/bin/sh", "-c", script],
        "env": {"PATH": "/usr/bin:/bin"},
        "stdin": b"",
        "wall_s": 10.0,
        "output_bytes": 1 << 20,
        "kill": lambda pid: None,
    }
    return child.Launch(**{**fields, **more})  # type: ignore[arg-type]


async def test_a_job_that_has_used_its_processor_time_is_killed_whatever_the_clock_says() -> None:
    used = iter([0.0, 0.9, 1.0])
    patience = child.Patience(wall_s=600.0, cpu_s=1.0, used_s=lambda: next(used))
    done = await child.spawn(launch("exec sleep 60")).finish(b"", patience)
    assert done.ended is Ended.TIMEOUT
    assert next(used, None) is None


@pytest.mark.parametrize("script", ["yes", "head -c 5000 /dev/zero", "head -c 5000 /dev/zero >&2"])
async def test_a_flood_is_cut_at_the_limit(script: str) -> None:
    done = await child.run(launch(script, output_bytes=1000))
    assert done.ended is Ended.OUTPUT_LIMIT
    assert max(len(done.stdout), len(done.stderr)) == 1000


async def test_a_grandchild_that_holds_the_pipes_is_not_waited_for() -> None:
    done = await child.run(launch("sleep 20 & echo $!"))
    os.kill(int(done.stdout), signal.SIGKILL)


async def test_cancelling_kills_and_waits_for_the_end() -> None:
    pids: list[int] = []
    running = asyncio.create_task(child.run(launch("exec sleep 60", kill=pids.append)))
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


async def test_what_is_under_way_is_finished_before_a_cancellation_goes_on() -> None:
    done = []

    async def work() -> None:
        await asyncio.sleep(0.2)
        done.append(1)

    running = asyncio.create_task(child.finish_uninterrupted(work()))
    for _ in range(3):
        await asyncio.sleep(0.02)
        running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert done == [1]


async def test_no_thread_and_no_descriptor_is_left_by_a_job() -> None:
    before = {*os.listdir("/proc/self/fd")}, {*os.listdir("/proc/self/task")}  # noqa: PTH208 (numbers, no paths)
    await asyncio.gather(*(child.run(launch("echo x")) for _ in range(5)))
    assert {*os.listdir("/proc/self/fd")} <= before[0]  # noqa: PTH208 (as above)
    assert {*os.listdir("/proc/self/task")} <= before[1]  # noqa: PTH208 (as above)


async def test_a_child_that_was_not_set_up_yet_ends_with_its_parent() -> None:
    """Check that bubblewrap's child does not wait for a parent that is dead.

    Without a control group, nothing else would end the child.
    """
    done = await child.run(launch("sleep 61.7 > /dev/null 2>&1 & echo $!; wait", wall_s=0.3))
    assert done.ended is Ended.TIMEOUT
    pid = int(done.stdout)
    for _ in range(200):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it lives on")
