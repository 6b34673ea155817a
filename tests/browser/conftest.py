"""Fixtures of the page tests: Chromium, a daemon in a home with finished work, and a page whose errors are collected.

    def test_a_button_does_something(visit: Visit, seeded: SeededDaemon) -> None:
        page = visit(f"/task/{seeded.task('failed')}")     # opened, and its data are live
        page.get_by_role("button", name="Retry").click()
        expect(page.get_by_text("queued")).to_be_visible()

A test fails on every error that `Watch` reports, unless `watch.allow("409 POST .*/retry")` allows the error. All tests
of a module share one daemon, which really works, so a test sees the changes that earlier tests made. To speed up
repeated runs of a page's tests, set NIGHTSHIFT_TESTS_SEED to a folder: the home is then kept there instead of being
built for each run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from nightshift.server.context import AppContext
from tests.support.app_context import Client, make_desk, serving
from tests.support.attacker import RULES
from tests.support.browser import Visit, Watch, chromium, context_of, open_live
from tests.support.daemon import Daemon, settings_for
from tests.support.seeded_home import SeededDaemon, share, start
from tests.support.wire_server import WireServer


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededDaemon]:
    """Run a daemon in this module's own copy of the seeded home; its workers are idle."""
    snapshot = share(tmp_path_factory).copied(tmp_path_factory.mktemp("seeded") / "snapshot")
    with start(snapshot) as (daemon, server):
        daemon.wait_until_started()
        yield SeededDaemon(snapshot=snapshot, daemon=daemon, server=server)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Run a daemon in a new home."""
    with WireServer() as server, Daemon(tmp_path_factory.mktemp("new") / "home", settings_for(server)) as daemon:
        yield daemon


@pytest.fixture
def app_context(tmp_path: Path) -> Iterator[AppContext]:
    """Return the daemon's services on a new database, for pages that need no daemon."""
    desk = make_desk(tmp_path)
    yield desk
    desk.database.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium(RULES) as running:
        yield running


@pytest.fixture
def served(app_context: AppContext) -> Iterator[Client]:
    with serving(app_context) as client:
        yield client


@pytest.fixture
def url(seeded: SeededDaemon) -> str:
    """Return the address of the server whose pages are tested. Modules with a server of their own override this."""
    return seeded.url


@pytest.fixture
def context(browser: Browser, url: str) -> Iterator[BrowserContext]:
    """Open a fresh profile with the light colour scheme and a window 1440 pixels wide.

    `page.emulate_media` and `page.set_viewport_size` change these.
    """
    with context_of(browser, url) as browser_context:
        yield browser_context


@pytest.fixture
def watched(
    context: BrowserContext, url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Page, Watch]]:
    page = context.new_page()
    watch = Watch(page, url)
    yield page, watch
    failed = request.node.stash.get(FAILED, False)
    if (failed or watch.complaints) and not page.is_closed():
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        request.node.add_report_section("teardown", "screenshot", str(tmp_path / "page.png"))
    if not failed:
        watch.check()


@pytest.fixture
def page(watched: tuple[Page, Watch]) -> Page:
    """Return a new page that has not opened any address; addresses without a host refer to `url`."""
    return watched[0]


@pytest.fixture
def watch(watched: tuple[Page, Watch]) -> Watch:
    """Return the watch that collects the errors of `page`."""
    return watched[1]


@pytest.fixture
def visit(page: Page) -> Visit:
    """Return a function that opens an address in `page` and waits until its data are live."""
    return partial(open_live, page)


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    # Pytest compiles a failed test's source for its report. If one of Playwright's greenlets is collected meanwhile,
    # the compiler fails, and with it the whole run.
    gc.disable()
    try:
        report: pytest.TestReport = yield  # type: ignore[assignment]  # what the inner hook made
    finally:
        gc.enable()
    if report.failed:
        item.stash[FAILED] = True
    return report  # type: ignore[return-value]
