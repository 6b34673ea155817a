"""The gateway tells how long texts are for a model, as its backend counts them, over real HTTP."""

from __future__ import annotations

from pathlib import Path

from nightshift.core.gauge import BYTES_PER_TOKEN, Gauge
from nightshift.core.tasks.states import Phase
from nightshift.models.backend_pool import RoutingConfig
from nightshift.models.budgets import SpendingLimits
from tests.support.acp_rig import scripted
from tests.support.gateway import TEN_TOKENS_OUT, GatewaySetup, ask, backend
from tests.support.wire_server import WireServer

LONG = "word " * 800
"""The scripted server counts words: five bytes to a token."""


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


async def test_where_the_order_is_measured_the_most_cautious_figure_holds(tmp_path: Path) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        chain = (backend(server), backend(server, model="other"))
        async with GatewaySetup(tmp_path).gateway(*chain, measured=True) as gateway:
            await gateway.handler.probe()
            for number in range(3):
                await gateway.task().complete(ask(LONG, step_no=number))
            assert gateway.handler.gauge(Phase.CODING, 0).bytes_per_token == BYTES_PER_TOKEN


async def test_a_model_that_tells_its_context_bounds_its_prompts(tmp_path: Path) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with GatewaySetup(tmp_path).gateway(backend(server, "ollama")) as gateway:
            assert gateway.handler.gauge(Phase.CODING, 0) == Gauge()
            await gateway.task().complete(ask())
            window = gateway.handler.gauge(Phase.CODING, 0).window
            assert window is not None
            assert 0 < window <= 32768


async def test_one_that_has_tools_of_its_own_is_offered_none(tmp_path: Path) -> None:
    with scripted({}) as rig, WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        config = RoutingConfig(phase_models={Phase.CODING: "acp"})
        async with GatewaySetup(tmp_path).gateway(backend(server), rig.backend) as gateway:
            gateway.handler.reload((backend(server), rig.backend), config, SpendingLimits())
            await gateway.handler.probe()
            assert gateway.handler.gauge(Phase.CODING, 0).own_tools
            assert not gateway.handler.gauge(Phase.REVIEW, 0).own_tools
