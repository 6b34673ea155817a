"""Settings change while calls are running: no call is cut off, and no count is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import Parked
from nightshift.core.tasks.task import Limits
from nightshift.models.base import BaseModelHandler, OnText
from nightshift.models.budgets import SpendingLimits
from nightshift.models.services import RoutingConfig
from tests.support.gateway import QUICK, TEN_TOKENS_OUT, Gateway, GatewaySetup, ask, backend
from tests.support.wire_server import WireServer

CONFIG = RoutingConfig(policy=QUICK)


@pytest.fixture
def setting(tmp_path: Path) -> GatewaySetup:
    return GatewaySetup(tmp_path)


class Patient(BaseModelHandler):
    """A model that answers when the test allows it, and records whether it was closed."""

    name = "patient"
    is_there = True

    def __init__(self) -> None:
        super().__init__(model="m")
        self.asked, self.go, self.closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.asked_twice = asyncio.Event()

    def is_available(self) -> bool:
        return self.is_there

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        (self.asked_twice if self.asked.is_set() else self.asked).set()
        await self.go.wait()
        assert not self.closed.is_set()
        return Completion(text="the old one", backend=self.name, model=self.model, tokens_in=5, tokens_out=5)

    async def aclose(self) -> None:
        self.closed.set()


async def test_a_request_under_way_ends_as_it_began_and_then_its_backend_is_closed(setting: GatewaySetup) -> None:
    old = Patient()
    with WireServer(lambda _p, _m: "the new one") as server:
        # The new backend first imports its vendor's package, which takes seconds on a busy machine.
        patience = replace(QUICK, first_text_s=60.0, total_s=60.0)
        async with setting.gateway(old, policy=patience) as gateway:
            under_way = asyncio.create_task(gateway.task(1).complete(ask(task_id=1)))
            await old.asked.wait()
            gateway.handler.reload((backend(server),), CONFIG, SpendingLimits())
            assert (await gateway.task(2).complete(ask(task_id=2))).text == "the new one"
            assert not old.closed.is_set()
            old.go.set()
            assert (await under_way).text == "the old one"
            await old.closed.wait()
            assert [state.name for state in gateway.handler.status()] == ["openai"]


async def until_parked(gateway: Gateway, steps: Iterable[int]) -> None:
    """Send requests until the token budget is spent and the gateway parks a request."""
    with pytest.raises(Parked, match="TOTAL_TOKENS"):
        await asyncio.wait_for(_ask_all(gateway, steps), 30)


async def _ask_all(gateway: Gateway, steps: Iterable[int]) -> None:
    for number in steps:
        await gateway.task().complete(ask(step_no=number))


async def test_a_raised_total_lets_go_on_and_what_was_spent_still_counts(setting: GatewaySetup) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with setting.gateway(backend(server), budgets=SpendingLimits(total=Limits(tokens=300))) as gateway:
            await until_parked(gateway, range(20))
            asked = len(server.requests)
            assert asked > 2
            gateway.handler.reload((backend(server),), CONFIG, SpendingLimits(total=Limits(tokens=300)))
            with pytest.raises(Parked, match="TOTAL_TOKENS"):
                await gateway.task().complete(ask(step_no=30))
            assert len(server.requests) == asked
            gateway.handler.reload((backend(server),), CONFIG, SpendingLimits(total=Limits(tokens=600)))
            await until_parked(gateway, range(40, 60))
            assert gateway.state.sum_spent().tokens <= 600
            assert asked < len(server.requests) < 2.5 * asked
            (state,) = gateway.handler.status()
            assert state.calls == len(server.requests), "the counts of a model that stays go on"


async def test_a_look_that_is_wanted_now_is_not_waited_for(setting: GatewaySetup) -> None:
    """Check that a requested check runs at once, although regular checks are a day apart.

    Waiting tasks continue when that check finds a model.
    """
    slow, model = RoutingConfig(policy=replace(QUICK, probe_s=86_400.0)), Patient()
    model.is_there = False
    async with setting.gateway(model) as gateway:
        gateway.handler.reload((model,), slow, SpendingLimits())
        with pytest.raises(Parked):
            await gateway.task().complete(ask())
        up = asyncio.Event()
        watch = asyncio.create_task(gateway.handler.watch(up.set))
        await asyncio.sleep(0.2)
        assert not up.is_set()
        model.is_there = True
        await gateway.handler.probe(sandboxed=False)
        gateway.handler.look_soon()
        async with asyncio.timeout(30):
            await up.wait()
        watch.cancel()
