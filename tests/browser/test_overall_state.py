"""The overall state is the same everywhere. Pages report that no model answers or that the daemon cannot be reached."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.answers import job
from tests.support.browser import Watch, context_of, open_live
from tests.support.daemon import Daemon, settings_for, until
from tests.support.wire_server import WireServer

# Checks whether the header cuts off a state with this text.
CUT = """(words) => { const at = document.querySelector('#overall');
  at.querySelector('span').textContent = words;
  return at.scrollWidth > at.clientWidth; }"""
LOST = r"^failed .*net::ERR_"


@pytest.fixture
def model() -> Iterator[WireServer]:
    with WireServer() as server:
        yield server


@pytest.fixture
def daemon(tmp_path: Path, model: WireServer) -> Iterator[Daemon]:
    """Run a daemon that rarely probes its model and keeps its port."""
    settings = settings_for(model, MODEL_PROBE_S="600", REPAIR_FIRST_S="0")
    with Daemon(tmp_path / "home", settings) as daemon:
        daemon.settings["FLASK_PORT"] = daemon.url.rsplit(":", 1)[1]
        daemon.wait_until_started()
        yield daemon


@pytest.fixture
def url(daemon: Daemon) -> str:
    return daemon.url


@pytest.fixture
def page(watched: tuple[Page, Watch]) -> Page:
    page, watch = watched
    watch.allow(LOST)
    return open_live(page, "/dashboard")


def says(daemon: Daemon) -> tuple[str, str, str]:
    """Return the state and its text from the API and the state from `/healthz`; check that the CLI shows the same."""
    status = daemon.get("/api/status")["overall"]
    terminal = json.loads(daemon.cli("--status", "--json").stdout)["overall"]
    assert (terminal["state"], terminal["text"]) == (status["state"], status["text"])
    assert re.search(rf"^state +{re.escape(status['text'])}$", daemon.cli("--status").stdout, re.MULTILINE)
    return status["state"], status["text"], daemon.get("/healthz")["state"]


def test_the_state_is_the_same_wherever_one_looks(page: Page, daemon: Daemon) -> None:
    assert says(daemon) == ("idle", "Idle", "idle")
    expect(page.locator("#overall")).to_have_text("Idle")
    expect(page).to_have_title("Dashboard · Nightshift")
    daemon.cli("--pause")
    expect(page.locator("#overall")).to_have_text("Paused by you")
    expect(page).to_have_title("⏸ Dashboard · Nightshift")
    expect(page.locator("#icon")).to_have_attribute("href", re.compile(r"held\.svg$"))
    assert says(daemon) == ("paused", "Paused by you", "paused")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#overall")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1440, "height": 900})
    assert not page.evaluate(CUT, "Paused by you · 1 running · 2 need you")
    daemon.cli("--resume")
    expect(page.locator("#pause")).to_have_text("Pause")
    page.set_viewport_size({"width": 390, "height": 844})
    assert not page.evaluate(CUT, "Working 1 · 2 need you")


def test_an_outage_says_who_waits_and_ends_at_a_test_of_the_connection(
    page: Page, daemon: Daemon, model: WireServer
) -> None:
    model.stop()
    task = daemon.submit(**job(31))
    until(lambda: daemon.get(f"/api/task/{task}")["status"] == "scheduled")
    banner = page.get_by_role("region", name="No model answers")
    expect(banner).to_contain_text("1 task waits for one (#1) and continues by itself.")
    expect(banner).to_contain_text(re.compile(r"since \d\d:\d\d, next check in (9|10) min"))
    expect(page.locator("#overall")).to_have_text("No model · 1 task waits")
    expect(page).to_have_title("! Dashboard · Nightshift")
    expect(page.locator("#icon")).to_have_attribute("href", re.compile(r"fault\.svg$"))
    assert says(daemon) == ("no_model", "No model · 1 task waits", "no_model")
    again = banner.get_by_role("button", name="Test connection")
    again.click()
    expect(page.get_by_text("Still no answer.")).to_be_visible()
    expect(again).to_be_enabled()  # otherwise this probe may reach the restarted model
    model.start()
    again.click()
    expect(page.get_by_text("answers; waiting tasks continue.")).to_be_visible()
    expect(banner).to_have_count(0)
    daemon.wait(task)


def test_while_the_daemon_is_away_nothing_can_be_changed_and_then_it_can_again(page: Page, daemon: Daemon) -> None:
    pause = page.get_by_role("button", name="Pause")
    checkpoint = page.get_by_role("button", name="Checkpoint now")
    expect(pause).to_be_enabled()
    daemon.kill()
    for button in (pause, checkpoint):
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", "The daemon does not answer, so this cannot be done now.")
    expect(page.locator("#overall")).to_have_text("Offline")
    expect(page).to_have_title("✕ Dashboard · Nightshift")
    assert re.search(r"^state +Offline", daemon.cli("--status").stdout, re.MULTILINE)
    daemon.start()
    expect(pause).to_be_enabled(timeout=60_000)
    expect(checkpoint).to_be_enabled()
    expect(page.locator("#overall")).to_have_text("Idle")


def test_a_home_without_a_model_invites_to_connect_one_on_the_first_page(browser: Browser, tmp_path: Path) -> None:
    settings = {"MODEL_TYPE": "openai", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "unused"}
    with Daemon(tmp_path, settings) as daemon, context_of(browser, daemon.url) as context:
        page = context.new_page()
        page.goto("/")
        invitation = page.get_by_role("region", name="Connect a model")
        expect(invitation.get_by_role("button", name="Test connection")).to_be_visible()
        page.goto("/dashboard")
        expect(page.locator("#overall")).to_have_text("Idle · no model")
        expect(invitation).to_have_count(0)
        expect(page.get_by_role("region", name="No model answers")).to_have_count(0)
