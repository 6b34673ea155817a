"""The dashboard of a running daemon: its content, its updates without a reload, and its actions."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.browser import LIVE, Visit, context_of
from tests.support.daemon import Daemon
from tests.support.seeded_home import ASSUMED, QUESTION, SeededDaemon

CODE = "from code_a import a\n\n\ndef test_a():\n    assert a() == 1\n"


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def count_of(page: Page, status: str) -> Locator:
    return page.locator(f"[data-status={status}] b")


def task_row(page: Page, task_id: int) -> Locator:
    return page.locator(f"#queue tr[data-key='{task_id}']")


def test_it_tells_how_things_stand(visit: Visit, seeded: SeededDaemon) -> None:
    page, report = visit("/dashboard"), seeded.daemon.get("/api/status")
    for status in ("done", "failed", "waiting", "queued"):
        expect(count_of(page, status)).to_have_text(str(report["queue"].get(status, 0)))
    for worker in report["workers"]:
        expect(card(page, "Workers").get_by_text(worker["name"])).to_be_visible()
    expect(card(page, "Models").get_by_text(report["models"][0]["model"])).to_be_visible()
    expect(card(page, "Daemon").get_by_text(report["version"])).to_be_visible()
    newest = seeded.daemon.get("/api/commits")["commits"][0]
    expect(card(page, "Git").locator(f"[data-commit='{newest['commit']}']")).to_contain_text(newest["subject"])
    lessons = seeded.daemon.get("/api/learning")
    in_use = sum(lessons[kind][state] for kind in ("failures", "patterns") for state in ("active", "probation"))
    expect(card(page, "Memory").get_by_text(f"{in_use} in use")).to_be_visible()


def test_it_is_drawn_from_what_came_with_it(page: Page, seeded: SeededDaemon) -> None:
    """The API never answers in this test, so everything that is drawn came with the page itself."""
    page.route(re.compile(r"/api/(?!stream)"), lambda route: None)
    page.goto("/dashboard")
    expect(card(page, "Needs your decision")).to_be_visible()
    expect(card(page, "Git").locator("[data-commit]").first).to_be_visible()
    expect(count_of(page, "done")).to_have_text(str(seeded.daemon.get("/api/status")["queue"]["done"]))


def test_a_question_is_answered_where_it_stands(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    asks = card(page, "Needs your decision")
    ask = asks.get_by_role("listitem").filter(has_text=QUESTION)
    expect(ask).to_contain_text(ASSUMED)
    expect(ask.get_by_role("button", name="Go with it")).to_be_visible()
    ask.get_by_label("Answer").fill("it counts")
    ask.get_by_role("button", name="Answer").click()
    expect(ask).to_be_hidden()
    questions = seeded.daemon.get(f"/api/approvals?task={seeded.task('question')}")["approvals"]
    assert [(each["granted"], each["answer"]) for each in questions] == [(True, "it counts")]


def test_a_package_is_denied_where_it_stands(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    ask = card(page, "Needs your decision").get_by_role("listitem").filter(has_text="moonphase")
    ask.get_by_role("button", name="Deny").click()
    expect(ask).to_be_hidden()
    questions = seeded.daemon.get(f"/api/approvals?task={seeded.task('approval')}")["approvals"]
    assert questions[0]["granted"] is False


def test_pausing_shows_everywhere_and_is_undone(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused: no more tasks are started")).to_be_visible()
    expect(page.locator("#overall")).to_contain_text("Paused by you")
    expect(page.locator("main .notice").first).to_contain_text("Paused by you, since now. Running tasks continue")
    expect(page).to_have_title(re.compile("⏸ .*Dashboard"))
    expect(page.locator("#icon")).to_have_attribute("href", re.compile(r"(held|asks)\.svg$"))
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#overall")).not_to_contain_text("Paused")
    expect(page.locator("main .notice", has_text="Paused by you")).to_have_count(0)
    assert seeded.daemon.get("/api/status")["state"] == "running"


def test_what_is_done_elsewhere_is_seen_at_once(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    seeded.daemon.cli("--pause")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    seeded.daemon.cli("--resume")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_checkpoint_is_held_when_the_owner_is_sure(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    page.get_by_role("button", name="Checkpoint now").click()
    page.get_by_role("button", name="Keep working").click()
    assert not seeded.daemon.get("/api/status")["holds"]
    page.get_by_role("button", name="Checkpoint now").click()
    page.get_by_role("dialog").get_by_role("button", name="Hold checkpoint").click()
    expect(page.locator("main .notice", has_text="Paused: checkpoint")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Checkpoint now")).to_be_hidden()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("main .notice", has_text="Paused: checkpoint")).to_be_hidden()


def test_a_worker_begins_anew(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    expect(page.locator("[data-worker=worker-1]")).to_contain_text("idle")
    page.get_by_role("button", name="Restart worker-1").click()
    expect(page.get_by_text("worker-1 is restarted.")).to_be_visible()
    expect(page.locator("[data-worker=worker-1]")).to_contain_text("idle")


def test_repositories_tell_what_is_to_be_pushed(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    for repo in seeded.daemon.get("/api/git")["repositories"]:
        shown = page.locator(f"[data-repo='{repo['path']}']")
        expect(shown).to_contain_text(repo["error"] or f"{repo['our_commits']} commit")
        expect(shown).to_contain_text(repo["error"] or "no remote")


def test_commits_are_marked_as_read(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/dashboard")
    git = card(page, "Git")
    git.get_by_role("button", name="Mark all as read").click()
    expect(git.get_by_text("unread")).to_have_count(0)
    assert seeded.daemon.get("/api/commits")["unread"] == 0


@pytest.fixture
def fresh(browser: Browser, untouched: Daemon) -> Iterator[Page]:
    with context_of(browser, untouched.url) as context:
        page = context.new_page()
        page.goto("/dashboard")
        page.wait_for_selector(LIVE, state="attached")
        yield page


def test_an_empty_dashboard_says_what_to_do(fresh: Page) -> None:
    expect(fresh.get_by_text("No commit yet").first).to_be_visible()


def test_it_fits_a_phone(fresh: Page) -> None:
    fresh.set_viewport_size({"width": 390, "height": 844})
    assert fresh.evaluate("() => document.documentElement.scrollWidth") <= 390
