"""The inbox of a running daemon: the owner decides by mouse and by keyboard."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.support.browser import Visit
from tests.support.daemon import until
from tests.support.seeded_home import ASSUMED, QUESTION, VAGUE, SeededDaemon

PATIENCE_S = 60.0


def item(page: Page, text: str) -> Locator:
    return page.locator("#asks li.item").filter(has_text=text)


def decide(page: Page, text: str) -> Locator:
    return page.locator("#decided tbody tr").filter(has_text=text).first


def asks(seeded: SeededDaemon) -> list[dict[str, object]]:
    questions: list[dict[str, object]] = seeded.daemon.get("/api/approvals?open=1")["approvals"]
    return questions


def wait_for_asks(seeded: SeededDaemon, count: int) -> None:
    until(lambda: len(asks(seeded)) == count, PATIENCE_S)


def vague(seeded: SeededDaemon, number: int) -> int:
    """Submit a task with the same question as the vague task in the seeded home."""
    return seeded.daemon.submit(description=f"{VAGUE}, part {number}", clarify=True)


def test_each_ask_says_who_wants_what_and_what_is_assumed_when(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/inbox")
    question = item(page, QUESTION)
    expect(question.get_by_role("link")).to_contain_text(VAGUE)
    expect(question).to_contain_text(ASSUMED)
    expect(question.locator(".countdown")).to_contain_text("in 3 h")
    expect(item(page, "moonphase")).to_contain_text("Approving allows package:moonphase")
    expect(page.get_by_role("link", name="2 need you")).to_be_visible()


def test_a_question_is_answered_with_what_was_typed(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/inbox")
    question = item(page, QUESTION)
    question.get_by_label("Answer").fill("yes, it counts")
    question.get_by_role("button", name="Answer").click()
    expect(question).to_have_count(0)
    row = decide(page, QUESTION)
    for text in ("answered", "yes, it counts", "you"):
        expect(row).to_contain_text(text)


def test_keys_walk_and_deny_with_a_note(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/inbox")
    wait_for_asks(seeded, 1)
    expect(page.locator("#asks li.item")).to_have_count(1)
    page.keyboard.press("j")
    expect(page.locator("#asks li.at")).to_contain_text("moonphase")
    page.keyboard.press("r")
    page.keyboard.type("write it yourself")
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    row = decide(page, "moonphase")
    expect(row).to_contain_text("denied")
    expect(row).to_contain_text("write it yourself")


def test_an_ask_appears_by_itself_and_several_are_decided_at_once(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/inbox")
    for number in (1, 2):
        vague(seeded, number)
    expect(page.locator("#asks li.item").filter(has_text=VAGUE)).to_have_count(2, timeout=PATIENCE_S * 1000)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    group = page.get_by_role("group", name="Decide the chosen asks")
    expect(group).to_contain_text("2 asks chosen")
    group.get_by_role("button", name="Approve all").click()
    expect(page.get_by_text("2 asks approved.")).to_be_visible()
    expect(page.locator("#asks").get_by_text("Nothing needs your decision.")).to_be_visible()
    for number in (1, 2):
        expect(decide(page, f"part {number}")).to_contain_text(ASSUMED)
