"""Code sections that no cancellation interrupts: the cancellation is raised after their end."""

from __future__ import annotations

import asyncio

import pytest

from nightshift.attempt.uninterrupted import run_to_end


async def test_a_cancel_is_raised_after_the_work_has_ended() -> None:
    begun, gate, steps = asyncio.Event(), asyncio.Event(), list[str]()

    async def work() -> None:
        begun.set()
        await gate.wait()
        steps.append("work")

    async def caller() -> None:
        try:
            await run_to_end(work())
        finally:
            steps.append("caller")

    task = asyncio.create_task(caller())
    await begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert steps == []
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["work", "caller"]


async def test_an_error_of_the_work_is_the_cause_of_the_cancel() -> None:
    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()
        raise KeyError("here")

    task = asyncio.create_task(run_to_end(work()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    assert isinstance(raised.value.__cause__, KeyError)
