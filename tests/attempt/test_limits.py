"""The time limit of an attempt does not count the time spent waiting for a model; tested in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from nightshift.attempt.limits import PausableTimeLimit, TimedModel
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.tasks.states import Phase
from tests.support.virtual_time import run

HOUR = 3600.0


class Slow:
    """A model whose reply takes a given number of seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def complete(self, request: ModelRequest) -> Completion:
        await asyncio.sleep(self._seconds)
        return Completion(text="done", backend="b", model="m")


ASKED = ModelRequest(phase=Phase.CODING, messages=())


def test_hours_of_waiting_for_replies_take_no_time_and_work_of_ours_does() -> None:
    async def attempt(work_s: float) -> float:
        time = PausableTimeLimit(300)
        model = TimedModel(Slow(3 * HOUR), time)
        async with time.limit():
            for _ in range(4):
                await asyncio.sleep(work_s)
                await model.complete(ASKED)
        return asyncio.get_running_loop().time()

    assert run(attempt(74)) == 4 * (3 * HOUR + 74)
    with pytest.raises(TimeoutError):
        run(attempt(76))


def test_only_work_that_cannot_be_ended_is_late_and_a_reply_of_hours_is_not() -> None:
    async def attempt() -> list[float]:
        time, loop = PausableTimeLimit(10), asyncio.get_running_loop()
        late = [time.late_s(loop.time())]

        async def stubborn() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(400)
                late.append(time.late_s(loop.time()))
                raise

        async def work() -> None:
            async with time.limit():
                waiting = asyncio.create_task(TimedModel(Slow(HOUR), time).complete(ASKED))
                await asyncio.sleep(HOUR - 1)
                late.append(time.late_s(loop.time()))
                await waiting
                await stubborn()

        with pytest.raises(TimeoutError):
            await work()
        return late

    assert run(attempt()) == [0, 0, 400]


@pytest.mark.parametrize(("replayed", "counted"), [((False, False), 2), ((True, False), 1)])
def test_each_new_reply_counts_as_progress(replayed: tuple[bool, ...], counted: int) -> None:
    answers = [Completion(text="done", backend="b", model="m", replayed=each) for each in replayed]

    class Stored:
        async def complete(self, request: ModelRequest) -> Completion:
            return answers.pop(0)

    async def attempt() -> int:
        calls = list[None]()

        async def note() -> None:
            calls.append(None)

        time = PausableTimeLimit(10)
        model = TimedModel(Stored(), time, note)
        async with time.limit():
            for _ in replayed:
                await model.complete(ASKED)
        return len(calls)

    assert run(attempt()) == counted
