"""A task may name the model that is asked first: ahead of phases, of routes and of the built-in engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from core.routing import Route
from core.states import Phase
from core.tasks import Kind, Limits, Spent
from db.model_results import ModelResults
from repair.backend import RepairBackend
from tests.support.door import TEN_TOKENS_OUT, Door, Setting, ask, backend
from tests.support.tiny_solver import TinySolver, asked
from tests.support.wire_server import WireServer

ROUTE = Route(kind="library", ladder=("openai=big", "openai=small"), first="openai=big", cheap="openai=big", why="so")


class Doors:
    """Doors to two models, of which the owner names the big one first."""

    def __init__(self, setting: Setting, server: WireServer) -> None:
        self.setting, self.server = setting, server

    def door(self, *more_backends: Any, **more: Any) -> AbstractAsyncContextManager[Door]:
        chain = (backend(self.server, model="big"), backend(self.server, model="small"), *more_backends)
        return self.setting.door(*chain, **more)

    @property
    def asked(self) -> list[str]:
        return [request.body["model"] for request in self.server.requests]


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Doors]:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT, models=["big", "small"]) as server:
        yield Doors(Setting(tmp_path), server)


async def complete(door: Door, wanted: str, **request: Any) -> None:
    await door.handler.for_task(7, Limits(), Spent(), wanted).complete(ask(**request))


@pytest.mark.parametrize("wanted", ["openai=small", "small"])
async def test_it_is_asked_first_in_every_phase_also_in_one_with_a_model_of_its_own(doors: Doors, wanted: str) -> None:
    async with doors.door(phase_models={Phase.CODING: "openai=big"}) as door:
        await complete(door, wanted, phase=Phase.CODING)
        await complete(door, wanted, phase=Phase.REVIEW, step_no=1)
        await complete(door, "", phase=Phase.CODING, step_no=2)
    assert doors.asked == ["small", "small", "big"]


async def test_it_goes_before_what_was_measured(doors: Doors) -> None:
    async with doors.door(measured=True) as door:
        ModelResults(door.db).keep(7, 1, ROUTE).result()
        await complete(door, "", kind=Kind.LIBRARY)
        await complete(door, "openai=small", kind=Kind.LIBRARY, step_no=1)
    assert doors.asked == ["big", "small"]


async def test_the_others_follow_where_it_does_not_answer_and_where_the_loop_is_stuck(doors: Doors) -> None:
    async with doors.door() as door:
        doors.server.fail_next("401")
        await complete(door, "openai=small")
        await complete(door, "openai=small", step_no=1, escalation=2)
    assert doors.asked == ["small", "big", "big"]


async def test_one_that_the_settings_no_longer_have_leaves_the_usual_order(doors: Doors) -> None:
    async with doors.door(phase_models={Phase.REVIEW: "small"}) as door:
        await complete(door, "openai=gone")
        await complete(door, "openai=gone", phase=Phase.REVIEW, step_no=1)
    assert doors.asked == ["big", "small"]


async def test_the_engine_does_not_answer_in_its_place_unless_it_is_the_one(doors: Doors) -> None:
    async with doors.door(RepairBackend(TinySolver())) as door:
        task = door.handler.for_task(7, Limits(), Spent(), "openai=small")
        assert (await task.complete(asked())).text == TEN_TOKENS_OUT
        engine = door.handler.for_task(7, Limits(), Spent(), "repair")
        assert (await engine.complete(asked(step_no=1))).backend == "repair"
    assert doors.asked == ["small"]


async def test_prompts_are_measured_for_it(doors: Doors) -> None:
    async with doors.door(measured=True) as door:
        await door.handler.probe()
        for number in range(3):
            await complete(door, "openai=small", text="word " * 800, step_no=number)
        usual = door.handler.gauge(Phase.CODING, 0)
        assert door.handler.gauge(Phase.CODING, 0, wanted="openai=small").bytes_per_token > usual.bytes_per_token
