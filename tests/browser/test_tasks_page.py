"""The tasks page: the form for a new task, and filters that are saved under a name."""

from __future__ import annotations

import re

from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.support.answers import job
from tests.support.browser import Visit, Watch
from tests.support.seeded_home import SeededDaemon

CODE = "from code_a import a\n\n\ndef test_a():\n    assert a() == 1\n"


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def task_row(page: Page, task_id: int) -> Locator:
    return page.locator(f"#queue tr[data-key='{task_id}']")


def choice(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name="Filters").get_by_role("button", name=title, exact=True)


def test_a_new_task_is_worked_on_before_the_owners_eyes(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/tasks")
    task = job(21)
    page.keyboard.press("n")
    expect(page.get_by_label("What should be built or changed?")).to_be_focused()
    page.keyboard.type(str(task["description"]))
    tests = task["tests"]
    assert isinstance(tests, dict)
    [(path, text)] = tests.items()
    page.get_by_text("Tests that must pass").click()
    page.get_by_label("File", exact=True).fill(path)
    page.get_by_label("pytest code").fill(text)
    page.get_by_label("What should be built or changed?").press("Control+Enter")
    notice = page.get_by_text(re.compile(r"Added as task \d+"))
    expect(notice).to_be_visible()
    number = int(re.findall(r"\d+", notice.inner_text())[0])
    expect(task_row(page, number)).to_contain_text("done", timeout=60_000)
    commit = seeded.daemon.get(f"/api/task/{number}")["commit"]
    expect(task_row(page, number)).to_contain_text(commit[:8])
    expect(page.get_by_label("What should be built or changed?")).to_have_value("")


def test_the_form_sends_all_that_it_offers(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/tasks")
    form = card(page, "New task")
    form.get_by_label("What should be built or changed?").fill("Write a() in code_a.py")
    form.get_by_label("Kind").select_option("library")
    form.get_by_label("Priority").fill("-5")
    form.get_by_text("Tests that must pass").click()
    form.get_by_label("pytest code").fill(CODE)
    form.get_by_text("Start files, cases, metadata").click()
    form.get_by_label("Start files", exact=True).first.set_input_files(
        [FilePayload(name=name, mimeType="text/plain", buffer=b"x = 1\n") for name in ("shop.py", "left_out.py")]
    )
    form.get_by_role("button", name="Leave out left_out.py").click()
    form.get_by_label("Cases").fill('[{"call": "code_a.a", "expect": 1}]')
    form.get_by_label("Metadata").fill("ticket=SHOP-12\nwhy=a=b")
    form.get_by_text("Limits, order, switches").click()
    filled = {
        "Iterations": "7", "Attempts": "2", "Minutes": "1.5", "US dollars": "0.25", "Tokens": "90000",
        "After tasks": f"#{seeded.task('scheduled')}", "Packages": "httpx, rich", "Key": "dashboard-1",
    }  # fmt: skip
    for label, text in filled.items():
        form.get_by_label(label, exact=True).fill(text)
    form.get_by_label("Not before").fill("2099-03-04T05:06")
    for label, choice in {"Review": "yes", "Split": "no", "Integrate": "no"}.items():
        form.get_by_label(label, exact=True).select_option(choice)
    with page.expect_request(lambda request: request.method == "POST") as sent:
        form.get_by_role("button", name="Add task").click()
    expect(page.get_by_text("Added as task")).to_be_visible()
    assert sent.value.post_data_json == {
        "description": "Write a() in code_a.py", "kind": "library", "priority": -5,
        "tests": {"tests/test_task.py": CODE}, "depends_on": [seeded.task("scheduled")], "key": "dashboard-1",
        "packages": ["httpx", "rich"], "not_before": "2099-03-04T05:06:00.000Z",
        "limits": {"iterations": 7, "attempts": 2, "wall_s": 90, "cost_usd": 0.25, "tokens": 90000},
        "review": True, "split": False, "integrate": False,
        "files": {"shop.py": "x = 1\n"}, "cases": [{"call": "code_a.a", "expect": 1}],
        "metadata": {"ticket": "SHOP-12", "why": "a=b"},
    }  # fmt: skip


def test_what_is_wrong_with_a_task_is_said_at_its_field_and_nothing_is_lost(
    visit: Visit, seeded: SeededDaemon, watch: Watch
) -> None:
    watch.allow("400 POST .*/api/task$")
    page = visit("/tasks")
    form = card(page, "New task")
    form.get_by_text("Start files, cases, metadata").click()
    form.get_by_label("Cases").fill('{"call": ')
    form.get_by_label("What should be built or changed?").press("Control+Enter")
    expect(form.get_by_label("Cases")).to_have_accessible_description(re.compile("is no JSON"))
    form.get_by_label("Cases").fill("")
    form.get_by_label("Priority").fill("soon")
    form.get_by_text("Limits, order, switches").click()
    form.get_by_label("After tasks").fill("first")
    form.get_by_label("Iterations").fill("900")
    form.get_by_text("Limits, order, switches").click()
    form.get_by_role("button", name="Add task").click()
    for label, why in {
        "What should be built or changed?": "is empty",
        "Priority": "valid integer",
        "After tasks": "valid integer",
        "Iterations": "less than or equal to 100",
    }.items():
        field = form.get_by_label(label)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_have_accessible_description(re.compile(why))
        expect(field).to_be_visible()
    expect(form.get_by_label("What should be built or changed?")).to_be_focused()
    page.reload()
    expect(form.get_by_label("Priority")).to_have_value("soon")
    page.evaluate("() => sessionStorage.clear()")
