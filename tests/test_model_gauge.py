"""The door tells how long texts are for a model, as its backend counts them, over real HTTP."""

from __future__ import annotations

from pathlib import Path

from core.gauge import BYTES_PER_TOKEN, Gauge
from core.states import Phase
from models.policy import Budgets
from models.roster import Terms
from tests.support.door import TEN_TOKENS_OUT, Setting, ask, backend
from tests.support.wire_server import WireServer

LONG = "word " * 800
"""The scripted server counts words: five bytes to a token."""


async def test_what_a_backend_counts_sets_the_estimate_right_for_its_model_alone(tmp_path: Path) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        chain = (backend(server), backend(server, model="other"))
        async with Setting(tmp_path).door(*chain) as door:
            await door.handler.probe()
            assert door.handler.gauge(Phase.CODING, 0).bytes_per_token == BYTES_PER_TOKEN
            for number in range(3):
                await door.task().complete(ask(LONG, step_no=number))
            assert 4.8 < door.handler.gauge(Phase.CODING, 0).bytes_per_token < 5.3
            assert door.handler.gauge(Phase.CODING, 2).bytes_per_token == BYTES_PER_TOKEN, "stuck: the other one"
            door.handler.renew(chain, Terms(), Budgets())
            assert 4.8 < door.handler.gauge(Phase.CODING, 0).bytes_per_token < 5.3


async def test_where_the_order_is_measured_the_most_cautious_figure_holds(tmp_path: Path) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        chain = (backend(server), backend(server, model="other"))
        async with Setting(tmp_path).door(*chain, measured=True) as door:
            await door.handler.probe()
            for number in range(3):
                await door.task().complete(ask(LONG, step_no=number))
            assert door.handler.gauge(Phase.CODING, 0).bytes_per_token == BYTES_PER_TOKEN


async def test_a_model_that_tells_its_context_bounds_its_prompts(tmp_path: Path) -> None:
    with WireServer(lambda _p, _m: TEN_TOKENS_OUT) as server:
        async with Setting(tmp_path).door(backend(server, "ollama")) as door:
            assert door.handler.gauge(Phase.CODING, 0) == Gauge()
            await door.task().complete(ask())
            window = door.handler.gauge(Phase.CODING, 0).window
            assert window is not None
            assert 0 < window <= 32768
