"""The night replay: one scrubber over what the workers did, by pointer and by keys, and the way to a prompt."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import Locator, Page, expect

from nightshift.core.clock import from_text, to_text
from tests.support.browser import LIVE, NARROW, WIDE, Visit
from tests.support.seeded_home import SeededDaemon


@pytest.fixture
def span(seeded: SeededDaemon) -> dict[str, Any]:
    """What the API tells of the time in which the home was made."""
    tasks = [task for task in seeded.daemon.get("/api/tasks?limit=100")["tasks"] if task["started_at"]]
    since, until = min(task["started_at"] for task in tasks), max(task["ended_at"] or "" for task in tasks)
    told: dict[str, Any] = seeded.daemon.get(f"/api/replay?since={quote(since)}&until={quote(until)}")
    return told


def address(span: dict[str, Any]) -> str:
    return f"/replay?since={quote(span['since'])}&until={quote(span['until'])}"


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Moment")


def bars(page: Page, step: dict[str, Any]) -> Locator:
    return page.locator(f"[data-step='{step['task_id']}-{step['attempt']}-{step['step_no']}']")


def test_the_keys_walk_from_step_to_step_and_tell_what_ran(
    visit: Visit, seeded: SeededDaemon, span: dict[str, Any]
) -> None:
    page = visit(address(span))
    first = min(span["steps"], key=lambda step: step["start_s"])
    slider(page).focus()
    page.keyboard.press("Home")
    expect(slider(page)).to_have_attribute("aria-valuenow", "0")
    if first["start_s"] > 0:
        page.keyboard.press(".")
    moment = page.locator(".moment")
    expect(moment).to_contain_text(f"#{first['task_id']}")
    expect(slider(page)).to_have_attribute("aria-valuetext", re.compile(f"of task {first['task_id']}"))
    page.keyboard.press("ArrowRight")
    expect(slider(page)).not_to_have_attribute("aria-valuenow", "0")
    page.keyboard.press("End")
    done = sum(task["ended_s"] is not None and task["status"] == "done" for task in span["tasks"])
    shown = re.compile(rf"{done} tasks? done")
    expect(moment).to_contain_text(shown)
    expect(page).to_have_url(re.compile(r"#\d+\.\d$"))
    page.reload()
    page.wait_for_selector(LIVE, state="attached")
    expect(moment).to_contain_text(shown)


def test_what_is_drawn_fits_the_work_and_a_link_means_the_same_moment(visit: Visit, span: dict[str, Any]) -> None:
    begin = from_text(span["since"]) - timedelta(hours=6)
    since, until = (quote(to_text(at)) for at in (begin, from_text(span["until"]) + timedelta(hours=6)))
    step = span["steps"][len(span["steps"]) // 2]
    at_s = 6 * 3600 + step["start_s"] + (step["end_s"] - step["start_s"]) / 2
    page = visit(f"/replay?since={since}&until={until}#{at_s}")
    expect(slider(page)).to_have_attribute("aria-valuetext", re.compile(f"of task {step['task_id']}"))
    least, most = (float(str(slider(page).get_attribute(f"aria-value{end}"))) for end in ("min", "max"))
    first, last = (pick(each[f"{edge}_s"] for each in span["steps"]) for pick, edge in ((min, "start"), (max, "end")))
    assert 0 < 6 * 3600 + first - least < 1 + 0.1 * (last - first)
    assert 0 < most - 6 * 3600 - last < 1 + 0.1 * (last - first)
    strip = page.locator(".strip-of").first.bounding_box()
    boxes = [box for bar in page.locator(".strip-of .piece").all() if (box := bar.bounding_box())]
    assert strip
    assert max(box["x"] + box["width"] for box in boxes) - min(box["x"] for box in boxes) > 0.7 * strip["width"]


def test_dragging_shows_the_state_and_a_click_opens_the_step(
    visit: Visit, seeded: SeededDaemon, span: dict[str, Any]
) -> None:
    page = visit(address(span))
    field = page.locator(".field").bounding_box()
    assert field
    page.mouse.move(field["x"] + 2, field["y"] + 5)
    page.mouse.down()
    page.mouse.move(field["x"] + field["width"] * 0.5, field["y"] + 5, steps=5)
    half = float(str(slider(page).get_attribute("aria-valuenow")))
    page.mouse.move(field["x"] + field["width"] * 0.8, field["y"] + 5, steps=5)
    page.mouse.up()
    assert float(str(slider(page).get_attribute("aria-valuenow"))) > half
    expect(page).to_have_url(re.compile("/replay"))
    longest = max(span["steps"], key=lambda step: step["end_s"] - step["start_s"])
    bars(page, longest).click()
    where = f"/task/{longest['task_id']}#{longest['attempt']}-{longest['iteration']}-{longest['step_no']}/calls"
    expect(page).to_have_url(f"{seeded.url}{where}")
    expect(page.locator(".step.open")).to_have_count(1)


def test_the_brief_the_reports_and_the_palette_lead_there(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/")
    since = seeded.daemon.get("/api/brief")["since"]
    page.get_by_role("link", name="Replay", exact=True).click()
    expect(page).to_have_url(re.compile(re.escape(f"/replay?since={quote(since, safe='')}"[:30])))
    expect(page.get_by_role("heading", name="Night replay")).to_be_visible()
    page = visit("/reports")
    page.get_by_role("link", name="Replay", exact=True).first.click()
    expect(page.get_by_role("heading", name="Night replay")).to_be_visible()
    page = visit("/tasks")
    page.keyboard.press("Control+k")
    page.keyboard.type("night replay")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{seeded.url}/replay")


def test_a_time_without_work_says_so(visit: Visit) -> None:
    page = visit("/replay?since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z")
    expect(page.get_by_text("No step ended in this time.")).to_be_visible()
    expect(page.get_by_role("combobox", name="Which time")).to_have_value("given")
    page.get_by_role("combobox", name="Which time").select_option("today")
    expect(page).to_have_url(re.compile("/replay$"))


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True), (WIDE, True), (NARROW, False)])
def test_it_is_for_everybody(
    visit: Visit, span: dict[str, Any], tmp_path: Path, size: tuple[int, int], dark: bool
) -> None:
    page = visit("/reports")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme="dark" if dark else "light")
    page = visit(f"{address(span)}#{span['steps'][len(span['steps']) // 2]['start_s']}")
    expect(page.locator(".moment .works li")).to_have_count(len(span["workers"]))
    page.screenshot(path=tmp_path / "replay.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [each["id"] for each in found if each["impact"] in {"serious", "critical"}] == []
    heights = {bar.evaluate("bar => bar.style.height") for bar in page.locator(".strip-of .piece").all()[:40]}
    assert len(heights) > 1, "phases differ without their colours"
