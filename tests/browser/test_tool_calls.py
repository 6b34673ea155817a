"""The tool calls of a step on its task's page: one line each, opened on demand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.browser import draw, open_live
from tests.support.explored_task import explore_it


@pytest.fixture
def url(served: Client) -> str:
    return served.url


def tool(page: Page, number: int) -> Locator:
    """Return the row of a tool call by its number in the list, counted from 1."""
    return page.locator(".tool").nth(number - 1)


def test_each_call_is_a_line_and_opens_with_what_came_of_it(page: Page, app_context: AppContext) -> None:
    open_live(page, f"/task/{explore_it(app_context)}#1-1-1")
    draw(page)
    expect(page.locator("#s1-1 .head .flags")).to_contain_text("9 tool calls")
    expect(page.get_by_role("tab", name="Tool calls (9)")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".tool")).to_have_count(9)
    expect(tool(page, 4).locator("summary")).to_have_text(
        re.compile(r"4\s*✓\s*read_file sqlparse/keywords\.py 201-400.*3,080 tok\s*3 ms", re.DOTALL)
    )
    expect(tool(page, 5)).to_contain_text("There is no file sqlparse/lexers.py. Nearest: sqlparse/lexer.py")
    failed = tool(page, 6)
    expect(failed).to_contain_text("Before I change anything I want to see it fail.")
    expect(failed.locator("pre")).to_have_count(0)
    failed.locator("summary").click()
    expect(failed.get_by_label("Result", exact=True)).to_contain_text("AssertionError: assert '1a' == '$1a'")
    expect(failed.locator(".hint")).to_have_text(re.compile("timeout\\s+60"))
    edit = tool(page, 7)
    edit.locator("summary").click()
    expect(edit.locator("tr.gone")).to_have_count(2)
    expect(edit.locator("tr.added").first).to_contain_text("[$A-ZÀ-Ü][$\\w]*")
