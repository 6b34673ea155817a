"""A task and its forks side by side on the task's page of a running daemon, live while they run."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import expect

from tests.support.browser import NARROW, WIDE, Visit
from tests.support.seeded_home import SeededDaemon


def test_forks_stand_beside_their_task_and_fill_in_while_they_run(visit: Visit, seeded: SeededDaemon) -> None:
    source = seeded.task("failed")
    page = visit(f"/task/{source}")
    expect(page.get_by_role("tab", name="Forks")).to_have_count(0)
    page.get_by_role("button", name="Fork…").click()
    page.get_by_role("dialog").get_by_label("Note").fill("The boundary does not count.")
    page.get_by_role("dialog").get_by_role("button", name="Fork task").click()
    page.get_by_role("tab", name="Forks (1)").click()
    expect(page).to_have_url(f"{seeded.url}/task/{source}#forks")
    rows = page.get_by_role("table", name="Task and forks").locator("tbody tr")
    expect(rows).to_have_count(2)
    (fork,) = seeded.daemon.get(f"/api/task/{source}/timeline")["forks"]
    seeded.daemon.wait(fork["task_id"], within_s=120)
    expect(rows.nth(0)).to_contain_text(f"#{source} this task")
    expect(rows.nth(0)).to_contain_text("failed")
    expect(rows.nth(1)).to_contain_text(f"#{fork['task_id']} after step {fork['step_no']}")
    expect(rows.nth(1)).to_contain_text(str(seeded.daemon.get(f"/api/task/{fork['task_id']}")["status"]))


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True)])
def test_the_table_is_for_everybody(
    visit: Visit, seeded: SeededDaemon, tmp_path: Path, size: tuple[int, int], dark: bool
) -> None:
    source = seeded.task("second_try")
    _, made = seeded.daemon.ask("POST", f"/api/task/{source}/fork", {})
    seeded.daemon.wait(made["task_id"], within_s=120)
    page = visit("/")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme="dark" if dark else "light")
    visit(f"/task/{source}#forks")
    rows = page.get_by_role("table", name="Task and forks").locator("tbody tr")
    for text in ("done", "tests passed", "tiny-coder", "landed"):
        expect(rows.nth(0)).to_contain_text(text)
    expect(rows.nth(1)).to_contain_text("done")  # nothing was left to change
    page.screenshot(path=tmp_path / "forks.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [each["id"] for each in found if each["impact"] in {"serious", "critical"}] == []
    rows.nth(0).get_by_role("link", name=f"change of task {source}").click()
    expect(page.get_by_role("region", name="Changes of job_1.py").locator("tr.added").first).to_be_visible()
