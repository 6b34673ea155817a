"""The gateway to the models, made from the settings."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from nightshift.app.acp import nowhere
from nightshift.app.models import chain_of, make_models, prepare_models
from nightshift.app.store import open_store
from nightshift.config.load import Settings, load_settings
from nightshift.core.clock import utc_now
from nightshift.core.events import Kind as Told
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Kind, Limits, Spent
from nightshift.storage.db.event_log import EventFilter
from nightshift.storage.db.model_results import ModelResults
from tests.support.gateway import KEY, ask
from tests.support.wire_server import WireServer


def settings(home: Path, server: WireServer, **more: Any) -> Settings:
    models = {"model_type": "openai", "model_name": "openai=big,openai=small", "openai_api_key": KEY}
    prices = {"big": 10.0, "small": 1.0}
    priced = {name: {"input_per_million_usd": usd, "output_per_million_usd": usd} for name, usd in prices.items()}
    urls = {"openai_base_url": server.openai_base_url, "model_prices": priced}
    return load_settings({**models, **urls, **more}, home)


async def test_routing_follows_the_setting_and_a_reload_of_it(tmp_path: Path) -> None:
    with WireServer(models=["big", "small"]) as server, ExitStack() as stack:
        fixed, measured = settings(tmp_path, server), settings(tmp_path, server, routing="measured")
        store = open_store(fixed, stack)
        specs = [parse_spec({"description": "Do it"}) for _ in range(2)]
        ids = [store.queue.submit(spec).result().task_id for spec in specs]
        models, routes = make_models(fixed, store, utc_now, chain_of(fixed, nowhere)), ModelResults(store.db)
        for now in (fixed, measured):
            prepare_models(models, now, store.mask, chain_of(now, nowhere))()
            for task_id in ids:
                request = ask(task_id=task_id, kind=Kind.LIBRARY, step_no=int(now is measured))
                await models.for_task(task_id, Limits(), Spent()).complete(request)
            assert [routes.route(task_id, 1) is not None for task_id in ids] == [now is measured] * 2
        events = store.events.last(50, EventFilter(kind=Told.MODEL_CALLED))
        assert ["route" in event.data for event in events] == [False, False, True, True]
        await models.aclose()
