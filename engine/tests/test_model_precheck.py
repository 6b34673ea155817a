"""The built-in engine in the chain of models: it is asked first and last, costs nothing, and never blocks a task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.tests.support.tiny_solver import TinySolver, asked
from nightshift.core.errors import NeedsSettings, Parked
from nightshift.core.events import Kind, Level
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Limits, Spent
from nightshift.core.tools import ToolSpec
from nightshift.models.base import BackendSettings, BaseModelHandler
from nightshift.models.budgets import SpendingLimits
from nightshift.models.chain import build_chain
from nightshift_engine.backend import RepairBackend
from tests.support.gateway import QUICK, Gateway, GatewaySetup, backend
from tests.support.wire_server import WireServer

UNTESTED: dict[str, Any] = {"tests": {}}
"""A task that the engine cannot work on."""
TROUBLE = {Kind.MODEL_FAILED, Kind.MODEL_FALLBACK, Kind.MODEL_DOWN}


@pytest.fixture
def setting(tmp_path: Path) -> GatewaySetup:
    return GatewaySetup(tmp_path)


def nowhere() -> BaseModelHandler:
    return build_chain(BackendSettings(ollama_base_url="http://127.0.0.1:9"), model_type="ollama")[0]


async def watched(gateway: Gateway, ups: list[bool]) -> asyncio.Task[None]:
    """Start the watch over the backends, and wait until every backend was checked."""
    watch = asyncio.create_task(gateway.handler.watch(lambda: ups.append(True)))
    await asyncio.sleep(0.1)
    return watch


# Tests of the engine as the first backend that is asked.


async def test_where_a_model_works_with_tools_the_engine_looks_before_its_first_call_only(
    setting: GatewaySetup,
) -> None:
    tools = (ToolSpec(name="done", description="Ends the work."),)
    with WireServer() as server:
        async with setting.gateway(backend(server), RepairBackend(TinySolver())) as gateway:
            within = await gateway.task().complete(replace(asked(), tools=tools, call_no=1))
            server.fail_always("503")
            with pytest.raises(Parked):
                await gateway.task().complete(replace(asked(), tools=tools, call_no=2))
            server.heal()
            first = await gateway.task().complete(replace(asked(), tools=tools))
            assert [within.backend, first.backend] == ["openai", "repair"]


async def test_a_bug_that_search_can_mend_costs_no_call_and_the_log_says_which_was_saved(setting: GatewaySetup) -> None:
    with WireServer() as server:
        async with setting.gateway(backend(server), RepairBackend(TinySolver())) as gateway:
            task = gateway.task()
            plan = await task.complete(asked())
            files = await task.complete(asked(Phase.CODING, step_no=1))
            assert [(reply.backend, reply.extra["saved"]) for reply in (plan, files)] == [
                ("repair", "openai=tiny-coder")
            ] * 2
            assert (task.spent.model_calls, task.spent.tokens, task.spent.cost_usd) == (0, 0, 0.0)
            assert task.spent.model_s > 0
            saved = gateway.state.count_saved_replies()
            again = await task.complete(asked(step_no=0))
    assert server.requests == []
    assert (saved.replies, saved.saved) == (2, 2)
    assert (again.replayed, task.spent.model_calls) == (True, 0)
    called = gateway.of(Kind.MODEL_CALLED)
    assert [event.data["saved"] for event in called] == ["openai=tiny-coder"] * 2
    assert "openai=tiny-coder" in called[0].message
    assert not TROUBLE & set(gateway.kinds())


async def test_what_the_engine_declines_is_asked_as_ever_and_only_who_looks_closely_hears_of_it(
    setting: GatewaySetup,
) -> None:
    with WireServer() as server:
        async with setting.gateway(backend(server), RepairBackend(TinySolver())) as gateway:
            for step_no in range(8):
                reply = await gateway.task().complete(asked(step_no=step_no, **UNTESTED))
                assert (reply.backend, "saved" in reply.extra) == ("openai", False)
            _, engine = gateway.handler.status()
    assert len(server.requests) == 8
    assert not TROUBLE & set(gateway.kinds())
    declined = gateway.of(Kind.REPAIR_DECLINED)
    assert {event.level for event in declined} == {Level.DEBUG}
    assert "has no tests" in declined[0].message
    assert (engine.failures, engine.circuit, engine.detail, engine.available) == (0, "closed", "", True)


async def test_its_time_is_short_where_a_model_stands_by(setting: GatewaySetup) -> None:
    solver = TinySolver(slow_s=1.0)
    with WireServer() as server:
        engine = RepairBackend(solver)
        async with setting.gateway(backend(server), engine, policy=replace(QUICK, precheck_s=0.05)) as gateway:
            assert (await gateway.task().complete(asked())).backend == "openai"
            assert (await gateway.task().complete(asked(Phase.CODING, step_no=1))).backend == "openai"
    assert [problem.budget_s for problem in solver.problems] == [0.05], "the same search was made twice"


# Tests of the engine as the last backend that is asked.


async def test_budgets_do_not_bind_it(setting: GatewaySetup) -> None:
    spent_up: dict[str, Any] = {
        "budgets": SpendingLimits(day=Limits(tokens=1), total=Limits(cost_usd=0.0)),
        "spent_since": lambda since: Spent(tokens_in=5) if since else Spent(),
    }
    with WireServer() as server:
        for precheck_s in (0.0, 5.0):
            chain = (backend(server), RepairBackend(TinySolver()))
            policy = replace(QUICK, precheck_s=precheck_s)
            async with setting.gateway(*chain, policy=policy, **spent_up) as gateway:
                task = gateway.task(7, model_calls=1, tokens=1, spent=Spent(model_calls=1))
                assert (await task.complete(asked(step_no=int(precheck_s)))).backend == "repair"
                assert task.spent.model_calls == 1
        assert server.requests == []


# Tests of tasks for which no backend is left.


@pytest.mark.parametrize("models", [(), (nowhere,)])
async def test_a_task_that_it_cannot_do_waits_for_a_model_and_says_what_was_tried(
    setting: GatewaySetup, models: tuple[Callable[[], BaseModelHandler], ...]
) -> None:
    async with setting.gateway(*(make() for make in models), RepairBackend(TinySolver())) as gateway:
        with pytest.raises(Parked) as caught:
            await gateway.task().complete(asked(**UNTESTED))
    assert caught.value.until is None
    assert isinstance(caught.value, NeedsSettings) is not bool(models), "one that is not there may come"
    for word in ("no model is available", "built-in engine", "has no tests", "ollama pull", "OPENAI_API_KEY"):
        assert word in str(caught.value)
    assert not {Kind.MODEL_FAILED, Kind.MODEL_FALLBACK} & set(gateway.kinds())


async def test_what_waits_for_a_model_is_released_by_a_model_alone(setting: GatewaySetup) -> None:
    with WireServer() as server:
        server.stop()
        async with setting.gateway(backend(server, "ollama"), RepairBackend(TinySolver())) as gateway:
            ups: list[bool] = []
            watch = await watched(gateway, ups)
            assert len(ups) == 1, "what an earlier life left waiting is looked at once"
            with pytest.raises(Parked):
                await gateway.task().complete(asked(**UNTESTED))
            await asyncio.sleep(0.15)
            assert len(ups) == 1, "it was released because the engine is there"
            server.start()
            await asyncio.to_thread(server.until, lambda: len(ups) > 1)
            assert (await gateway.task().complete(asked(**UNTESTED))).backend == "ollama"
            watch.cancel()
