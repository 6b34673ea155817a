"""The task list: finding, sorting and browsing tasks, and acting on one or many at once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.browser import Visit
from tests.support.daemon import Daemon
from tests.support.seeded_home import FAR_AHEAD, SeededDaemon

MANY = 60


@pytest.fixture(scope="module")
def many(seeded: SeededDaemon) -> list[int]:
    """Submit tasks that no worker takes, more than the list shows at once; return their ids, oldest first."""
    return [later(seeded.daemon, f"cheddar {number}", priority=number % 3) for number in range(MANY)]


def later(daemon: Daemon, description: str, **more: object) -> int:
    return daemon.submit(description=description, not_before=FAR_AHEAD, **more)


def row(page: Page, task_id: int) -> Locator:
    return page.locator(f"#queue tr[data-key='{task_id}']")


def rows(page: Page) -> Locator:
    return page.locator("#queue tbody tr")


def chip(page: Page, status: str) -> Locator:
    return page.get_by_role("list", name="Status").get_by_role("button", name=re.compile(rf"^{status}\b"))


def ids(page: Page) -> list[int]:
    return [int(each.get_attribute("data-key") or 0) for each in rows(page).all()]


def menu(page: Page, task_id: int) -> Locator:
    row(page, task_id).get_by_role("button", name=f"Actions for task {task_id}").click()
    return page.get_by_role("menu", name=f"Task {task_id}")


def status_of(seeded: SeededDaemon, task_id: int) -> str:
    return str(seeded.daemon.get(f"/api/task/{task_id}")["status"])


def test_chips_count_and_filter_and_the_address_says_so(visit: Visit, seeded: SeededDaemon, many: list[int]) -> None:
    page = visit("/tasks")
    expect(chip(page, "scheduled")).to_have_text(f"scheduled {MANY + 1}")
    chip(page, "failed").click()
    expect(row(page, seeded.task("failed"))).to_be_visible()
    expect(row(page, many[-1])).to_have_count(0)
    chip(page, "cancelled").click()
    expect(row(page, seeded.task("cancelled"))).to_be_visible()
    assert page.url.endswith("/tasks?status=failed%2Ccancelled")
    page.reload()
    expect(chip(page, "failed")).to_have_attribute("aria-pressed", "true")
    expect(row(page, seeded.task("cancelled"))).to_be_visible()
    expect(row(page, many[-1])).to_have_count(0)
    chip(page, "all").click()
    expect(row(page, many[-1])).to_be_visible()
    assert page.url == f"{seeded.url}/tasks"


def test_more_is_added_below_and_stays_while_tasks_come(visit: Visit, seeded: SeededDaemon, many: list[int]) -> None:
    page = visit("/tasks?q=cheddar")
    expect(page.get_by_text(f"50 of {MANY} tasks")).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    expect(rows(page)).to_have_count(MANY)
    assert ids(page) == many[::-1]
    row(page, many[5]).scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    assert before > 0
    added = later(seeded.daemon, "cheddar that came later")
    expect(row(page, added)).to_be_attached()
    expect(rows(page)).to_have_count(MANY + 1)
    seeded.daemon.ask("POST", f"/api/task/{added}/cancel")
    expect(row(page, added).get_by_text("cancelled", exact=True)).to_be_attached()
    assert page.evaluate("scrollY") >= before


def test_rows_are_walked_chosen_and_opened_by_the_keyboard(visit: Visit, many: list[int]) -> None:
    page = visit("/tasks?q=cheddar&status=scheduled")
    expect(row(page, many[-1])).to_be_visible()
    for key in ("j", "x", "j", "k", "j", "x"):
        page.keyboard.press(key)
    expect(page.get_by_text("2 tasks chosen")).to_be_visible()
    expect(row(page, many[-2])).to_have_attribute("aria-current", "true")
    page.keyboard.press("m")
    expect(page.get_by_role("menuitem", name="Open")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_be_hidden()
    expect(row(page, many[-2]).get_by_role("button")).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/task/{many[-2]}")


def test_a_row_has_its_own_actions(visit: Visit, seeded: SeededDaemon) -> None:
    task_id = later(seeded.daemon, "brie", priority=2)
    page = visit("/tasks?q=brie")
    expect(row(page, task_id)).to_contain_text(re.compile(r"starts in \d+ d\s*\d\d-\d\d \d\d:\d\d"))
    menu(page, task_id).get_by_role("menuitem", name="Priority").click()
    box = page.get_by_role("dialog", name=f"Priority of task {task_id}")
    expect(box.get_by_label("Priority")).to_have_value("2")
    box.get_by_label("Priority").fill("9")
    box.get_by_role("button", name="Set").click()
    expect(page.get_by_text(f"Task {task_id} has priority 9.")).to_be_visible()
    expect(row(page, task_id).locator("td").nth(4)).to_have_text("9")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, task_id).locator("td").nth(4)).to_have_text("2")
    menu(page, task_id).get_by_role("menuitem", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep task").click()
    menu(page, task_id).get_by_role("menuitem", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel task").click()
    expect(row(page, task_id).get_by_text("cancelled", exact=True)).to_be_visible()
    opened = menu(page, task_id)
    expect(opened.get_by_role("menuitem", name="Cancel")).to_have_count(0)
    opened.get_by_role("menuitem", name="Retry").click()
    expect(row(page, task_id).get_by_text("cancelled", exact=True)).to_have_count(0)
    assert status_of(seeded, task_id) != "cancelled"


def test_chosen_tasks_are_cancelled_together_after_asking(visit: Visit, seeded: SeededDaemon) -> None:
    first, *rest = [later(seeded.daemon, f"feta {number}") for number in range(5)]
    seeded.daemon.ask("POST", f"/api/task/{rest[1]}/cancel")
    page = visit("/tasks?q=feta")
    row(page, first).get_by_role("checkbox").click()
    row(page, rest[2]).get_by_role("checkbox").click(modifiers=["Shift"])
    expect(page.get_by_text("4 tasks chosen")).to_be_visible()
    bar = page.get_by_role("region", name="Chosen tasks")
    bar.get_by_role("button", name="Cancel").click()
    question = page.get_by_role("dialog", name="Cancel 3 tasks?")
    expect(question).to_contain_text("1 other chosen task cannot be")
    question.get_by_role("button", name="Keep them").click()
    assert status_of(seeded, first) == "scheduled"
    bar.get_by_role("button", name="Cancel").click()
    question.get_by_role("button", name="Cancel 3 tasks").click()
    expect(page.get_by_text("3 tasks cancelled", exact=False)).to_be_visible()
    expect(bar).to_have_count(0)
    assert [status_of(seeded, task) for task in (first, *rest)] == ["cancelled"] * 4 + ["scheduled"]
