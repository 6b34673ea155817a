"""A daemon that requires a token: nothing is shown without the token, and the session is safe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.support.browser import LIVE, addresses, open_live
from tests.support.seeded_home import SeededDaemon, share, start

TOKEN = "a-long-token-for-the-owner-alone"
WRONG = "Wrong token."


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededDaemon]:
    """Run a daemon that listens on all addresses."""
    snapshot = share(tmp_path_factory).copied(tmp_path_factory.mktemp("reachable") / "snapshot")
    with start(snapshot, FLASK_HOST="0.0.0.0", API_TOKEN=TOKEN) as (daemon, server):
        yield SeededDaemon(snapshot=snapshot, daemon=daemon, server=server)


def enter(page: Page, token: str) -> Page:
    page.goto("/login")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    return page


def test_the_wrong_token_is_refused_and_the_right_one_opens_a_session(
    context: BrowserContext, seeded: SeededDaemon
) -> None:
    page = context.new_page()
    expect(enter(page, "a-guess").get_by_text(WRONG)).to_be_visible()
    assert context.cookies() == []
    enter(page, TOKEN).wait_for_selector(LIVE, state="attached")
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert TOKEN not in str(cookie)
    assert page.evaluate("() => document.cookie") == ""
    for address in addresses(seeded.snapshot.home, seeded.task("second_try"))[1:]:
        open_live(page, address)
        assert page.url == f"{seeded.url}{address}"


def test_the_link_that_carries_the_token_logs_in_and_does_not_keep_it(
    context: BrowserContext, seeded: SeededDaemon
) -> None:
    page = context.new_page()
    open_live(page, f"/login#{TOKEN}")
    assert page.url == f"{seeded.url}/"
    page.go_back()
    assert TOKEN not in page.url


def test_who_logs_out_sees_nothing_any_more(context: BrowserContext, seeded: SeededDaemon) -> None:
    page = context.new_page()
    enter(page, TOKEN).wait_for_selector(LIVE, state="attached")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{seeded.url}/login")
    page.goto("/")
    assert page.url == f"{seeded.url}/login"
    assert context.cookies() == []
