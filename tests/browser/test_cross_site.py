"""Pages of other sites can do nothing to the daemon while the owner has its page open in the same browser.

Each attack is also tried on a server without a guard, to show that the attack works there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.attacker import ELSEWHERE, NAMES, TRIES, Site
from tests.support.browser import context_of, hear
from tests.support.daemon import until
from tests.support.seeded_home import SeededDaemon


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture
def elsewhere(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    with context_of(browser, site.url) as browser_context:
        yield browser_context


def state(seeded: SeededDaemon) -> tuple[int, int, str, int]:
    """Return the daemon's state that a successful attack would have changed."""
    status = seeded.daemon.get("/api/status")
    newest = seeded.daemon.get("/api/tasks?limit=1")["tasks"][0]["task_id"]
    return sum(status["queue"].values()), newest, status["state"], status["approvals"]


def open_page(context: BrowserContext, site: Site, host: str, target: str) -> Page:
    site.page = TRIES.replace("TARGET", target)
    page = context.new_page()
    page.goto(f"http://{host}:{site.port}/page")
    return page


@pytest.mark.parametrize("host", ["localhost", ELSEWHERE])
def test_no_request_of_another_page_is_served(
    elsewhere: BrowserContext, site: Site, seeded: SeededDaemon, host: str
) -> None:
    before = state(seeded)
    page = open_page(elsewhere, site, host, seeded.url)
    answers: dict[str, int] = {}
    page.on("response", lambda got: answers.update({f"{got.request.method} {got.url}": got.status}))
    for name in NAMES:
        assert page.evaluate("(name) => attack(name)", name) == "tried"
    hear(page, lambda: f"POST {seeded.url}/api/task" in answers)
    assert {status for address, status in answers.items() if seeded.url in address} == {403}, answers
    assert page.evaluate("() => window.stolen") is None
    assert state(seeded) == before


def test_the_same_tries_reach_a_server_without_a_guard(elsewhere: BrowserContext, site: Site) -> None:
    with Site() as naive:
        page = open_page(elsewhere, site, ELSEWHERE, naive.url)
        for name in NAMES:
            naive.reached.clear()
            assert page.evaluate("(name) => attack(name)", name) == "tried"
            until(lambda: bool(naive.reached), within_s=60)
        page.wait_for_function("() => window.stolen != null")


def test_a_name_that_is_rebound_to_this_machine_reads_and_writes_nothing(
    elsewhere: BrowserContext, seeded: SeededDaemon
) -> None:
    before, port = state(seeded), seeded.url.rsplit(":", 1)[1]
    page = elsewhere.new_page()
    answer = page.goto(f"http://{ELSEWHERE}:{port}/")
    assert answer
    assert (answer.status, "this Host is not served here" in page.content()) == (403, True)
    read = "async () => { const got = await fetch('/api/tasks'); return [got.status, await got.text()]; }"
    status, text = page.evaluate(read)
    assert (status, "task_id" in text) == (403, False)
    write = """async () => (await fetch('/api/task', {method: 'POST', body: '{"description": "x"}',
        headers: {'Content-Type': 'application/json'}})).status"""
    assert page.evaluate(write) == 403
    assert state(seeded) == before


def test_no_page_can_be_framed(elsewhere: BrowserContext, site: Site, seeded: SeededDaemon) -> None:
    site.page = f"<!doctype html><iframe src='{seeded.url}/'></iframe><iframe src='{site.url}/other'></iframe>"
    page = elsewhere.new_page()
    page.goto(f"http://{ELSEWHERE}:{site.port}/page")
    ours, other = page.frames[1], page.frames[2]
    assert "framed" in other.content()
    assert "Nightshift" not in ours.content()
