"""The dashboard of a running daemon: its content, its updates without a reload, and its actions."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.support.browser import Visit
from tests.support.seeded_home import SeededDaemon


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def count_of(page: Page, status: str) -> Locator:
    return page.locator(f"[data-status={status}] b")


def test_it_tells_how_things_stand(visit: Visit, seeded: SeededDaemon) -> None:
    page, report = visit("/dashboard"), seeded.daemon.get("/api/status")
    for status in ("done", "failed", "waiting", "queued"):
        expect(count_of(page, status)).to_have_text(str(report["queue"].get(status, 0)))
    for worker in report["workers"]:
        expect(card(page, "Workers").get_by_text(worker["name"])).to_be_visible()
    expect(card(page, "Models").get_by_text(report["models"][0]["model"])).to_be_visible()
    expect(card(page, "Daemon").get_by_text(report["version"])).to_be_visible()
    newest = seeded.daemon.get("/api/commits")["commits"][0]
    expect(card(page, "Git").locator(f"[data-commit='{newest['commit']}']")).to_contain_text(newest["subject"])


def test_it_is_drawn_from_what_came_with_it(page: Page, seeded: SeededDaemon) -> None:
    """The API never answers in this test, so everything that is drawn came with the page itself."""
    page.route(re.compile(r"/api/(?!stream)"), lambda route: None)
    page.goto("/dashboard")
    expect(card(page, "Needs your decision")).to_be_visible()
    expect(card(page, "Git").locator("[data-commit]").first).to_be_visible()
    expect(count_of(page, "done")).to_have_text(str(seeded.daemon.get("/api/status")["queue"]["done"]))


def test_a_checkpoint_is_held_when_the_owner_is_sure(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    page.get_by_role("button", name="Checkpoint now").click()
    page.get_by_role("button", name="Keep working").click()
    assert not seeded.daemon.get("/api/status")["holds"]
    page.get_by_role("button", name="Checkpoint now").click()
    page.get_by_role("dialog").get_by_role("button", name="Hold checkpoint").click()
    expect(page.locator("main .notice", has_text="Paused: checkpoint")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Checkpoint now")).to_be_hidden()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("main .notice", has_text="Paused: checkpoint")).to_be_hidden()
