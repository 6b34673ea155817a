"""The gateway to the models, over real HTTP and with the real store of replies. Pauses last only milliseconds here."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Finish
from nightshift.core.errors import BudgetSpent, OwnerSpoke, Parked
from nightshift.core.events import Kind
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Limits, Spent
from nightshift.core.text.masking import Masker
from nightshift.models.base import BackendSettings
from nightshift.models.budgets import SpendingLimits
from nightshift.models.chain import build_chain
from tests.support.gateway import PRICE, QUICK, TEN_TOKENS_OUT, GatewaySetup, ManualClock, ask, backend
from tests.support.wire_server import WireServer

PRICES = {"openai=tiny-coder": PRICE}


@pytest.fixture
def setting(tmp_path: Path) -> GatewaySetup:
    return GatewaySetup(tmp_path)


# Answers, and answers replayed from the store.


async def test_an_answer_is_told_stored_and_replayed(setting: GatewaySetup) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with setting.gateway(backend(server)) as gateway:
            first = await gateway.task().complete(ask(step_no=3, call_no=1))
            assert (first.text, first.tokens_out, first.replayed) == (TEN_TOKENS_OUT, 10, False)
            again = await gateway.task().complete(ask(step_no=3, call_no=1))
            assert (again.text, again.replayed) == (TEN_TOKENS_OUT, True)
            assert not (await gateway.task().complete(ask(step_no=4))).replayed
            assert len(server.requests) == 2
    assert gateway.kinds() == [Kind.MODEL_UP, Kind.MODEL_CALLED, Kind.MODEL_REPLAYED, Kind.MODEL_CALLED]
    called = gateway.of(Kind.MODEL_CALLED)[0]
    assert (called.task_id, called.phase) == (7, Phase.CODING)
    assert {"backend", "model", "tokens_in", "tokens_out", "cost_usd", "latency_s", "finish"} <= called.data.keys()


async def test_after_a_crash_every_reply_is_counted_exactly_once(setting: GatewaySetup) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        server.fail_next("cut")  # this broken reply was paid for too, but counts as no reply
        async with setting.gateway(backend(server)) as gateway:
            task = gateway.task()
            await task.complete(ask(step_no=0))
            await task.complete(ask(step_no=1, call_no=0))
            await task.complete(ask(step_no=1, call_no=1))
            before = task.spent
        async with setting.gateway(backend(server)) as gateway:  # the daemon died in step 1 and was restarted
            resumed = gateway.task(spent=gateway.steps.sum_spent_of(7))
            for call_no in range(2):
                assert (await resumed.complete(ask(step_no=1, call_no=call_no))).replayed
            assert replace(resumed.spent, model_s=0.0) == replace(before, model_s=0.0)
            assert resumed.spent.model_calls == 4
    assert len(server.requests) == 4


async def test_a_reply_that_came_is_stored_even_when_its_step_is_cancelled(setting: GatewaySetup) -> None:
    with WireServer() as server:
        async with setting.gateway(backend(server)) as gateway:
            free = threading.Event()
            gateway.db.write(lambda _conn: free.wait(60))
            task = asyncio.create_task(gateway.task().complete(ask()))
            await asyncio.to_thread(server.until, lambda: Kind.MODEL_CALLED in gateway.kinds())
            task.cancel()
            free.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wrap_future(gateway.db.write(lambda _conn: None))
            assert (await gateway.task().complete(ask())).replayed
            assert len(server.requests) == 1


async def test_secrets_do_not_leave_the_house(setting: GatewaySetup) -> None:
    with WireServer() as server:
        async with setting.gateway(backend(server), masker=Masker(["hunter2-is-secret"])) as gateway:
            await gateway.task().complete(ask("the password is hunter2-is-secret and ghp_0123456789abcdefghijKL"))
        assert "hunter2" not in str(server.requests[0].body)
        assert "ghp_" not in str(server.requests[0].body)


# Retries of failed calls.


async def test_passing_failures_are_tried_again(setting: GatewaySetup) -> None:
    with WireServer() as server:
        server.fail_next("500")
        server.fail_next("quiet")
        async with setting.gateway(backend(server)) as gateway:
            assert (await gateway.task().complete(ask())).text
        assert [request.fault for request in server.requests] == ["500", "quiet", None]
    failed = gateway.of(Kind.MODEL_FAILED)
    assert [event.data["try"] for event in failed] == [1, 2]
    assert all(event.data["retry_in_s"] is not None for event in failed)


async def test_a_short_wait_that_the_server_asks_for_is_kept_by_everyone(setting: GatewaySetup) -> None:
    with WireServer() as server:
        server.fail_next("429", retry_after=0.15)
        async with setting.gateway(backend(server)) as gateway:
            first = asyncio.create_task(gateway.task(1).complete(ask(task_id=1)))
            await asyncio.to_thread(server.until, lambda: gateway.of(Kind.MODEL_FAILED))
            await asyncio.gather(first, gateway.task(2).complete(ask(task_id=2)))
        times = [request.at_s for request in server.requests]
        assert len(times) == 3
        assert min(times[1:]) - times[0] >= 0.15
        assert gateway.handler.status()[0].circuit == "closed"


async def test_a_long_wait_sends_the_request_elsewhere_and_parks_where_there_is_no_elsewhere(
    setting: GatewaySetup,
) -> None:
    with WireServer() as busy, WireServer(lambda _p, _m: "from the other one") as other:
        busy.fail_always("429", retry_after=3600)
        async with setting.gateway(backend(busy), backend(other, "ollama")) as gateway:
            assert (await gateway.task().complete(ask())).text == "from the other one"
            assert len(busy.requests) == 1
            await gateway.task().complete(ask(step_no=1))
            assert len(busy.requests) == 1, "the busy one was asked again before its time"
            assert len(gateway.of(Kind.MODEL_FALLBACK)) == 1, "going on as before is no news"
        async with setting.gateway(backend(busy)) as gateway:
            with pytest.raises(Parked, match="429") as caught:
                await gateway.task(8).complete(ask(task_id=8))
            assert caught.value.until
            assert timedelta(seconds=3500) < caught.value.until - utc_now() < timedelta(seconds=3700)


async def test_silence_is_a_failure_that_parks_and_the_connection_is_closed(setting: GatewaySetup) -> None:
    with WireServer(lambda _p, _m: "word " * 100) as server:
        server.fail_next("stall")
        # Long enough for a busy machine to connect: the timeout also ends a call that has not connected yet.
        async with setting.gateway(backend(server), policy=replace(QUICK, gap_s=0.1, total_s=2.0)) as gateway:
            with pytest.raises(Parked) as caught:
                await gateway.task().complete(ask())
            assert caught.value.until, "it is tried again by itself"
            await asyncio.to_thread(server.until, lambda: server.requests and server.requests[0].gone)
        assert len(server.requests) == 1, "a time-out went by; asking again at once would take another"
        assert "answer" in gateway.of(Kind.MODEL_FAILED)[0].message
        async with setting.gateway(backend(server)) as gateway:
            assert (await gateway.task().complete(ask())).finish is Finish.STOP


# Interruptions by a message of the owner.


async def test_the_owner_s_word_breaks_off_the_request_alone_and_what_was_written_is_paid_for(
    setting: GatewaySetup,
) -> None:
    with WireServer(lambda _p, _m: "word " * 400) as server:
        server.fail_next("stall")
        async with setting.gateway(backend(server), prices={"tiny-coder": PRICE}) as gateway:
            model = gateway.task()
            worker = asyncio.create_task(model.complete(ask(heard=3)))
            live = gateway.handler.live
            # Half of the answer, 1,000 characters, is sent before the stall.
            await asyncio.to_thread(
                server.until, lambda: any(sum(len(part.text) for part in call.parts) > 900 for call in live.open())
            )
            gateway.handler.interrupt(8, 4)
            gateway.handler.interrupt(7, 3)
            await asyncio.sleep(0.02)
            assert not worker.done(), "neither another task's word nor one that the request carries"
            gateway.handler.interrupt(7, 4)
            with pytest.raises(OwnerSpoke):
                await worker
            assert not worker.cancelled()
            await asyncio.to_thread(server.until, lambda: server.requests[0].gone)
            # The database writes in its own thread, so the count arrives later.
            await asyncio.to_thread(server.until, lambda: gateway.state.sum_spent().model_calls)
            assert model.spent.model_calls == gateway.state.sum_spent().model_calls == 1
            assert model.spent.tokens_out > 100
            assert live.open() == []
            assert (await model.complete(ask(heard=4))).text.startswith("word")
            assert gateway.handler.status()[0].failures == 0, "it is no fault of the model's"


# The chain of backends.


async def test_the_next_backend_answers_for_a_failing_one(setting: GatewaySetup) -> None:
    with WireServer() as bad, WireServer(lambda _p, _m: "saved") as good:
        bad.fail_always("500")
        async with setting.gateway(backend(bad), backend(good, "anthropic")) as gateway:
            assert (await gateway.task().complete(ask())).text == "saved"
    assert len(bad.requests) == QUICK.tries
    (event,) = gateway.of(Kind.MODEL_FALLBACK)
    assert (event.data["from"], event.data["to"]) == ("openai=tiny-coder", "anthropic=tiny-coder")


async def test_being_stuck_raises_the_temperature_and_then_changes_the_model(setting: GatewaySetup) -> None:
    with WireServer(models=["first", "second"]) as server:
        async with setting.gateway(backend(server, model="first"), backend(server, model="second")) as gateway:
            for escalation in range(4):
                await gateway.task().complete(ask(step_no=escalation, escalation=escalation))
            await gateway.task().complete(ask(step_no=9, escalation=1, temperature=0.9))
        sent = [(request.body["model"], request.body["temperature"]) for request in server.requests]
        assert sent == [("first", 0.2), ("first", 0.8), ("second", 0.8), ("first", 1.0), ("first", 0.9)]


async def test_a_key_that_stopped_working_parks_the_tasks_instead_of_failing_them(setting: GatewaySetup) -> None:
    with WireServer(keys=["sk-another-one-entirely"]) as server:
        async with setting.gateway(backend(server)) as gateway:
            with pytest.raises(Parked, match="OPENAI_API_KEY") as caught:
                await gateway.task().complete(ask())
            assert caught.value.until is None
            assert "sk-test" not in str(caught.value)
    with WireServer() as server:
        server.fail_always("403", message="your account may not")
        async with setting.gateway(backend(server)) as gateway:
            with pytest.raises(Parked, match="may not") as caught:
                await gateway.task().complete(ask())
            assert caught.value.until, "whether the request or the account is to blame shows soon"


# Requests while no backend is available.


async def test_without_any_model_the_task_is_parked_and_the_owner_is_told_what_to_do(setting: GatewaySetup) -> None:
    chain = build_chain(BackendSettings(ollama_base_url="http://127.0.0.1:9"))
    for backends in ((), chain):
        async with setting.gateway(*backends) as gateway:
            with pytest.raises(Parked) as caught:
                await gateway.task().complete(ask())
            assert caught.value.until is None
            for hint in ("https://ollama.com", "ollama pull", "OPENAI_API_KEY", "GPT4ALL_MODEL_PATH"):
                assert hint in str(caught.value)


async def test_a_model_that_goes_parks_and_one_that_comes_back_is_noticed(setting: GatewaySetup) -> None:
    with WireServer() as server:
        async with setting.gateway(backend(server, "ollama")) as gateway:
            await gateway.task().complete(ask())
            server.stop()
            with pytest.raises(Parked) as caught:
                await gateway.task().complete(ask(step_no=1))
            assert caught.value.until is None, "nobody knows when it will be back"
            ups: list[bool] = []
            watch = asyncio.create_task(gateway.handler.watch(lambda: ups.append(True)))
            await asyncio.sleep(0.06)
            assert ups == []
            server.start()
            await asyncio.to_thread(server.until, lambda: ups)
            assert (await gateway.task().complete(ask(step_no=1))).text
            await asyncio.sleep(0.1)
            calls = len(ups)
            await asyncio.sleep(0.1)
            assert len(ups) == calls, "it goes on calling though nobody waits"
            watch.cancel()
    assert [k for k in gateway.kinds() if k in (Kind.MODEL_UP, Kind.MODEL_DOWN)] == [
        Kind.MODEL_UP, Kind.MODEL_DOWN, Kind.MODEL_UP,
    ]  # fmt: skip


async def test_a_task_that_is_parked_just_as_the_model_comes_back_is_not_forgotten(setting: GatewaySetup) -> None:
    with WireServer() as server:
        async with setting.gateway(backend(server, "ollama")) as gateway:
            server.stop()
            with pytest.raises(Parked):
                await gateway.task().complete(ask())
            server.start()
            await gateway.handler.probe()  # this check notices the change to “up” before `watch` does
            ups: list[bool] = []
            watch = asyncio.create_task(gateway.handler.watch(lambda: ups.append(True)))
            await asyncio.to_thread(server.until, lambda: ups)
            watch.cancel()


# Budgets of calls.


async def test_the_limits_of_a_task_end_it_and_say_which(setting: GatewaySetup) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with setting.gateway(backend(server), prices={"tiny-coder": PRICE}) as gateway:
            calls = gateway.task(model_calls=1)
            await calls.complete(ask())
            with pytest.raises(BudgetSpent, match=r"task 7: the limit of 1 model calls is reached \(1 used\)"):
                await calls.complete(ask(step_no=1))
            with pytest.raises(BudgetSpent, match=r"limit of 500 tokens is reached \(450 used"):
                await gateway.task(tokens=500, spent=Spent(tokens_in=450)).complete(ask(step_no=2))
            with pytest.raises(BudgetSpent, match=r"limit of \$2\.00 is reached \(\$1\.99 used"):
                await gateway.task(cost_usd=2.0, spent=Spent(cost_usd=1.99)).complete(ask(step_no=3))
        assert len(server.requests) == 1
    assert [event.data["budget"] for event in gateway.of(Kind.BUDGET_REACHED)] == ["task 7"] * 3


async def test_the_budget_of_a_day_parks_until_midnight_and_outlives_a_restart(setting: GatewaySetup) -> None:
    clock = ManualClock(datetime(2026, 3, 31, 22, 15, tzinfo=UTC))
    budgets = SpendingLimits(day=Limits(tokens=1000))
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:

        def ledger(since: datetime | None) -> Spent:
            return Spent(tokens_in=990) if since == datetime(2026, 3, 31, tzinfo=UTC) else Spent()

        async with setting.gateway(backend(server), clock=clock, budgets=budgets, spent_since=ledger) as gateway:
            for _ in range(2):
                with pytest.raises(Parked, match="today") as caught:
                    await gateway.task().complete(ask())
                assert caught.value.until == datetime(2026, 4, 1, tzinfo=UTC)
            assert len(gateway.of(Kind.BUDGET_REACHED)) == 1
            clock.at = datetime(2026, 4, 1, 0, 0, 1, tzinfo=UTC)
            await gateway.task().complete(ask())


async def test_when_the_money_is_spent_a_free_backend_goes_on(setting: GatewaySetup) -> None:
    with WireServer() as paid, WireServer(lambda _p, _m: "for free") as free:
        money: dict[str, Any] = {"budgets": SpendingLimits(day=Limits(cost_usd=0.0001)), "prices": PRICES}
        async with setting.gateway(backend(paid), backend(free, "ollama"), **money) as gateway:
            completion = await gateway.task().complete(ask())
            assert (completion.text, completion.cost_usd) == ("for free", 0.0)
        assert paid.requests == []
        assert len(gateway.of(Kind.BUDGET_REACHED)) == 1


async def test_a_reply_that_broke_off_was_paid_for_too(setting: GatewaySetup) -> None:
    with WireServer(lambda _p, _m: "word " * 400) as server:
        server.fail_next("cut")
        async with setting.gateway(backend(server), prices={"tiny-coder": PRICE}) as gateway:
            task = gateway.task()
            completion = await task.complete(ask())
            assert task.spent.model_calls == 2
            assert task.spent.tokens_out > completion.tokens_out + 100
            assert task.spent.cost_usd > (completion.cost_usd or 0) * 1.2
            assert gateway.state.sum_spent().model_calls == 2
            assert (await gateway.task().complete(ask())).text == completion.text
