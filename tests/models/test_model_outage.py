"""A night without a model, on a clock that the test sets: few requests, no lost work, and all tasks done afterwards."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.core.dialogue import ModelRequest
from nightshift.core.errors import Parked
from nightshift.core.tasks.task import Limits
from nightshift.models.budgets import SpendingLimits
from nightshift.models.call import CallPolicy
from tests.support.gateway import QUICK, TEN_TOKENS_OUT, Gateway, GatewaySetup, ManualClock, ask, backend
from tests.support.wire_server import WireServer

EVENING = datetime(2026, 3, 31, 20, tzinfo=UTC)
REAL_PAUSES = CallPolicy(backoff_s=0.001, backoff_max_s=0.001, probe_fresh_s=0.0)
"""The waiting times of the daemon, except for very short waits between retries."""


@pytest.fixture
def setting(tmp_path: Path) -> GatewaySetup:
    return GatewaySetup(tmp_path)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(EVENING)


async def park_by(gateway: Gateway, request: ModelRequest) -> Parked | None:
    """Send a request; return the reason and the end time if the gateway parks the request, and None if it answers."""
    try:
        await gateway.task(request.task_id or 0).complete(request)
    except Parked as parked:
        return parked
    return None


class Night:
    """Tasks whose requests the gateway parks.

    Each task repeats its request when the parking ends, until it gets an answer.
    """

    def __init__(self, gateway: Gateway, clock: ManualClock, tasks: int) -> None:
        self._gateway, self._clock = gateway, clock
        self.due = dict.fromkeys(range(1, tasks + 1), clock.at)
        self.reasons: set[str] = set()

    async def until(self, end: datetime) -> None:
        """Advance the clock to `end`, and send each task's request again when it is due."""
        while self.due and (at := min(self.due.values())) <= end:
            self._clock.at = max(self._clock.at, at)
            for task_id in [task_id for task_id, due in self.due.items() if due <= self._clock.at]:
                await self._asked(task_id)
        self._clock.at = max(self._clock.at, end)

    async def _asked(self, task_id: int) -> None:
        parked = await park_by(self._gateway, ask(task_id=task_id))
        if parked is None:
            del self.due[task_id]
            return
        assert parked.until
        assert parked.until > self._clock.at, "it would come back at once, for ever"
        self.due[task_id] = parked.until
        self.reasons.add(str(parked))


def per_hour(server: WireServer, since: int, hours: float) -> float:
    return (len(server.requests) - since) / hours


@pytest.mark.parametrize(
    "fault",
    [{"kind": "429", "retry_after": 0.001}, {"kind": "quiet"}, {"kind": "402"}],
)
async def test_an_outage_of_a_night_is_few_requests_and_everybody_is_answered_in_the_morning(
    setting: GatewaySetup, clock: ManualClock, fault: dict[str, object]
) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with setting.gateway(backend(server), clock=clock, policy=REAL_PAUSES) as gateway:
            server.fail_always(str(fault["kind"]), **{k: v for k, v in fault.items() if k != "kind"})
            night = Night(gateway, clock, tasks=30)
            await night.until(EVENING + timedelta(hours=1))
            first_hour = len(server.requests)
            assert first_hour <= 5 + 10, "five failures open the circuit; then it is tried after 15, 30, 60 … 900 s"
            await night.until(EVENING + timedelta(hours=9))
            assert per_hour(server, first_hour, hours=8) <= 4
            assert len(night.due) == 30
            assert all("the task continues at" in reason for reason in night.reasons)
            await asyncio.wrap_future(gateway.db.write(lambda _conn: None))
            lost = gateway.state.sum_spent()
            assert lost.model_calls == (len(server.requests) if fault["kind"] == "quiet" else 0)
            assert bool(lost.tokens) == (fault["kind"] == "quiet")
            server.heal()
            await night.until(EVENING + timedelta(hours=10.1))  # without credit, one request an hour
            assert night.due == {}
            assert gateway.state.sum_spent().model_calls == lost.model_calls + 30


async def test_a_stated_time_is_kept_to_the_minute_over_hours_restarts_and_a_server_that_comes_and_goes(
    setting: GatewaySetup, clock: ManualClock
) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        server.fail_next("429", headers={"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "5h30m0s"})
        reset = EVENING + timedelta(hours=5.5)
        async with setting.gateway(backend(server), clock=clock, policy=REAL_PAUSES) as gateway:
            with pytest.raises(Parked, match="2026-04-01 01:30:00 UTC") as caught:
                await gateway.task().complete(ask())
            assert caught.value.until == reset
            # The server restarts, but its limit still applies.
            server.stop()
            await gateway.handler.probe()
            server.start()
            await gateway.handler.probe()
            with pytest.raises(Parked) as caught:
                await gateway.task().complete(ask())
            assert caught.value.until == reset
        for hours in (1, 4, 5.4):  # each time in a new process
            clock.at = EVENING + timedelta(hours=hours)
            async with setting.gateway(backend(server), clock=clock, policy=REAL_PAUSES) as gateway:
                with pytest.raises(Parked, match="429") as caught:
                    await gateway.task().complete(ask())
                assert caught.value.until == reset
        assert len(server.requests) == 1
        clock.at = reset
        async with setting.gateway(backend(server), clock=clock, policy=REAL_PAUSES) as gateway:
            assert (await gateway.task().complete(ask())).text == TEN_TOKENS_OUT


async def test_another_key_is_not_held_to_the_limit_of_the_first(setting: GatewaySetup, clock: ManualClock) -> None:
    with WireServer() as server:
        server.fail_next("429", retry_after=7200)
        async with setting.gateway(backend(server), clock=clock) as gateway:
            with pytest.raises(Parked):
                await gateway.task().complete(ask())
        async with setting.gateway(backend(server, key="sk-another-0123456789ab"), clock=clock) as gateway:
            assert (await gateway.task().complete(ask())).text
    assert "sk-" not in (setting.path / "db.sqlite").read_bytes().decode("latin-1")


async def test_while_one_tries_a_backend_again_nobody_else_knocks(setting: GatewaySetup, clock: ManualClock) -> None:
    with WireServer() as server:
        server.fail_next("503", 5)
        server.fail_next("hang")
        async with setting.gateway(backend(server), clock=clock, policy=REAL_PAUSES) as gateway:
            night = Night(gateway, clock, tasks=3)
            await night.until(EVENING)
            clock.at += timedelta(seconds=20)
            trying = asyncio.create_task(gateway.task(1).complete(ask(task_id=1)))
            await asyncio.to_thread(server.until, lambda: len(server.requests) == 6)
            looks = len(server.probes)
            for task_id in (2, 3):
                with pytest.raises(Parked) as caught:
                    await gateway.task(task_id).complete(ask(task_id=task_id))
                assert caught.value.until == clock.at + timedelta(seconds=15)
            assert (len(server.requests), len(server.probes)) == (6, looks)
            trying.cancel()
            await asyncio.wait({trying})


# Daily budgets and the clock.


async def test_a_day_that_comes_twice_has_one_budget(setting: GatewaySetup, clock: ManualClock) -> None:
    budgets = SpendingLimits(day=Limits(tokens=3000))

    async def spend(gateway: Gateway, first: int) -> int:
        calls = 0
        for number in range(first, first + 40):
            task_id = number % 30 + 1
            if parked := await park_by(gateway, ask("word " * 300, task_id=task_id, step_no=number)):
                midnight = clock.at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
                assert parked.until == midnight
                break
            calls += 1
        return calls

    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with setting.gateway(backend(server), clock=clock, budgets=budgets, policy=QUICK) as gateway:
            assert (first := await spend(gateway, 0)) > 1
            clock.at += timedelta(days=1)
            assert await spend(gateway, 100) == first
            clock.at -= timedelta(days=1)
            assert await spend(gateway, 200) == 0, "the clock was set back to a day whose budget is spent"
        async with setting.gateway(backend(server), clock=clock, budgets=budgets, policy=QUICK) as gateway:
            assert await spend(gateway, 300) == 0, "a restart begins no new day"
