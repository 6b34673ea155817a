"""Drafts on the pages: a task shows its draft and retries from it, the brief counts it, the review stack lists it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.support.browser import Visit
from tests.support.seeded_home import SeededDaemon


def test_the_brief_counts_drafts_and_leads_to_them(visit: Visit, seeded: SeededDaemon) -> None:
    page = visit("/")
    part = page.locator("[data-topic=drafts]")
    expect(part).to_contain_text("1 draft")
    part.get_by_role("link").click()
    expect(page.get_by_role("navigation", name="Commits by risk")).to_contain_text("Drafts since")
    (row,) = seeded.daemon.get("/api/commits?drafts=1")["commits"]
    expect(page.locator(f".in-stack[data-commit='{row['commit']}']")).to_contain_text(f"#{row['task_id']} · draft")
    verdict = page.get_by_role("complementary", name="Verdict")
    expect(verdict).to_contain_text("1 of 2 tests pass")
    expect(verdict).to_contain_text("it did not pass")
    expect(page.get_by_role("button", name="Read, next")).to_have_count(0)


def test_the_task_page_shows_the_draft_and_a_retry_begins_with_it(visit: Visit, seeded: SeededDaemon) -> None:
    task_id = seeded.task("failed")
    (row,) = seeded.daemon.get("/api/commits?drafts=1")["commits"]
    page = visit(f"/task/{task_id}")
    draft = page.locator("li.draft")
    expect(draft).to_contain_text(f"on {row['branch']}")
    expect(draft).to_contain_text("1 of 2 tests pass")
    expect(draft).to_contain_text("test_job_3.py::test_boundary_and_above")
    expect(draft).to_contain_text(f"git -C {row['repo']} diff {row['base'][:12]} {row['branch']}")
    for name in ("Integrate…", "Discard…"):
        expect(draft.get_by_role("button", name=name)).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Revert"))).to_have_count(0)
    asked = len(seeded.server.requests)
    draft.get_by_role("button", name="Retry from the draft").click()
    expect(page.get_by_text(f"Task {task_id} is queued again.")).to_be_visible()
    seeded.daemon.wait(task_id, within_s=120)
    assert seeded.server.requests[asked].phase == "REFLECTING"
