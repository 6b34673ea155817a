"""A model's reply on the pages while it is written, with a real daemon whose model stops in the middle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from nightshift.core.text.masking import MASK
from tests.support.answers import job
from tests.support.browser import draw, open_live
from tests.support.daemon import Daemon, settings_for, until
from tests.support.wire_dialects import Reply
from tests.support.wire_server import WireServer

PATIENCE_MS = 60_000
KEY = "sk-abcdefghijklmnopqrstuvwxyz0123"
PLAN = f"1. Read <img src=x onerror=alert(1)> first.\n2. Use {KEY} and\u202e nothing else.\n" + "3. Write it.\n" * 120
CODE = "def total(numbers):\n    return sum(x for x in numbers if x > 5)\n"


class Acts:
    """A model that plans, writes a file and says that it is done."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, phase: str, _messages: list[dict[str, str]]) -> str | Reply:
        """Return the reply to one request."""
        if phase == "PLANNING":
            return PLAN
        self.calls += 1
        if self.calls == 1:
            written = {"path": "job_5.py", "content": CODE * 20}
            return Reply(text="I write it.", finish="tool", tools=[("write_file", written)])
        return Reply(text="", finish="tool", tools=[("done", {"summary": "Sum what is above 5"})])


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(Acts()) as running:
        yield running


@pytest.fixture
def daemon(tmp_path: Path, server: WireServer) -> Iterator[Daemon]:
    more = {"EXPLORE": "on", "REPAIR_FIRST_S": "0", "ENABLE_REVIEW": "false", "ENABLE_AUDIT": "false"}
    with Daemon(tmp_path / "home", settings_for(server, ENABLE_CLARIFY="false", **more)) as running:
        yield running


@pytest.fixture
def url(daemon: Daemon) -> str:
    return daemon.url


def open_page(page: Page, path: str) -> Page:
    open_live(page, path)
    draw(page)
    return page


def reply(page: Page) -> Locator:
    return page.get_by_label("Reply as it is written")


def test_a_reply_is_seen_as_it_is_written_in_every_tab_and_stays_when_it_is_whole(
    page: Page, context: BrowserContext, daemon: Daemon, server: WireServer
) -> None:
    server.fail_next("hold", phase="PLANNING")
    number = daemon.submit(**job(5))
    open_page(page, f"/task/{number}")
    expect(reply(page)).to_contain_text("1. Read <img src=x onerror=alert(1)> first.", timeout=PATIENCE_MS)
    expect(reply(page)).to_contain_text(f"2. Use {MASK} and\\u{{202e}} nothing else.")
    expect(page.locator(".writing")).to_contain_text(re.compile(r"openai=tiny-coder writes: about \d+ tokens so far"))
    # This tab is opened in the middle of the reply, and another tab holds the stream.
    brief = open_page(context.new_page(), "/")
    expect(reply(brief)).to_contain_text("3. Write it.")
    assert reply(brief).inner_text() == reply(page).inner_text()
    assert reply(page).get_attribute("aria-live") == "off"
    at_end = "(pre) => pre.scrollHeight - pre.scrollTop - pre.clientHeight < 5 && pre.scrollHeight > pre.clientHeight"
    assert reply(page).evaluate(at_end), "its end is in sight"
    server.let_go()
    until(lambda: daemon.get(f"/api/task/{number}")["status"] == "done", 120)
    expect(page.locator(".writing")).to_have_count(0)
    expect(page.locator("#s1-0")).to_contain_text("planning")
