"""The tool calls of a step on its task's page: one line each, opened on demand, live while the step runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from nightshift.server.context import AppContext
from tests.support.app_context import serving
from tests.support.browser import LIVE, Watch, context_of, draw
from tests.support.explored_task import ACTS, explore, explore_it


def open_page(page: Page, number: int) -> Page:
    page.goto(f"/task/{number}#1-1-1")
    page.wait_for_selector(LIVE, state="attached")
    draw(page)
    return page


@pytest.fixture
def page(browser: Browser, app_context: AppContext) -> Iterator[Page]:
    with serving(app_context) as client:
        url = f"http://127.0.0.1:{client.host.port}"
        with context_of(browser, url) as context:
            page = context.new_page()
            watch = Watch(page, url)
            yield page
            watch.check()


def tool(page: Page, number: int) -> Locator:
    """Return the row of a tool call by its number in the list, counted from 1."""
    return page.locator(".tool").nth(number - 1)


def test_each_call_is_a_line_and_opens_with_what_came_of_it(page: Page, app_context: AppContext) -> None:
    open_page(page, explore_it(app_context))
    expect(page.locator("#s1-1 .head .flags")).to_contain_text("25 tool calls")
    expect(page.get_by_role("tab", name="Tool calls (25)")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".tool")).to_have_count(25)
    expect(tool(page, 5).locator("summary")).to_have_text(
        re.compile(r"5\s*✓\s*read_file sqlparse/keywords\.py 201-400.*3,390 tok\s*3 ms", re.DOTALL)
    )
    expect(tool(page, 6)).to_contain_text("There is no file sqlparse/lexers.py. Nearest: sqlparse/lexer.py")
    expect(tool(page, 9)).to_contain_text("Before I change anything I want to see it fail.")
    failed = tool(page, 9)
    expect(failed.locator("pre")).to_have_count(0)
    failed.locator("summary").click()
    expect(failed.get_by_label("Result", exact=True)).to_contain_text("AssertionError: assert '1a' == '$1a'")
    expect(failed.locator(".hint")).to_have_text(re.compile("timeout\\s+60"))
    edit = tool(page, 11)
    edit.locator("summary").click()
    expect(edit.locator("tr.gone")).to_have_count(2)
    expect(edit.locator("tr.added").first).to_contain_text("[$A-ZÀ-Ü][$\\w]*")


def test_calls_appear_while_the_step_runs(page: Page, app_context: AppContext) -> None:
    number = explore_it(app_context, acts=ACTS[:3], finished=False)
    open_page(page, number)
    expect(page.locator(".tool")).to_have_count(3)
    tool(page, 2).locator("summary").click()
    explore(app_context, app_context.queue.get(number), 1, ACTS[:6])
    expect(page.locator(".tool")).to_have_count(6)
    expect(tool(page, 2).get_by_label("Result", exact=True)).to_contain_text("2 matches in 2 files")
    expect(page.locator("#s1-1 .head .flags")).to_contain_text("6 tool calls")
