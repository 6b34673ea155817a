"""The log's page in a real browser: new lines, filters, the search, older pages, links to lines, and reconnecting."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from nightshift.core.events import Event, Kind, Level
from nightshift.server.context import AppContext
from tests.support.app_context import Client, make_desk, serving
from tests.support.browser import LIVE, Watch, context_of, hear, open_live
from tests.support.seeded_home import SeededDaemon

START = datetime(2026, 11, 20, 8, tzinfo=UTC)
IDS = "() => [...document.querySelectorAll('#lines .line')].map((each) => Number(each.id.slice(1)))"
IN_SIGHT = """id => {
  const row = document.getElementById(`L${id}`)?.getBoundingClientRect();
  const box = document.getElementById('lines').getBoundingClientRect();
  return Boolean(row) && row.top >= box.top - 1 && row.bottom <= box.bottom + 1;
}"""

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start a server whose log has three thousand lines, one for each minute, and does not grow."""
    app_context = make_desk(tmp_path_factory.mktemp("long"))
    put(app_context, *(line(number) for number in range(1, 3001)))
    with serving(app_context) as client:
        yield client
    app_context.database.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Return a function that opens a server's log. An error on the page fails the test."""
    with ExitStack() as stack:
        watches: list[Watch] = []

        def open_page(client: Client, path: str = "/logs") -> Page:
            context = stack.enter_context(context_of(browser, client.url))
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            page = context.new_page()
            watches.append(Watch(page, client.url))
            open_live(page, path)
            page.wait_for_selector("#lines:not([aria-busy])", state="attached")
            return page

        yield open_page
        for watch in watches:
            watch.check()


def line(number: int, text: str = "") -> Event:
    bad = Level.ERROR if number % 100 == 0 else Level.INFO
    return Event(
        kind=Kind.MODEL_CALLED if number % 2 else Kind.STUCK, level=bad, message=text or f"number {number}.",
        task_id=number % 7 + 1, worker=f"worker-{number % 2 + 1}", at=START + timedelta(minutes=number),
    )  # fmt: skip


def put(app_context: AppContext, *events: Event) -> list[int]:
    def job(conn: Any) -> list[int]:
        return [app_context.events.append(conn, event) for event in events]

    return app_context.database.write(job).result()


def ids(page: Page) -> list[int]:
    shown_ids: list[int] = page.evaluate(IDS)
    return shown_ids


def until_ids(page: Page, wanted: list[int]) -> None:
    """Wait until the page shows exactly these lines, each once and in order."""
    page.wait_for_function(f"wanted => JSON.stringify(({IDS})()) === JSON.stringify(wanted)", arg=wanted)


def until_last(page: Page, wanted: int) -> None:
    page.wait_for_function(f"wanted => ({IDS})().at(-1) === wanted", arg=wanted)


def until_in_sight(page: Page, number: int) -> None:
    page.wait_for_function(IN_SIGHT, arg=number)


def scroll(page: Page, top: str) -> None:
    page.evaluate(f"() => {{ const box = document.getElementById('lines'); box.scrollTop = {top}; }}")


def test_lines_come_as_they_happen_and_the_end_stays_in_sight(app_context: AppContext, opened: Open) -> None:
    with serving(app_context) as client:
        put(app_context, *(line(number) for number in range(1, 101)))
        page = opened(client)
        until_ids(page, list(range(1, 101)))
        until_in_sight(page, 100)
        for number in range(101, 161):
            put(app_context, line(number))
        until_ids(page, list(range(1, 161)))
        until_in_sight(page, 160)


def test_lines_that_come_while_a_page_is_on_its_way_are_not_left_out(app_context: AppContext, opened: Open) -> None:
    put(app_context, *(line(number) for number in range(1, 11)))
    with serving(app_context) as client:
        page = opened(client)
        until_ids(page, list(range(1, 11)))
        answered: list[bool] = []

        def held(route: Route) -> None:
            answer = route.fetch()
            put(app_context, *(line(number) for number in range(11, 16)))
            page.wait_for_timeout(300)  # the stream delivers the lines first
            route.fulfill(response=answer)
            answered.append(True)

        page.route("**/api/logs?level=INFO&limit=250", held)
        page.get_by_label("Level").select_option("INFO")
        hear(page, lambda: bool(answered))
        for number in range(16, 46):
            put(app_context, line(number))
        until_ids(page, list(range(1, 46)))


@pytest.mark.parametrize(
    ("query", "passing"),
    [
        ("task=3&worker=worker-1", lambda n: n % 7 == 2 and n % 2 == 0),
        ("kind=stuck&level=WARNING", lambda n: n % 100 == 0),
        (r"q=number+\d{2}00\.&regex=1", lambda n: n >= 1000 and n % 100 == 0),
        ("q=number&inverse=1", lambda n: False),
    ],
)
def test_a_filter_is_a_link_and_holds_for_what_comes(
    app_context: AppContext, opened: Open, long: Client, query: str, passing: Callable[[int], bool]
) -> None:
    with serving(app_context) as client:
        for start in range(1, 3001, 500):
            put(app_context, *(line(number) for number in range(start, start + 500)))
        page = opened(client, f"/logs?{query}")
        expected = [number for number in range(1, 3001) if passing(number)]
        tail = expected[-200:]
        page.wait_for_function(
            f"tail => JSON.stringify(({IDS})().slice(-tail.length || 9e9)) === JSON.stringify(tail)", arg=tail
        )
        put(app_context, *(line(number) for number in (2901, 3100, 29)))
        coming = [3000 + at for at, number in enumerate((2901, 3100, 29), 1) if passing(number)]
        if coming:
            until_last(page, coming[-1])
        shown_ids = ids(page)
        assert shown_ids == [*expected, *coming][-len(shown_ids) :] if shown_ids else not coming


def test_scrolling_up_loads_all_that_is_older_and_moves_nothing(long: Client, opened: Open) -> None:
    page = opened(long)
    until_last(page, 3000)
    seen = 3000
    while (first := ids(page)[0]) > 1:
        assert first < seen or first == 2751
        seen = first
        page.mouse.move(600, 500)
        page.mouse.wheel(0, -30_000)
        page.wait_for_function(f"first => ({IDS})()[0] < first || ({IDS})()[0] === 1", arg=first)
    until_ids(page, list(range(1, 3001)))


def test_a_link_to_a_line_opens_it_with_its_surroundings(long: Client, opened: Open) -> None:
    page = opened(long, "/logs#L1234")
    until_in_sight(page, 1234)
    shown_ids = ids(page)
    assert shown_ids == list(range(shown_ids[0], shown_ids[-1] + 1))
    assert shown_ids[0] <= 1234 - 200
    assert shown_ids[-1] >= 1234 + 200
    expect(page.locator("#L1234")).to_have_attribute("aria-current", "true")
    page.get_by_role("button", name="To the end").click()
    until_last(page, 3000)
    until_in_sight(page, 3000)


def test_a_row_opens_with_its_data_and_its_link(app_context: AppContext, opened: Open) -> None:
    put(
        app_context,
        Event(kind=Kind.STUCK, message="<b>\x1b[31mred\x1b[0m</b>", task_id=3, data={"deep": {"a": "<i>"}}),
        line(2),
    )
    with serving(app_context) as client:
        page = opened(client, "/logs?kind=stuck")
        page.locator("#L1 .text").click()
        expect(page.locator("#L1 .detail pre")).to_contain_text('"a": "<i>"')
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_text("Copied:")).to_be_visible()
        assert page.evaluate("() => navigator.clipboard.readText()") == f"{client.url}/logs#L1"
        page.get_by_role("button", name="In context").click()
        until_ids(page, [1, 2])
        expect(page).to_have_url(f"{client.url}/logs")
        page.locator("#L1 .at").click()
        expect(page).to_have_url(f"{client.url}/logs#L1")


def test_a_pause_holds_lines_back_and_counts_them(app_context: AppContext, opened: Open) -> None:
    put(app_context, line(1))
    with serving(app_context) as client:
        page = opened(client)
        until_ids(page, [1])
        page.keyboard.press("Space")
        put(app_context, *(line(number) for number in range(2, 9)))
        expect(page.get_by_role("button", name="7 new lines")).to_be_visible()
        assert ids(page) == [1]
        page.keyboard.press("Space")
        until_ids(page, list(range(1, 9)))
        put(app_context, line(9))
        until_ids(page, list(range(1, 10)))


def test_who_reads_above_is_told_of_new_lines_and_not_moved(app_context: AppContext, opened: Open) -> None:
    put(app_context, *(line(number) for number in range(1, 201)))
    with serving(app_context) as client:
        page = opened(client)
        until_in_sight(page, 200)
        page.keyboard.press("f")
        expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
        page.mouse.move(600, 500)
        page.mouse.wheel(0, -1500)
        page.wait_for_function("() => document.getElementById('lines').scrollTop < 2500")
        put(app_context, *(line(number) for number in range(201, 206)))
        button = page.get_by_role("button", name="5 new lines")
        expect(button).to_be_visible()
        assert not page.evaluate(IN_SIGHT, 205)
        button.click()
        until_in_sight(page, 205)


def test_finding_marks_without_filtering_and_goes_beyond_what_is_loaded(long: Client, opened: Open) -> None:
    page = opened(long)
    until_last(page, 3000)
    page.keyboard.press("/")
    page.keyboard.type("number 28")
    expect(page.get_by_text("100 in 250 loaded lines")).to_be_visible()
    assert len(ids(page)) == 250, "nothing is filtered"
    page.keyboard.press("Enter")
    expect(page.locator("#L2899")).to_have_attribute("aria-current", "true")
    page.wait_for_function("() => CSS.highlights.get('found')?.size > 0")
    page.keyboard.press("Escape")
    page.keyboard.press("N")
    expect(page.locator("#L2898")).to_have_attribute("aria-current", "true")
    page.keyboard.press("n")
    expect(page.locator("#L2899")).to_have_attribute("aria-current", "true")
    page.get_by_role("textbox", name="Find").fill("number 77.")
    page.keyboard.press("Enter")
    until_in_sight(page, 77)
    expect(page.locator("#L77")).to_have_attribute("aria-current", "true")
    page.get_by_role("textbox", name="Find").fill("no such text")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No further line above")).to_be_visible()


def test_more_lines_than_are_kept_leave_at_the_other_end(long: Client, opened: Open) -> None:
    page = opened(long)
    until_last(page, 3000)
    page.evaluate("""async () => {
      const {model} = await import(document.querySelector('script[src$="pages/logs.js"]').src);
      model.view.most = 6;
    }""")
    page.keyboard.press("g")
    page.keyboard.press("g")
    until_in_sight(page, 1)
    while (last := ids(page)[-1]) < 3000:
        scroll(page, "box.scrollHeight")
        page.wait_for_function(f"last => ({IDS})().at(-1) > last", arg=last)
        shown_ids = ids(page)
        assert shown_ids == list(range(shown_ids[0], shown_ids[-1] + 1))
        assert len(shown_ids) <= 6 * 250
    assert ids(page)[0] > 1


def test_a_connection_that_died_without_a_word_is_noticed(page: Page, watch: Watch, seeded: SeededDaemon) -> None:
    """A stopped daemon (SIGSTOP) answers nothing and closes nothing, as after a laptop's sleep."""
    watch.allow("failed GET .*")
    process = seeded.daemon.process
    assert process
    page.clock.install()
    open_live(page, "/logs")
    process.send_signal(signal.SIGSTOP)
    try:
        page.clock.fast_forward("01:00")
        expect(page.get_by_text("The daemon does not answer.")).to_be_visible()
    finally:
        process.send_signal(signal.SIGCONT)
    page.wait_for_selector(LIVE, state="attached")
    expect(page.get_by_text("The daemon does not answer.")).to_be_hidden()
