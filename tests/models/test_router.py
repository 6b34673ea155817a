"""Models ordered by what they did, through the real door, over real HTTP, with the real store of results."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from core.events import Event
from core.events import Kind as Told
from core.routing import Route
from core.states import Ending, Phase
from core.submission import parse_spec
from core.tasks import Kind
from db.event_log import EventLog
from db.model_results import ModelResults
from models.policy import Budgets, Price
from models.roster import Terms
from queue_manager import QueueManager
from tests.support.door import QUICK, Door, Setting, ask, backend
from tests.support.wire_server import WireServer

STRONG, WEAK = "openai=strong", "openai=weak"
PRICES = {
    STRONG: Price(input_per_million_usd=3_000.0, output_per_million_usd=15_000.0),
    WEAK: Price(input_per_million_usd=250.0, output_per_million_usd=1_250.0),
}
ROUTE = Route(kind="library", ladder=(WEAK, STRONG), first=WEAK, cheap=WEAK, why="so it was decided")


class Models:
    """A strong and a weak model, and doors to both; the owner names the strong one first."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.strong = WireServer(lambda _p, _m: "strong", models=["strong"])
        self.weak = WireServer(lambda _p, _m: "weak", models=["weak"])

    def door(self, **more: Any) -> AbstractAsyncContextManager[Door]:
        chain = (backend(self.strong, model="strong"), backend(self.weak, model="weak"))
        return self.setting.door(*chain, **{"prices": PRICES, "measured": True, **more})


@pytest.fixture
def models(tmp_path: Path) -> Iterator[Models]:
    made = Models(Setting(tmp_path))
    with made.strong, made.weak:
        yield made


async def first(door: Door, task_id: int = 7, **more: Any) -> str:
    """Who answers."""
    return (await door.task(task_id).complete(ask(task_id=task_id, **{"kind": Kind.LIBRARY, **more}))).text


def keep(door: Door, task_id: int = 7, route: Route = ROUTE) -> None:
    ModelResults(door.db).keep(task_id, 1, route).result()


def told(door: Door) -> list[Event]:
    return door.of(Told.MODEL_CALLED)


async def lived(door: Door, queue: QueueManager, kind: Kind) -> str:
    """One task of a kind from its submission to its end: the weak model can do libraries alone. Gives who began."""
    queue.submit(parse_spec({"description": "Do it", "kind": kind, "priority": 9})).result()
    task = queue.claim("w1").result()
    assert task is not None
    began = await first(door, task.id, kind=kind, iteration=1)
    solved = began == "strong" or kind is Kind.LIBRARY
    ending = Ending.COMMITTED if solved else Ending.GAVE_UP
    queue.finish(task.id, task.fence, ending, commit=f"{task.id:040x}" if solved else None).result()
    return began


async def test_by_and_by_each_kind_of_task_is_begun_by_its_model(models: Models) -> None:
    async with models.door() as door:
        queue = QueueManager(door.db, EventLog(door.db))
        began = [(await lived(door, queue, Kind.LIBRARY), await lived(door, queue, Kind.WEB_APP)) for _ in range(70)]
        status = door.handler.status()
    assert fmean(library == "strong" for library, _ in began[:10]) > 0.5
    late = began[-20:]
    assert fmean(library == "weak" for library, _ in late) > 0.8
    assert fmean(web_app == "strong" for _, web_app in late) > 0.8
    route = told(door)[-2].data["route"]
    assert route["first"] in {STRONG, WEAK}
    assert "solved" in route["why"]
    assert status[0].measured.startswith("library ")
    assert " of " in status[1].measured


async def test_a_resumed_attempt_asks_the_models_that_were_decided_whatever_came_since(models: Models) -> None:
    async with models.door() as door:
        decided = [await first(door, task_id, iteration=1) for task_id in range(1, 13)]
        assert set(decided) == {"strong", "weak"}
        queue = QueueManager(door.db, EventLog(door.db))
        for _ in range(12):
            await lived(door, queue, Kind.LIBRARY)
    async with models.door() as door:
        assert [await first(door, task_id, iteration=2, step_no=3) for task_id in range(1, 13)] == decided
        assert not any(event.kind is Told.MODEL_REPLAYED for event in door.events)


async def test_a_decision_is_durable_before_anybody_is_asked(models: Models) -> None:
    async with models.door() as door:
        models.strong.fail_next("hang")
        models.weak.fail_next("hang")
        asked = asyncio.create_task(first(door))
        await asyncio.to_thread(models.strong.until, lambda: models.strong.requests or models.weak.requests)
        assert ModelResults(door.db).route(7, 1) is not None
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)


async def test_easy_phases_ask_the_cheap_one_audits_the_strong_one_and_failures_climb(models: Models) -> None:
    async with models.door() as door:
        keep(door, route=replace(ROUTE, first=STRONG))
        keep(door, 8)
        assert await first(door, phase=Phase.CODING, iteration=1) == "strong"
        assert await first(door, phase=Phase.CLARIFYING, step_no=1) == "weak"
        assert await first(door, 8, phase=Phase.AUDIT, iteration=1) == "strong"
        assert await first(door, 8, phase=Phase.CODING, iteration=2, step_no=1) == "weak"
        assert await first(door, 8, phase=Phase.CODING, iteration=3, step_no=2) == "strong"
    route = told(door)[-1].data["route"]
    assert route == {
        "first": STRONG,
        "why": f"instead of {WEAK}, after 2 failed tries; so it was decided",
        "explored": False,
    }


async def test_phase_models_win(models: Models) -> None:
    async with models.door(phase_models={Phase.CODING: STRONG}) as door:
        keep(door)
        assert await first(door) == "strong"
        assert await first(door, phase=Phase.REFLECTING, step_no=1) == "weak"
    assert ["route" in event.data for event in told(door)] == [False, True]


async def test_the_owners_order_is_the_default_and_decides_nothing(models: Models) -> None:
    async with models.door(measured=False) as door:
        keep(door, 8)
        assert [await first(door, task_id) for task_id in (7, 8)] == ["strong", "strong"]
        assert ModelResults(door.db).route(7, 1) is None
        assert door.handler.status()[0].measured == ""
    assert not any("route" in event.data for event in told(door))


async def test_requests_outside_a_task_or_of_no_kind_keep_the_owners_order(models: Models) -> None:
    async with models.door() as door:
        keep(door)
        assert await first(door, kind=None) == "strong"
    assert not any("route" in event.data for event in told(door))


async def test_one_model_alone_is_asked_and_nothing_is_decided(models: Models) -> None:
    async with models.setting.door(backend(models.weak, model="weak"), measured=True) as door:
        assert await first(door) == "weak"
        assert ModelResults(door.db).route(7, 1) is None


async def test_when_the_chosen_one_fails_the_stronger_one_answers(models: Models) -> None:
    with once_down(models.weak):
        async with models.door() as door:
            keep(door)
            assert await first(door) == "strong"
    assert door.of(Told.MODEL_FALLBACK)[0].data == {"from": WEAK, "to": STRONG}


@contextmanager
def once_down(server: WireServer) -> Iterator[None]:
    server.fail_next("503", 3)
    yield


async def test_a_model_that_is_left_alone_after_failures_begins_no_task(models: Models) -> None:
    models.strong.fail_always("503")
    async with models.door(policy=replace(QUICK, breaker_failures=1, breaker_s=600.0)) as door:
        assert await first(door, 1) == "weak"
        for task_id in range(2, 12):
            assert await first(door, task_id) == "weak"
        routes = ModelResults(door.db)
        decided = [route for task_id in range(2, 12) if (route := routes.route(task_id, 1))]
    assert {route.first for route in decided} == {WEAK}
    assert len(decided) == 10


async def test_models_that_came_with_new_settings_are_asked_last_and_those_that_went_are_not(models: Models) -> None:
    async with models.door() as door:
        keep(door, route=replace(ROUTE, ladder=("openai=gone", WEAK), first="openai=gone", cheap=WEAK))
        assert await first(door) == "weak"
        models.weak.fail_next("503", 3)
        assert await first(door, step_no=1) == "strong"


async def test_a_reload_turns_it_on_for_requests_that_begin_afterwards(models: Models) -> None:
    async with models.door(measured=False) as door:
        keep(door)
        assert await first(door) == "strong"
        chain = (backend(models.strong, model="strong"), backend(models.weak, model="weak"))
        door.handler.renew(chain, Terms(policy=QUICK, prices=PRICES, measured=True), Budgets())
        assert await first(door, step_no=1) == "weak"
