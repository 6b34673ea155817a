from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from nightshift.core.isolation import Ended, SandboxJob, SandboxResult
from nightshift.sandbox import exclusive
from nightshift.sandbox.exclusive import Exclusive

DONE = SandboxResult(exit_code=0, ended=Ended.EXITED, stdout=b"", stderr=b"", duration_s=0.0)


@dataclass
class Slow:
    """An isolation that ends its jobs on command, and records which of them run at the same time."""

    name: str = "slow"
    running: dict[str, asyncio.Event] = field(default_factory=dict)
    beside: list[set[str]] = field(default_factory=list)

    async def run(self, job: SandboxJob) -> SandboxResult:
        assert not job.alone, "what is begun ahead of need must fit"
        self.running[job.argv[0]] = event = asyncio.Event()
        self.beside.append(set(self.running))
        try:
            await event.wait()
        finally:
            del self.running[job.argv[0]]
        return DONE


def job(name: str, *, alone: bool = False) -> SandboxJob:
    return SandboxJob(argv=(name,), alone=alone)


async def quiet() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_job_that_asks_for_it_waits_for_the_others_and_has_them_wait() -> None:
    slow = Slow()
    box = Exclusive(slow)
    work = [asyncio.create_task(box.run(job(name, alone=name in "CE"))) for name in "ABCDEF"]
    await quiet()
    assert set(slow.running) == {"A", "B"}
    slow.running["A"].set()
    await quiet()
    assert set(slow.running) == {"B"}
    slow.running["B"].set()
    for expected in ("C", "D", "E", "F"):
        await quiet()
        assert set(slow.running) == {expected}
        slow.running[expected].set()
    assert await asyncio.gather(*work) == [DONE] * 6


async def test_a_job_that_is_cancelled_while_it_is_alone_lets_the_others_go_on() -> None:
    slow = Slow()
    box = Exclusive(slow)
    alone, other = asyncio.create_task(box.run(job("A", alone=True))), asyncio.create_task(box.run(job("B")))
    await quiet()
    alone.cancel()
    await quiet()
    assert set(slow.running) == {"B"}
    slow.running["B"].set()
    assert await other == DONE


async def test_a_job_that_goes_on_and_on_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exclusive, "PATIENCE_S", 0.01)
    slow = Slow()
    box = Exclusive(slow)
    search, alone = asyncio.create_task(box.run(job("A"))), asyncio.create_task(box.run(job("B", alone=True)))
    while len(slow.beside) < 2:
        await asyncio.wait([alone], timeout=0.01)
    slow.running["B"].set()
    assert await alone == DONE
    slow.running["A"].set()
    assert await search == DONE
