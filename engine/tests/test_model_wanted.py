"""A task may name the model that is asked first, before models of phases and routes and before the built-in engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from engine.tests.support.tiny_solver import TinySolver, asked
from nightshift.core.routing import Route
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Kind, Limits, Spent
from nightshift.storage.db.model_results import ModelResults
from nightshift_engine.backend import RepairBackend
from tests.support.gateway import TEN_TOKENS_OUT, Gateway, GatewaySetup, ask, backend
from tests.support.wire_server import WireServer

ROUTE = Route(kind="library", ladder=("openai=big", "openai=small"), first="openai=big", cheap="openai=big", why="so")


class TwoModels:
    """A gateway to two models; the owner names the big one first."""

    def __init__(self, setting: GatewaySetup, server: WireServer) -> None:
        self.setting, self.server = setting, server

    def gateway(self, *more_backends: Any, **more: Any) -> AbstractAsyncContextManager[Gateway]:
        chain = (backend(self.server, model="big"), backend(self.server, model="small"), *more_backends)
        return self.setting.gateway(*chain, **more)

    @property
    def asked(self) -> list[str]:
        return [request.body["model"] for request in self.server.requests]


@pytest.fixture
def gateways(tmp_path: Path) -> Iterator[TwoModels]:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT, models=["big", "small"]) as server:
        yield TwoModels(GatewaySetup(tmp_path), server)


async def complete(gateway: Gateway, wanted: str, **request: Any) -> None:
    await gateway.handler.for_task(7, Limits(), Spent(), wanted).complete(ask(**request))


@pytest.mark.parametrize("wanted", ["openai=small", "small"])
async def test_it_is_asked_first_in_every_phase_also_in_one_with_a_model_of_its_own(
    gateways: TwoModels, wanted: str
) -> None:
    async with gateways.gateway(phase_models={Phase.CODING: "openai=big"}) as gateway:
        await complete(gateway, wanted, phase=Phase.CODING)
        await complete(gateway, wanted, phase=Phase.REVIEW, step_no=1)
        await complete(gateway, "", phase=Phase.CODING, step_no=2)
    assert gateways.asked == ["small", "small", "big"]


async def test_it_goes_before_what_was_measured(gateways: TwoModels) -> None:
    async with gateways.gateway(measured=True) as gateway:
        ModelResults(gateway.db).keep(7, 1, ROUTE).result()
        await complete(gateway, "", kind=Kind.LIBRARY)
        await complete(gateway, "openai=small", kind=Kind.LIBRARY, step_no=1)
    assert gateways.asked == ["big", "small"]


async def test_the_others_follow_where_it_does_not_answer_and_where_the_loop_is_stuck(gateways: TwoModels) -> None:
    async with gateways.gateway() as gateway:
        gateways.server.fail_next("401")
        await complete(gateway, "openai=small")
        await complete(gateway, "openai=small", step_no=1, escalation=2)
    assert gateways.asked == ["small", "big", "big"]


async def test_the_engine_does_not_answer_in_its_place_unless_it_is_the_one(gateways: TwoModels) -> None:
    async with gateways.gateway(RepairBackend(TinySolver())) as gateway:
        task = gateway.handler.for_task(7, Limits(), Spent(), "openai=small")
        assert (await task.complete(asked())).text == TEN_TOKENS_OUT
        engine = gateway.handler.for_task(7, Limits(), Spent(), "repair")
        assert (await engine.complete(asked(step_no=1))).backend == "repair"
    assert gateways.asked == ["small"]
