"""The forecast on all pages: none is shown before tasks have ended, and a budget that is too small is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.answers import Answers, job
from tests.support.browser import LIVE, Watch, context_of
from tests.support.daemon import Daemon, settings_for, until
from tests.support.wire_server import WireServer

LATER = range(20, 26)


@pytest.fixture(scope="module")
def model() -> Iterator[WireServer]:
    with WireServer(Answers()) as server:
        yield server


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model: WireServer) -> Iterator[Daemon]:
    """Run a daemon with one worker and a model that costs money."""
    prices = json.dumps({model.model: {"input_per_million_usd": 10, "output_per_million_usd": 10}})
    settings = settings_for(model, WORKER_COUNT="1", MODEL_PRICES=prices, REPAIR_FIRST_S="0", DRAIN_S="0")
    with Daemon(tmp_path_factory.mktemp("forecast") / "home", settings) as daemon:
        yield daemon


def open_page(browser: Browser, daemon: Daemon, path: str) -> Iterator[Page]:
    with context_of(browser, daemon.url) as context:
        page = context.new_page()
        watch = Watch(page, daemon.url)
        page.goto(path)
        page.wait_for_selector(LIVE, state="attached")
        yield page
        watch.check()


def test_a_forecast_is_told_once_tasks_have_ended_and_warns_before_the_budget_breaks(
    browser: Browser, daemon: Daemon, model: WireServer
) -> None:
    for page in open_page(browser, daemon, "/"):
        forecast = page.get_by_role("region", name="Forecast")
        expect(forecast).to_contain_text("No task is open.")
    daemon.wait(*(daemon.submit(**job(n)) for n in (2, 3, 4)))
    used = daemon.get("/api/brief")["cost_usd"]
    daemon.stop()
    daemon.settings["DAY_COST_USD"] = str(used * (1 + 2.5 / 3))
    daemon.start()
    model.fail_next("hang", about="job_20")
    tasks = [daemon.submit(**job(n)) for n in LATER]
    outlook = daemon.get("/api/forecast")
    assert (outlook["tasks"], outlook["measured"], outlook["fit_budget"]) == (len(tasks), 3, 2)
    for path in ("/", "/tasks"):
        for page in open_page(browser, daemon, path):
            expect(page.get_by_role("region", name="Forecast")).to_contain_text("Open: 6 tasks")
            expect(page.get_by_text("4 tasks will wait until")).to_be_visible()
    status = daemon.cli("status").stdout
    assert "6 tasks" in status
    assert "4 tasks will wait until" in status
    assert "Open: 6 tasks" in daemon.cli("brief").stdout
    assert "open now: 7 tasks" in daemon.cli("add", "Write a seventh").stderr
    until(lambda: any(line["event"] == "budget_short" for line in daemon.get("/api/logs?limit=500")["events"]), 120)
