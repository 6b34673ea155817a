"""The morning brief: its parts and their links, the read mark, the running tasks, and the tasks that ended last."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.support.browser import LIVE, Visit
from tests.support.seeded_home import SeededDaemon


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def part(page: Page, topic: str) -> Locator:
    return page.locator(f".brief-line [data-topic={topic}]")


def test_it_says_what_the_api_says_and_each_part_leads_there(visit: Visit, seeded: SeededDaemon) -> None:
    page, brief = visit("/"), seeded.daemon.get("/api/brief")
    expect(page.get_by_role("heading", level=1)).to_have_text("The last 24 hours")
    for each in brief["parts"]:
        number = re.search(r"[\d.,]+", each["text"])
        assert number
        expect(part(page, each["topic"])).to_contain_text(number[0])
        expect(part(page, each["topic"]).get_by_role("link")).to_have_attribute(
            "href", re.compile(r"^/(tasks|inbox|review)")
        )
    part(page, "failed").get_by_role("link").click()
    page.wait_for_selector(LIVE, state="attached")
    rows = page.locator("#queue tbody tr")
    expect(rows).to_have_count(brief["failed"])
    shown = sorted(int(each.get_attribute("data-key") or 0) for each in rows.all())
    assert shown == sorted(task["task_id"] for cause in brief["causes"] for task in cause["tasks"])


def test_a_cause_is_settled_with_a_note_and_its_tasks_are_tried_again(visit: Visit, seeded: SeededDaemon) -> None:
    page, failed = visit("/"), seeded.task("failed")
    cause = card(page, "Top failures").get_by_role("listitem").filter(has_text="assert 7 == (3 + 1)").first
    cause.get_by_role("button", name="Resolve…").click()
    cause.get_by_label("Note").fill("The boundary does not count.")
    cause.get_by_role("button", name="Resolve and retry 1 task").click()
    expect(page.get_by_text("1 task retried.")).to_be_visible()
    seeded.daemon.wait(failed, within_s=120)
    task = seeded.daemon.get(f"/api/task/{failed}")
    assert (task["description"].endswith("The boundary does not count."), task["attempt"]) == (True, 2)


def test_what_was_read_is_not_told_again_and_can_be_undone(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/")
    before = seeded.daemon.get("/api/brief")
    page.get_by_role("button", name="Mark as read").click()
    expect(page.get_by_text("The next brief starts here.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"^Since \d\d:\d\d$"))
    expect(part(page, "failed")).to_have_count(0)
    expect(part(page, "landed")).to_contain_text("0")
    page.get_by_role("button", name="Undo").click()
    expect(part(page, "failed")).to_contain_text(str(before["failed"]))
    page.get_by_label("Since when").select_option("today")
    expect(page.get_by_role("heading", level=1)).to_have_text("Since 00:00")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Since 00:00")
    page.get_by_label("Since when").select_option("read")
    expect(part(page, "failed")).to_contain_text(str(before["failed"]))
