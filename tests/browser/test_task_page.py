"""The page of a task in a real browser, on a daemon in a seeded home: its content and all its actions."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.support.answers import job
from tests.support.browser import Visit
from tests.support.daemon import git
from tests.support.seeded_home import SeededDaemon


def step(page: Page, number: int, attempt: int = 1) -> Locator:
    """Return the row of a step."""
    return page.locator(f"#s{attempt}-{number}")


def open_part(page: Page, number: int, tab: str = "") -> Locator:
    """Open a step, and one of the step's tabs if a name is given; return the step's row."""
    row = step(page, number)
    row.locator("button.head").click()
    if tab:
        row.get_by_role("tab", name=tab).click()
    return row


def test_the_course_shows_each_try_and_its_steps(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit(f"/task/{seeded.task('second_try')}")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Write total\\(\\) in job_1.py"))
    expect(page.get_by_role("heading", level=2, name="Iteration 2")).to_be_visible()
    expect(page.locator("li.step")).to_have_count(6)
    expect(step(page, 2)).to_contain_text("test_boundary_and_above")
    expect(step(page, 2).locator(".tests")).to_have_text("1/2")
    expect(page.locator(".strip").nth(1)).to_have_attribute(
        "aria-label", re.compile("coding .*, testing .*, reflecting")
    )
    expect(page.locator("#reason")).to_have_text(re.compile("committed: 2 tests passed"))


def test_a_step_opens_with_prompts_replies_changes_files_tests_and_log(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit(f"/task/{seeded.task('second_try')}")
    coding = open_part(page, 4)
    expect(coding.get_by_role("tab", name="Changes")).to_have_attribute("aria-selected", "true")
    expect(coding.locator("tr.gone")).to_have_text(re.compile("return sum\\(x for x in numbers if x >= 1\\)"))
    expect(coding.locator("tr.gone .w")).to_have_text("=")
    expect(coding.locator("tr.added")).to_have_count(1)
    coding.get_by_role("tab", name="Prompts and replies").click()
    expect(coding.locator("details.part[open] pre")).to_have_text(re.compile("Summary: Sum what is above 1"))
    coding.get_by_role("tab", name="Files").click()
    expect(coding.locator("pre.code")).to_contain_text("def total(numbers):")
    coding.get_by_role("tab", name="Log").click()
    expect(coding.locator(".loglines")).to_contain_text("model_called")
    testing = open_part(page, 2)
    expect(coding.locator(".detail")).to_have_count(0)
    expect(testing.get_by_role("tab", name="Tests")).to_have_attribute("aria-selected", "true")
    expect(testing.locator("details[open] pre").first).to_contain_text("test_job_1.py:9 in test_boundary_and_above")
    testing.get_by_text("Evidence", exact=True).click()
    expect(testing.locator("dl.evidence")).to_contain_text("bubblewrap")
    thinking = open_part(page, 3)
    expect(thinking.locator(".detail")).to_contain_text("the boundary is off by one")


def test_a_link_leads_to_a_step_its_tab_and_a_test(visit: Visit, seeded: SeededDaemon, page: Page) -> None:
    number = seeded.task("second_try")
    visit(f"/task/{number}#1-1-2/tests/test_job_1.py%3A%3Atest_empty")
    marked = step(page, 2).locator("tr[aria-current=true]")
    expect(marked).to_contain_text("test_job_1.py::test_empty")
    step(page, 2).get_by_role("button", name="test_job_1.py::test_boundary_and_above", exact=True).click()
    assert page.evaluate("location.hash").endswith("/tests/test_job_1.py%3A%3Atest_boundary_and_above")
    step(page, 2).get_by_role("tab", name="What happened").click()
    assert page.evaluate("location.hash") == "#1-1-2/happened"
    step(page, 2).locator("button.head").click()
    assert page.evaluate("location.hash") == "#1"
    page.evaluate("location.hash = '#change'")
    expect(page.get_by_role("tab", name="Diff")).to_have_attribute("aria-selected", "true")


def test_the_keyboard_walks_opens_and_changes_how_differences_are_shown(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit(f"/task/{seeded.task('second_try')}")
    expect(page.locator("li.step")).to_have_count(6)
    for _ in range(5):
        page.keyboard.press("j")
    expect(step(page, 4)).to_have_class(re.compile(r"\bat\b"))
    page.keyboard.press("Enter")
    expect(step(page, 4).locator("table.diff.unified")).to_be_visible()
    page.keyboard.press("d")
    expect(step(page, 4).locator("table.diff.split")).to_be_visible()
    page.reload()
    expect(step(page, 4).locator("table.diff.split")).to_be_visible()
    page.keyboard.press("k")
    expect(step(page, 3)).to_have_class(re.compile(r"\bat\b"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("unified or side by side")


def test_a_fork_from_a_step_with_a_model_and_a_note(visit: Visit, seeded: SeededDaemon) -> None:
    source = seeded.task("failed")
    page = visit(f"/task/{source}")
    open_part(page, 1).get_by_role("button", name="Fork from here…").click()
    dialog = page.get_by_role("dialog", name=f"Fork task {source}")
    expect(dialog.get_by_label("After step")).to_have_value("1")
    label = next(each for each in seeded.daemon.get("/api/status")["models"] if each["name"] == "openai")
    dialog.get_by_label("Model").select_option(f"openai={label['model']}")
    dialog.get_by_label("Note").fill("Leave the boundary out.")
    dialog.get_by_role("button", name="Fork task").click()
    page.get_by_role("link", name=re.compile(r"^task \d+$")).click()
    expect(page.get_by_text(f"#{source}, step 1")).to_be_visible()
    fork = int(page.url.rpartition("/")[2])
    assert seeded.daemon.get(f"/api/task/{fork}/timeline")["forked_from"]["source"] == source
    page.get_by_text(f"#{source}, step 1").click()
    expect(step(page, 1).locator(".detail")).to_be_visible()
    expect(page.get_by_role("link", name=f"#{fork}")).to_be_visible()


def test_work_is_read_taken_back_and_brought_back(visit: Visit, seeded: SeededDaemon) -> None:
    number = seeded.task("reviewed")
    page = visit(f"/task/{number}")
    page.get_by_role("button", name="Mark as read").click()
    expect(page.locator(".commits")).to_contain_text("read now")
    page.get_by_role("button", name="Revert…").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    expect(page.locator(".commits")).to_contain_text("reverted by")
    assert not (seeded.snapshot.home / "workspace" / "job_4.py").exists()
    page.get_by_role("button", name="Reapply…").click()
    page.get_by_role("dialog").get_by_role("button", name="Reapply").click()
    expect(page.get_by_role("button", name="Revert…")).to_be_visible()
    assert "job_4.py" in git(seeded.snapshot.home / "workspace", "ls-tree", "--name-only", "main")


def test_a_running_task_is_live_and_nothing_jumps_unless_it_is_followed(visit: Visit, seeded: SeededDaemon) -> None:
    seeded.server.fail_next("slow", phase="CODING", seconds=2.0, about="job_22")
    number = seeded.daemon.submit(**job(22))
    page = visit(f"/task/{number}")
    expect(page.locator("li.step.running")).to_contain_text("coding")
    open_part(page, 0, "What happened")
    expect(page.locator(".standing-line .pill")).to_have_text("done")
    expect(page.locator("li.step.running")).to_have_count(0)
    expect(step(page, 0).locator(".detail")).to_be_visible()
    assert page.evaluate("scrollY") == 0
