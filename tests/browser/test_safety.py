"""Texts of models and tasks that look like markup are shown as text on every page, also when they arrive live."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import LIVE, Watch, addresses, draw, open_live, unfold
from tests.support.daemon import Daemon
from tests.support.markup_home import ELEMENT, EVIL, SEEN, markup_home

ELSEWHERE = "a[href^='javascript:'], [href*='elsewhere.test'], [src*='elsewhere.test'], [srcdoc], [onerror], [onfocus]"
SILENT = {"/login", "/settings", "/reports"}
"""Pages that need not show a hostile text. Every other page must show one, which proves that the page received hostile
texts.
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with markup_home(tmp_path_factory.mktemp("markup")) as running:
        yield running


@pytest.fixture
def url(daemon: Daemon) -> str:
    return daemon.url


def inert(page: Page) -> None:
    expect(page.locator(f"#{ELEMENT}")).to_have_count(0)
    expect(page.locator(ELSEWHERE)).to_have_count(0)
    assert not page.evaluate("() => [...document.querySelectorAll('*')].some((e) => e.getAttribute('onclick'))")
    assert page.evaluate("() => document.baseURI") == page.url


def test_hostile_texts_are_texts_on_every_page(watched: tuple[Page, Watch], daemon: Daemon) -> None:
    page, watch = watched
    watch.allow("404 GET .*/api/task/3/diff")  # the task waits before its first step, so it has no changes
    for address in addresses(daemon.home, 1, 2, 3):
        page.goto(address)
        if address != "/login":
            page.wait_for_selector(LIVE, state="attached")
        draw(page)
        unfold(page)
        draw(page)
        if address not in SILENT:
            expect(page.locator("body")).to_contain_text(ELEMENT if address == "/repositories" else SEEN)
        inert(page)
        watch.check()


@pytest.mark.parametrize("address", ["/", "/logs"])
def test_hostile_texts_that_come_live_are_texts(watched: tuple[Page, Watch], daemon: Daemon, address: str) -> None:
    page, _ = watched
    open_live(page, address)
    daemon.ask("POST", "/api/resume")
    (task,) = daemon.wait(daemon.submit(description=f"live {EVIL}"), within_s=120)
    assert task["status"] == "failed"
    expect(page.locator(f"a[href='/task/{task['task_id']}']").first).to_be_visible()
    expect(page.locator("body")).to_contain_text(SEEN)
    inert(page)
