"""The review stack: commits ordered by risk, each read beside its change and verdict, by keys and by touch."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.answers import job
from tests.support.browser import NARROW, Visit, context_of, open_live
from tests.support.seeded_home import LEFT_OPEN, SeededDaemon

SWIPE = """([element, by]) => {
  const box = document.querySelector(element);
  const at = (x) => new Touch({identifier: 1, target: box, clientX: x, clientY: 300});
  box.dispatchEvent(new TouchEvent('touchstart', {bubbles: true, touches: [at(200)], changedTouches: [at(200)]}));
  box.dispatchEvent(new TouchEvent('touchend', {bubbles: true, touches: [], changedTouches: [at(200 + by)]}));
}"""


def stack(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Commits by risk").get_by_role("link")


def here(page: Page) -> str:
    return str(page.locator(".in-stack.at").get_attribute("data-commit"))


def unread(seeded: SeededDaemon) -> list[str]:
    return [each["commit"] for each in seeded.daemon.get("/api/commits?order=risk&unread=1")["commits"]]


@pytest.fixture(scope="module", autouse=True)
def more(seeded: SeededDaemon) -> None:
    """Make two more commits, one of which has an open finding and so ranks above the others."""
    tasks = (seeded.daemon.submit(**job(77), review=True), seeded.daemon.submit(**job(51)))
    assert {task["status"] for task in seeded.daemon.wait(*tasks, within_s=120)} == {"done"}


def test_commits_stand_by_risk_with_change_reasons_and_evidence(visit: Visit, seeded: SeededDaemon) -> None:
    page, commits = visit("/review"), unread(seeded)
    expect(stack(page)).to_have_count(len(commits))
    assert [each.get_attribute("data-commit") for each in stack(page).all()] == commits
    verdict = page.get_by_role("complementary", name="Verdict")
    expect(verdict.get_by_role("region", name="Risk")).to_contain_text("left open")
    expect(verdict).to_contain_text(LEFT_OPEN)
    expect(verdict.get_by_role("region", name="Evidence")).to_contain_text("passed")
    first = seeded.daemon.get("/api/commits?order=risk&unread=1")["commits"][0]
    for reason in first["risk"]["reasons"]:
        expect(verdict).to_contain_text(reason["text"][:60])
    expect(page.get_by_role("region", name="Changes of job_77.py")).to_be_visible()
    expect(page.get_by_role("region", name="Changes of test_job_77.py")).to_be_visible()


def test_j_and_k_walk_and_the_address_names_the_commit(visit: Visit, seeded: SeededDaemon) -> None:
    page, commits = visit("/review"), unread(seeded)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert here(page) == commits[1]
    assert page.url.endswith(f"#{commits[1]}")
    page.reload()
    expect(page.locator(".in-stack.at")).to_have_attribute("data-commit", commits[1])
    expect(page.get_by_text(f"2 of {len(commits)}")).to_be_visible()
    page.get_by_role("button", name="Previous commit").click()
    assert here(page) == commits[0]
    expect(page.get_by_role("button", name="Previous commit")).to_be_disabled()


def test_m_marks_as_read_and_goes_on_without_moving_the_stack(visit: Visit, seeded: SeededDaemon) -> None:
    page, commits = visit("/review"), unread(seeded)
    page.keyboard.press("j")
    page.keyboard.press("m")
    expect(page.locator(".in-stack.at")).to_have_attribute("data-commit", commits[2])
    expect(stack(page)).to_have_count(len(commits))
    expect(page.locator(f".in-stack[data-commit='{commits[1]}']")).to_contain_text("read")
    assert unread(seeded) == [each for each in commits if each != commits[1]]
    page.get_by_role("button", name="Read, next").click()
    expect(page.locator(".in-stack.at")).not_to_have_attribute("data-commit", commits[2])
    assert commits[2] not in unread(seeded)


def test_a_swipe_goes_on_on_a_phone(browser: Browser, seeded: SeededDaemon) -> None:
    commits = [each["commit"] for each in seeded.daemon.get("/api/commits?order=risk&integrated=1")["commits"]]
    with context_of(browser, seeded.url, size=NARROW) as context:
        page = context.new_page()
        open_live(page, "/review?integrated=1")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= NARROW[0]
        page.evaluate(SWIPE, [".one-head", -120])
        expect(page.locator(".in-stack.at")).to_have_attribute("data-commit", commits[1])
        page.evaluate(SWIPE, [".one-head", -30])
        page.evaluate(SWIPE, [".one-head", 120])
        expect(page.locator(".in-stack.at")).to_have_attribute("data-commit", commits[0])
