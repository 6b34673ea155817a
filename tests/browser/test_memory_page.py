"""The memory of a running daemon: lessons are found by words and by meaning, read, retired, exported and imported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from nightshift.storage.memory import exchange
from tests.support.browser import Visit
from tests.support.seeded_home import SeededDaemon

HOSTILE = "<img src=x onerror=alert(1)>{{7*7}}\x1b[31m\u202egnp"


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Lessons", exact=True).locator("tbody tr")


def newest(seeded: SeededDaemon, **query: str) -> str:
    """Return the name of the newest lesson."""
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return str(seeded.daemon.get(f"/api/lessons?{asked}")["lessons"][0]["id"])


def find(seeded: SeededDaemon) -> int:
    return int(seeded.daemon.get("/api/lessons")["found"])


def test_it_tells_what_memory_is_worth_and_lists_its_lessons(visit: Visit, seeded: SeededDaemon) -> None:
    page, learning = visit("/memory"), seeded.daemon.get("/api/learning")
    worth = page.get_by_role("region", name="Does memory help?")
    expect(worth).to_contain_text(f"{learning['failures']['active']} active")
    expect(worth).to_contain_text(re.compile(rf"of {learning['shown']['whole']} attempts?\b"))
    expect(worth.get_by_role("row", name="Solved")).to_contain_text("not enough attempts yet")
    expect(rows(page)).to_have_count(find(seeded))


def test_a_lesson_shows_its_error_its_fix_and_where_it_was_used(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/memory")
    name = newest(seeded, kind="failure", order="used")
    lesson = seeded.daemon.get(f"/api/lesson/{name}")
    page.get_by_label("Order").select_option("used")
    page.get_by_label("Kind").select_option("failure")
    rows(page).first.locator(f'a[href="/memory?lesson={name}"]').click()
    dialog = page.get_by_role("dialog", name=f"Lesson {name}")
    expect(dialog.locator("pre").first).to_contain_text(lesson["error"].split("\n")[0])
    expect(dialog.get_by_label("Fix")).to_contain_text("+++ b/")
    used = dialog.get_by_role("table", name="Where it was used")
    expect(used.get_by_role("link").first).to_have_attribute("href", f"/task/{lesson['uses'][0]['task_id']}")
    expect(used.get_by_role("row").first).to_contain_text("attempt 1")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page).to_have_url(f"{seeded.url}/memory?kind=failure&order=used")


def test_a_lesson_is_retired_after_a_question_and_used_again(visit: Visit, seeded: SeededDaemon) -> None:
    name = newest(seeded, kind="pattern")
    page = visit(f"/memory?lesson={name}")
    dialog = page.get_by_role("dialog", name=f"Lesson {name}")
    dialog.get_by_role("button", name="Retire").click()
    page.get_by_role("dialog", name="Retire this lesson?").get_by_role("button", name="Retire lesson").click()
    expect(dialog).to_contain_text("you retired it")
    assert seeded.daemon.get(f"/api/lesson/{name}")["state"] == "retired"
    dialog.get_by_role("button", name="Close").click()
    page.get_by_label("State").select_option("retired")
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_have_attribute("data-key", name)
    rows(page).first.get_by_role("link").click()
    dialog.get_by_role("button", name="Use it again").click()
    expect(dialog).to_contain_text("when it was restored")
    assert seeded.daemon.get(f"/api/lesson/{name}")["state"] == "active"


@pytest.fixture
def file(seeded: SeededDaemon, tmp_path: Path) -> Path:
    """Write a file with one lesson that is new to the daemon and has hostile texts."""
    line = json.loads(_export(seeded).split("\n")[0])
    path = tmp_path / "lessons.jsonl"
    path.write_text(json.dumps({**line, "signature": HOSTILE, "error": HOSTILE, "lesson": HOSTILE, "fix": HOSTILE}))
    return path


def _export(seeded: SeededDaemon) -> str:
    return seeded.daemon.cli("--export-memory", "-").stdout


def test_lessons_go_out_and_come_in_by_files_and_hostile_ones_are_shown_as_texts(
    visit: Visit, seeded: SeededDaemon, file: Path
) -> None:
    page, before = visit("/memory"), find(seeded)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    exported = Path(download.value.path()).read_text(encoding="utf-8")
    assert len(exchange.read(exported)) == before
    page.get_by_label("A file of lessons").set_input_files(file)
    expect(page.get_by_text("1 new lesson; 0 known before.")).to_be_visible()
    expect(rows(page)).to_have_count(before + 1)
    hostile = rows(page).filter(has_text="<img src=x onerror=alert(1)>")
    expect(hostile).to_contain_text("{{7*7}}\\x1b[31m\\u{202e}gnp")
    hostile.get_by_role("link").click()
    dialog = page.get_by_role("dialog").filter(has_text="What failed")
    expect(dialog.locator("pre").first).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("img[src=x]").count() == 0
