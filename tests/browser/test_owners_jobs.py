"""Counts the clicks and keys that each of the owner's jobs takes, from the page on which the job arises.

Typing a text does not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.answers import job
from tests.support.browser import LIVE, Visit, context_of
from tests.support.daemon import Daemon, settings_for, until
from tests.support.seeded_home import SeededDaemon
from tests.support.wire_server import WireServer


@dataclass(slots=True)
class Hand:
    """The owner's hand on a page; `acts` counts its clicks, keys and choices."""

    page: Page
    acts: int = 0

    def click(self, at: Locator) -> None:
        self.acts += 1
        at.click()

    def press(self, key: str) -> None:
        self.acts += 1
        self.page.keyboard.press(key)

    def choose(self, at: Locator, value: str) -> None:
        self.acts += 1
        at.select_option(value)

    def type_over(self, at: Locator, text: str) -> None:
        """Click into a field and replace its text."""
        self.click(at)
        self.page.keyboard.press("Control+a")  # part of typing, so not counted
        self.page.keyboard.type(text)


def test_why_a_task_failed_is_one_click(visit: Visit, seeded: SeededDaemon) -> None:
    hand, failed = Hand(visit("/")), seeded.task("failed")
    ended = hand.page.get_by_role("region", name="Recently ended").locator(f"[data-task='{failed}']")
    hand.click(ended.get_by_role("link").first)
    why = re.compile(
        r"^test_job_3\.py::test_boundary_and_above: AssertionError: assert 7 == \(3 \+ 1\).*\(stuck after 4 tries\)"
    )
    expect(hand.page.locator("#reason")).to_have_text(why)  # the failure first, then the reason for the end
    assert hand.acts <= 1


def test_a_diff_is_one_click(visit: Visit, seeded: SeededDaemon) -> None:
    hand = Hand(visit("/"))
    done = hand.page.get_by_role("region", name="Recently ended").locator(f"[data-task='{seeded.task('second_try')}']")
    hand.click(done.get_by_role("link", name="Diff"))
    expect(hand.page.get_by_role("region", name="Changes of job_1.py").locator("tr.added").first).to_be_visible()
    assert hand.acts <= 1


def test_a_revert_is_two_and_its_undo_one_more(visit: Visit, seeded: SeededDaemon) -> None:
    task = seeded.daemon.submit(**job(52))
    seeded.daemon.wait(task, within_s=120)
    hand = Hand(visit(f"/review?task={task}"))
    hand.press("r")
    hand.click(hand.page.get_by_role("dialog").get_by_role("button", name="Revert", exact=True))
    expect(hand.page.locator(".in-stack.at")).to_contain_text("reverted")
    assert hand.acts <= 2
    assert seeded.daemon.get(f"/api/task/{task}")["reverted_by"]
    hand.click(hand.page.get_by_role("button", name="Undo"))
    expect(hand.page.get_by_text("Reapplied.")).to_be_visible()
    assert hand.acts <= 3
    assert seeded.daemon.get(f"/api/task/{task}")["reverted_by"] is None


def test_a_fork_with_another_model_is_three(visit: Visit, seeded: SeededDaemon) -> None:
    source = seeded.task("second_try")
    hand = Hand(visit(f"/task/{source}"))
    model = next(each for each in seeded.daemon.get("/api/status")["models"] if each["name"] == "openai")
    hand.click(hand.page.get_by_role("button", name="Fork…"))
    dialog = hand.page.get_by_role("dialog")
    hand.choose(dialog.get_by_label("Model"), f"openai={model['model']}")
    hand.click(dialog.get_by_role("button", name="Fork task"))
    expect(hand.page.get_by_text("Forked as")).to_be_visible()
    assert hand.acts <= 3
    (fork,) = seeded.daemon.get(f"/api/task/{source}/timeline")["forks"]
    assert fork["model"] == f"openai={model['model']}"


def test_the_number_of_workers_is_two(browser: Browser, tmp_path: Path) -> None:
    with WireServer() as server:
        settings = {name: value for name, value in settings_for(server).items() if name != "WORKER_COUNT"}
        with Daemon(tmp_path / "home", settings) as daemon, context_of(browser, daemon.url) as context:
            hand, many = Hand(context.new_page()), len(daemon.get("/api/status")["workers"])
            hand.page.goto("/settings")
            hand.page.wait_for_selector(LIVE, state="attached")
            hand.type_over(hand.page.get_by_label("worker_count", exact=True), str(many + 1))
            hand.click(hand.page.get_by_role("button", name="Save", exact=True))
            expect(hand.page.locator(f"[data-workers='{many + 1}']")).to_be_visible()
            assert hand.acts <= 2
            assert len(daemon.get("/api/status")["workers"]) == many + 1


def test_an_approval_is_one_click(visit: Visit, seeded: SeededDaemon) -> None:
    hand = Hand(visit("/"))
    waiting = len(seeded.daemon.get("/api/approvals?open=1")["approvals"])
    asks = hand.page.get_by_role("region", name="Needs your decision")
    hand.click(asks.get_by_role("button", name="Approve").first)
    until(lambda: len(seeded.daemon.get("/api/approvals?open=1")["approvals"]) == waiting - 1, 60)
    assert hand.acts <= 1
