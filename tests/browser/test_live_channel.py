"""Tabs of one browser share one stream of log lines.

No tab loses a line or sees a line twice, whichever tab leads and whichever one is closed.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from nightshift.server.context import AppContext
from nightshift.server.serving.listen import Listen
from tests.support.app_context import Client, fill, make_desk, serving
from tests.support.browser import PATIENCE_MS, context_of, open_live
from tests.support.worked_task import submit

# Imports by the address of the page's preloaded module, because another address would load a second copy of it.
COLLECT = """async () => {
  const live = await import(document.querySelector('link[href$="app/live.js"]').href);
  window.ids = [];
  window.resyncs = 0;
  window.live = live;
  live.onLine((line) => window.ids.push(line.id));
  live.onResync(() => { window.resyncs += 1; });
}"""


@pytest.fixture
def url(served: Client) -> str:
    return served.url


def open_page(context: BrowserContext) -> Page:
    """Open a tab that collects the ids of all log lines that it receives."""
    page = context.new_page()
    open_live(page, "/")
    page.evaluate(COLLECT)
    return page


def lines(app_context: AppContext, count: int) -> list[int]:
    """Store this many events and return their ids."""
    before = app_context.events.newest_id()
    fill(app_context, count)
    return list(range(before + 1, before + count + 1))


def until_seen(page: Page, last: int) -> list[int]:
    page.wait_for_function("last => window.ids.includes(last)", arg=last, timeout=PATIENCE_MS)
    ids: list[int] = page.evaluate("window.ids")
    return ids


def streams(context: BrowserContext) -> list[str]:
    """Return a list that gets the address of each stream that is opened from now on."""
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url) if "/api/logs/stream" in request.url else None)
    return asked


def test_when_the_tab_that_listens_goes_the_next_goes_on_where_it_was(
    context: BrowserContext, app_context: AppContext
) -> None:
    asked = streams(context)
    first, second, third = (open_page(context) for _ in range(3))
    ids = lines(app_context, 10)
    for page in (second, third):
        until_seen(page, ids[-1])
    first.close()
    ids += lines(app_context, 10)
    for page in (second, third):
        assert until_seen(page, ids[-1]) == ids
    assert len(asked) == 2
    assert asked[1].endswith(f"&after={ids[9]}"), "it resumes behind the last line that it saw"


@pytest.mark.parametrize(("others", "meanwhile"), [(0, 0), (1, 0), (1, 1100)])
def test_what_happened_while_a_page_was_drawn_is_seen(
    context: BrowserContext, app_context: AppContext, others: int, meanwhile: int
) -> None:
    """The page is drawn in three situations.

    It is alone, it is beside a tab that still remembers the event, or it is beside a tab that has forgotten the event
    after 1,000 later lines.
    """
    leaders = [open_page(context) for _ in range(others)]
    page = context.new_page()

    def hold(route: Route) -> None:
        submit(app_context, "Write it while the scripts are loading")
        last = lines(app_context, meanwhile)[-1:]
        for leader in leaders:
            leader.wait_for_function("last => !last || window.ids.includes(last)", arg=[*last, None][0])
        route.continue_()

    page.route("**/app/live.js", hold)
    page.goto("/tasks")
    expect(page.get_by_role("link", name="Write it while the scripts are loading")).to_be_visible()
    expect(page.get_by_role("list", name="Status").get_by_role("button", name="queued 1")).to_be_visible()


def test_a_line_that_is_told_twice_is_seen_once(context: BrowserContext, app_context: AppContext) -> None:
    page, other = open_page(context), open_page(context)
    ids = lines(app_context, 3)
    until_seen(other, ids[-1])
    page.evaluate(
        """ids => { const channel = new BroadcastChannel('nightshift-live');
          ids.forEach((id) => channel.postMessage({kind: 'line', line: {id, event: 'remark'}})); }""",
        ids,
    )
    ids += lines(app_context, 1)
    assert until_seen(other, ids[-1]) == ids


def test_after_a_restart_no_line_is_missing_or_double_and_the_page_says_it(
    browser: Browser, tmp_path: Path, app_context: AppContext
) -> None:
    with serving(app_context) as first:
        url = first.url
    port = urlsplit(url).port or 0
    with context_of(browser, url) as context:
        with serving(app_context, Listen(port=port)):
            page, other = open_page(context), open_page(context)
            ids = lines(app_context, 7)
            for each in (page, other):
                until_seen(each, ids[-1])
        for each in (page, other):
            expect(each.get_by_text("The daemon does not answer.")).to_be_visible()
            expect(each).to_have_title("✕ Brief · Nightshift")
        ids += lines(app_context, 12)
        with serving(app_context, Listen(port=port)):
            for each in (page, other):
                assert until_seen(each, ids[-1]) == ids
                expect(each.get_by_text("12 lines caught up")).to_be_visible()
                expect(each.get_by_text("The daemon does not answer.")).to_be_hidden()
            ids += lines(app_context, 1)
            assert until_seen(page, ids[-1]) == ids


def test_a_database_that_was_restored_makes_all_tabs_read_anew(browser: Browser, tmp_path: Path) -> None:
    newer, older = make_desk(tmp_path / "newer"), make_desk(tmp_path / "older")
    fill(newer, 30)
    fill(older, 4)
    with serving(newer) as first:
        url = first.url
        with context_of(browser, url) as context:
            page, other = open_page(context), open_page(context)
            first.host.stop()
            with serving(older, Listen(port=urlsplit(url).port or 0)):
                for each in (page, other):
                    each.wait_for_function("() => window.resyncs === 1", timeout=PATIENCE_MS)
                fill(older, 1)
                assert until_seen(other, 5) == [5]
    newer.database.close()
    older.database.close()
