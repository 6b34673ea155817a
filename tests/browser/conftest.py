"""Fixtures of the page tests: Chromium, a daemon in a home with finished work, and a page under watch.

    def test_a_button_does_something(visit: Visit, seeded: SeededDaemon) -> None:
        page = visit(f"/task/{seeded.task('failed')}")     # opened, and its data are live
        page.get_by_role("button", name="Retry").click()
        expect(page.get_by_text("queued")).to_be_visible()

A test fails on whatever `Watch` complains of; `watch.allow("409 POST .*/retry")` expects it. The daemon is one for a
module and really works: what a test changes there its neighbours see. To try a page again and again, set
NIGHTSHIFT_TESTS_SEED to a folder, in which the home is kept instead of made anew.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from nightshift.server.context import AppContext
from tests.support.app_context import make_desk
from tests.support.attacker import RULES
from tests.support.browser import LIVE, Visit, Watch, chromium, context_of
from tests.support.daemon import Daemon, settings_for
from tests.support.seeded_home import SeededDaemon, share, start
from tests.support.wire_server import WireServer


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededDaemon]:
    """A daemon in a copy of the seeded home, this module's own; its workers are idle."""
    snapshot = share(tmp_path_factory).copied(tmp_path_factory.mktemp("seeded") / "snapshot")
    with start(snapshot) as (daemon, server):
        daemon.wait_until_started()
        yield SeededDaemon(snapshot=snapshot, daemon=daemon, server=server)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon in a home in which nothing happened yet."""
    with WireServer() as server, Daemon(tmp_path_factory.mktemp("new") / "home", settings_for(server)) as daemon:
        yield daemon


@pytest.fixture
def app_context(tmp_path: Path) -> Iterator[AppContext]:
    """The daemon's services on a new database, for pages that need no daemon behind them."""
    desk = make_desk(tmp_path)
    yield desk
    desk.database.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium(RULES) as running:
        yield running


@pytest.fixture
def context(browser: Browser, seeded: SeededDaemon) -> Iterator[BrowserContext]:
    """A fresh profile, 1440 wide and light; `page.set_viewport_size` and `page.emulate_media` change that."""
    with context_of(browser, seeded.url) as browser_context:
        yield browser_context


@pytest.fixture
def watched(
    context: BrowserContext, seeded: SeededDaemon, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Page, Watch]]:
    page = context.new_page()
    watch = Watch(page, seeded.url)
    yield page, watch
    failed = request.node.stash.get(FAILED, False)
    if (failed or watch.complaints) and not page.is_closed():
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        request.node.add_report_section("teardown", "screenshot", str(tmp_path / "page.png"))
    if not failed:
        watch.check()


@pytest.fixture
def page(watched: tuple[Page, Watch]) -> Page:
    """A page that is not opened yet; addresses without a host mean the daemon's."""
    return watched[0]


@pytest.fixture
def watch(watched: tuple[Page, Watch]) -> Watch:
    """Collect the errors on `page`."""
    return watched[1]


@pytest.fixture
def visit(page: Page) -> Visit:
    """Opens an address in `page` and waits until its data are live."""

    def opened(path: str) -> Page:
        page.goto(path)
        page.wait_for_selector(LIVE, state="attached")
        return page

    return opened


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    # A failure's source is compiled for its report: a greenlet of Playwright that is collected in the midst of that
    # makes the compiler fail, and the whole run with it.
    gc.disable()
    try:
        report: pytest.TestReport = yield  # type: ignore[assignment]  # what the inner hook made
    finally:
        gc.enable()
    if report.failed:
        item.stash[FAILED] = True
    return report  # type: ignore[return-value]
