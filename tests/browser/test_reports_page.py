"""The weekly reports of a running daemon: listed, drawn, downloaded, and written on request."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.support.browser import Visit, Watch
from tests.support.seeded_home import SeededDaemon


def section(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def test_a_report_is_drawn_whole_with_links_to_its_tasks(visit: Visit, seeded: SeededDaemon) -> None:
    name = seeded.report
    page, report = visit(f"/reports/{name}"), seeded.daemon.get(f"/api/report/{name}")["page"]
    for each in report["sections"]:
        expect(section(page, each["title"])).to_be_visible()
    reading = section(page, "Commits worth reading")
    commit = seeded.daemon.get(f"/api/commits?task={seeded.task('second_try')}")["commits"][0]
    entry = reading.get_by_role("listitem").filter(has_text=commit["commit"][:10]).first
    expect(entry.get_by_role("link", name=f"task {commit['task_id']}")).to_have_attribute(
        "href", f"/task/{commit['task_id']}"
    )
    expect(entry).to_contain_text(f"./cli.py revert {commit['task_id']}")
    expect(section(page, "Tasks")).to_contain_text("How they ended: 4 committed, 1 refused, 1 stuck, 1 user")
    expect(section(page, "Recommendations")).to_be_visible()


def test_a_report_is_made_now(visit: Visit) -> None:
    page = visit("/reports")
    page.get_by_role("button", name="Make a report now").click()
    page.wait_for_url("**/reports/2*")
    name = page.url.rpartition("/")[2]
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)


def test_a_week_that_is_none_is_said_at_its_field(visit: Visit, watch: Watch) -> None:
    watch.allow("400 POST .*/api/reports")
    page = visit("/reports")
    page.get_by_label("Week", exact=True).fill("2026-W99")
    page.keyboard.press("Enter")
    expect(page.get_by_text("the year 2026 has no week 99")).to_be_visible()
    expect(page.get_by_label("Week", exact=True)).to_have_value("2026-W99")


def test_a_report_of_before_is_drawn_from_its_markdown(visit: Visit, seeded: SeededDaemon) -> None:
    text = "# Nightshift, 2025-W07\n\n2025\n\n| commits |\n| --- |\n| 7 |\n\n## Tasks\n\nAll of task 3 is done.\n"
    (seeded.snapshot.home / "reports" / "2025-W07.md").write_text(text)
    page = visit("/reports/2025-W07")
    expect(section(page, "In short")).to_contain_text("commits")
    expect(section(page, "Tasks").get_by_role("link", name="task 3")).to_have_attribute("href", "/task/3")
    expect(page.get_by_role("link", name="Markdown", exact=True)).to_be_visible()


def test_hostile_texts_in_a_report_are_texts(visit: Visit, seeded: SeededDaemon) -> None:
    folder, subject = seeded.snapshot.home / "reports", "Sum what is above 1"
    path = next(each for each in folder.glob("*.md") if subject in each.read_text())
    hostile = "<img src=x onerror=alert(1)> ![i](x)\x1b[31m\u202egnp"
    path.write_text(path.read_text().replace(subject, hostile))
    page = visit(f"/reports/{path.stem}")
    expect(section(page, "Commits worth reading")).to_contain_text(
        "<img src=x onerror=alert(1)> ![i](x)\\x1b[31m\\u{202e}gnp"
    )
    assert page.locator("img[src=x]").count() == 0
