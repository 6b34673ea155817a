"""Accessibility of every page: axe's findings, the keyboard, page titles, and the width of a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import LIVE, NARROW, WIDE, Watch, addresses, context_of, draw, unfold
from tests.support.daemon import Daemon
from tests.support.seeded_home import SeededDaemon

GRAVE = {"serious", "critical"}
AXE = Axe()
# Two combinations cover both widths and both colour schemes; all four would take too long.
LOOKS = [(WIDE, False, ("second_try", "failed")), (NARROW, True, ("approval", "blocked"))]
# Describes the focused element, or returns null once the focus has left the page. A date field counts as showing its
# focus, because only its inner parts show it.
FOCUSED = """() => { const at = document.activeElement;
  if (at === null || at === document.body) return null;
  const style = getComputedStyle(at), box = at.getBoundingClientRect();
  const shows = style.outlineStyle !== 'none' || style.boxShadow !== 'none' || at.type === 'datetime-local';
  return {what: at.outerHTML.slice(0, 200), seen: shows && box.width > 0 && box.height > 0}; }"""
STOPS = """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter((each) => !each.disabled && each.tabIndex >= 0 && each.checkVisibility()).length"""


SMALLEST = (320, 256)
"""Size in CSS pixels of a window of 1280 by 1024 at 400 % zoom (WCAG 1.4.10)."""
# Finds controls that cannot be scrolled into view, or that another element covers after scrolling. Tables and code may
# have scrollable boxes of their own, which may also scroll sideways.
OUT_OF_REACH = """() => {
  const named = (each) => `${each.outerHTML.slice(0, 110)}`, found = [];
  for (const each of document.querySelectorAll('a[href], button, input, select, textarea, summary')) {
    if (!each.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    if (each.disabled || each.closest('[aria-hidden=true], .unseen')) continue;
    if (getComputedStyle(each).pointerEvents === 'none') continue;
    each.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const box = [...each.getClientRects()].find(({width, height}) => width > 1 && height > 1);
    if (!box) continue;
    const [x, y] = [box.left + box.width / 2, box.top + Math.min(box.height / 2, 12)];
    if (x < 0 || x > innerWidth || y < 0 || y > innerHeight) { found.push(`cut off: ${named(each)}`); continue; }
    const over = document.elementFromPoint(x, y);
    const labels = [...(each.labels ?? [])];
    const own = over && (each.contains(over) || over.contains(each) || labels.some((of) => of.contains(over)));
    if (!own) found.push(`covered by ${over ? named(over) : 'nothing'}: ${named(each)}`);
  }
  scrollTo(0, 0);
  return found; }"""


def open_page(page: Page, address: str) -> Page:
    page.goto(address)
    if address != "/login":
        page.wait_for_selector(LIVE, state="attached")
    draw(page)
    return page


def faults(page: Page) -> list[str]:
    violations = AXE.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{page.url}: {each['id']} at {[node['target'] for node in each['nodes']][:5]}: {each['help']}"
        for each in violations
        if each["impact"] in GRAVE
    ]


def wide_things(page: Page) -> list[str]:
    """List the elements that make a page scroll sideways."""
    elements: list[str] = page.evaluate("""() => document.documentElement.scrollWidth <= innerWidth ? [] :
      [...document.querySelectorAll('body *')].filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
        .map((each) => each.outerHTML.slice(0, 120)).slice(0, 5)""")
    return elements


def look_at(browser: Browser, url: str, size: tuple[int, int], dark: bool, where: list[str]) -> list[str]:
    with context_of(browser, url, size=size, dark=dark) as context:
        page, complaints = context.new_page(), list[str]()
        watch = Watch(page, url)
        watch.allow("404 GET .*/diff")  # the task waits before its first step, so it has no changes
        for address in where:
            unfold(open_page(page, address))
            draw(page)
            complaints += faults(page)
            complaints += [f"{address} is too wide: {each}" for each in wide_things(page)]
        return complaints + watch.complaints


@pytest.mark.parametrize(("size", "dark", "tasks"), LOOKS)
def test_axe_finds_nothing_grave_where_much_happened(
    browser: Browser, seeded: SeededDaemon, size: tuple[int, int], dark: bool, tasks: tuple[str, ...]
) -> None:
    assert look_at(browser, seeded.url, size, dark, addresses(seeded.snapshot.home, *map(seeded.task, tasks))) == []


def test_axe_finds_nothing_grave_where_nothing_happened_yet(browser: Browser, untouched: Daemon) -> None:
    assert look_at(browser, untouched.url, NARROW, False, addresses(untouched.home)) == []


def test_at_400_per_cent_nothing_is_cut_off_or_covered(browser: Browser, seeded: SeededDaemon, tmp_path: Path) -> None:
    complaints = list[str]()
    with context_of(browser, seeded.url, size=SMALLEST) as context:
        page = context.new_page()
        for address in addresses(seeded.snapshot.home, seeded.task("failed"), seeded.task("second_try")):
            unfold(open_page(page, address))
            draw(page)
            page.screenshot(path=tmp_path / f"{address.strip('/').replace('/', '-') or 'brief'}.png", full_page=True)
            complaints += [f"{address} is too wide: {each}" for each in wide_things(page)]
            complaints += [f"{address}: {each}" for each in page.evaluate(OUT_OF_REACH)]
    assert not complaints, "\n".join(complaints)


def test_every_page_can_be_walked_through_by_keyboard(page: Page, seeded: SeededDaemon) -> None:
    for address in addresses(seeded.snapshot.home, seeded.task("second_try")):
        open_page(page, address)
        stops = [at for _ in range(page.evaluate(STOPS) + 40) if (at := press_tab(page))]
        unseen = [at["what"] for at in stops if not at["seen"]]
        assert not unseen, f"{address}: the focus cannot be seen on {unseen[:3]}"
        assert stops, address


def press_tab(page: Page) -> dict[str, Any] | None:
    """Press Tab and return the focused element."""
    page.keyboard.press("Tab")
    return page.evaluate(FOCUSED)  # type: ignore[no-any-return]  # of the page


def test_each_page_has_one_heading_its_landmarks_and_a_title_of_its_own(page: Page, seeded: SeededDaemon) -> None:
    titles = set[str]()
    for address in addresses(seeded.snapshot.home, seeded.task("second_try"), seeded.task("failed")):
        title = open_page(page, address).title()
        assert "Nightshift" in title
        assert title not in titles, address
        titles.add(title)
        expect(page.locator("main")).to_have_count(1)
        expect(page.locator("h1")).to_have_count(1)
        if address != "/login":
            expect(page.get_by_role("navigation").first).to_be_visible()
        assert page.evaluate("() => document.documentElement.lang") == "en"


def test_the_keyboard_leads_from_page_to_page(page: Page, seeded: SeededDaemon) -> None:
    open_page(page, "/")
    links = page.locator(".top nav a[data-key]")
    for key, there in links.evaluate_all("(all) => all.map((each) => [each.dataset.key, each.dataset.path])"):
        open_page(page, "/login")
        open_page(page, "/")
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**{there}")
        page.wait_for_selector(LIVE, state="attached")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
