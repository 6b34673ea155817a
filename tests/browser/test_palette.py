"""The command palette: opened by a key, searched by words, used without a mouse, and accessible to screen readers."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.test_access_for_all import faults, wide_things
from tests.support.browser import NARROW, Visit
from tests.support.seeded_home import VAGUE, SeededDaemon


def open_part(page: Page, text: str = "") -> Locator:
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find tasks, settings")
    expect(field).to_be_focused()
    if text:
        field.press_sequentially(text)
    return field


def group(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=re.compile(f"^{name}"))


def test_a_task_is_found_by_its_words_in_any_order_from_every_page(visit: Visit, seeded: SeededDaemon) -> None:
    first, *_ = VAGUE.split()
    last = VAGUE.split()[-1]
    for path in ("/", "/settings", "/logs"):
        page = visit(path)
        open_part(page, f"{last} {first.lower()}")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/task/{seeded.task('question')}")


def test_an_action_of_the_page_is_done(visit: Visit) -> None:
    page = visit("/dashboard")
    open_part(page, "checkpoint now")
    expect(group(page, "Here").get_by_role("option").first).to_contain_text("Checkpoint now")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Hold a checkpoint now?")).to_be_visible()


def test_arrows_move_over_the_options_and_what_was_chosen_comes_first_next_time(visit: Visit) -> None:
    page = visit("/tasks")
    field = open_part(page, "job")
    options = group(page, "Tasks").get_by_role("option")
    expect(options.nth(1)).to_be_visible()
    field.press("ArrowDown")
    chosen = page.locator("[role=option][aria-selected=true]")
    expect(chosen).to_have_count(1)
    expect(field).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "")
    name = chosen.locator(".label").inner_text()
    field.press("Enter")
    page.wait_for_url("**/task/*")
    open_part(page)
    expect(group(page, "Recent").get_by_role("option").first).to_contain_text(name)
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Find tasks, settings")).to_have_count(0)


def test_nothing_about_it_is_in_the_way_of_a_screen_reader_or_a_small_screen(visit: Visit) -> None:
    page = visit("/")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("[role=option]").first).to_be_visible()
    assert faults(page) + wide_things(page) == []
