"""The gateway learns the token lengths for each model from the counts that its backend reports, over real HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.core.events import Kind
from nightshift.core.gauge import BYTES_PER_TOKEN, Gauge, ModelClass
from nightshift.core.tasks.states import Phase
from nightshift.models.budgets import SpendingLimits
from nightshift.models.services import RoutingConfig
from tests.support.gateway import TEN_TOKENS_OUT, GatewaySetup, ManualClock, ask, backend
from tests.support.wire_server import WireServer

LONG = "word " * 800
"""A long prompt, in which a word and its space have five bytes. The scripted server counts each word as one token."""


async def test_what_a_backend_counts_sets_the_estimate_right_for_its_model_alone(tmp_path: Path) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        chain = (backend(server), backend(server, model="other"))
        async with GatewaySetup(tmp_path).gateway(*chain) as gateway:
            await gateway.handler.probe()
            assert gateway.handler.gauge(Phase.CODING, 0).bytes_per_token == BYTES_PER_TOKEN
            for number in range(3):
                await gateway.task().complete(ask(LONG, step_no=number))
            assert 4.8 < gateway.handler.gauge(Phase.CODING, 0).bytes_per_token < 5.3
            assert gateway.handler.gauge(Phase.CODING, 2).bytes_per_token == BYTES_PER_TOKEN, "stuck: the other one"
            gateway.handler.reload(chain, RoutingConfig(), SpendingLimits())
            assert 4.8 < gateway.handler.gauge(Phase.CODING, 0).bytes_per_token < 5.3


async def test_a_model_that_tells_its_context_bounds_its_prompts(tmp_path: Path) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with GatewaySetup(tmp_path).gateway(backend(server, "ollama")) as gateway:
            assert gateway.handler.gauge(Phase.CODING, 0) == Gauge()
            await gateway.task().complete(ask())
            window = gateway.handler.gauge(Phase.CODING, 0).window
            assert window is not None
            assert 0 < window <= 32768


@pytest.mark.parametrize("kind", ["openai", "ollama"])
async def test_the_size_that_a_server_lists_goes_before_the_one_in_the_name(tmp_path: Path, kind: str) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        server.listed = {"meta": {"n_params": 1_500_000_000}, "details": {"parameter_size": "1.5B"}}
        async with GatewaySetup(tmp_path).gateway(backend(server, kind)) as gateway:
            assert gateway.handler.gauge(Phase.CODING, 0).profile.size is None
            (status,) = await gateway.handler.probe()
            assert gateway.handler.gauge(Phase.CODING, 0).profile.size is ModelClass.SMALL
            assert "plain words" in (await gateway.handler.probe())[0].form
            assert status.available


async def test_two_unusable_answers_in_a_row_have_a_model_asked_in_plain_words_for_the_rest_of_the_day(
    tmp_path: Path,
) -> None:
    clock = ManualClock(datetime(2026, 11, 28, 12, tzinfo=UTC))
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with GatewaySetup(tmp_path).gateway(backend(server), clock=clock) as gateway:
            handler = gateway.handler
            reply = await gateway.task().complete(ask())
            for is_usable in (False, True, False):
                handler.count_form(reply, is_usable)
            assert not handler.gauge(Phase.CODING, 0).profile.is_plain
            handler.count_form(reply, False)
            assert handler.gauge(Phase.CODING, 0).profile.is_plain
            assert handler.status()[0].form
            assert len(gateway.of(Kind.REPLY_REFUSED)) == 1
            handler.reload((backend(server),), RoutingConfig(), SpendingLimits())
            assert handler.gauge(Phase.CODING, 0).profile.is_plain, "the settings changed, the model did not"
            clock.at += timedelta(days=1)
            assert not handler.gauge(Phase.CODING, 0).profile.is_plain


async def test_a_restart_does_not_forget_who_is_asked_in_plain_words(tmp_path: Path) -> None:
    clock = ManualClock(datetime(2026, 11, 28, 12, tzinfo=UTC))
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with GatewaySetup(tmp_path).gateway(backend(server), clock=clock) as gateway:
            reply = await gateway.task().complete(ask())
            for _ in range(2):
                gateway.handler.count_form(reply, False)
        for days, is_plain in ((0, True), (1, False)):
            clock.at += timedelta(days=days)
            async with GatewaySetup(tmp_path).gateway(backend(server), clock=clock) as gateway:
                await gateway.handler.probe()
                assert gateway.handler.gauge(Phase.CODING, 0).profile.is_plain is is_plain
