"""Two buttons integrate or discard a commit on a branch: on its task's page, in the brief and in the review."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_access_for_all import faults, wide_things
from tests.support.answers import job
from tests.support.browser import NARROW, Visit, Watch
from tests.support.daemon import git
from tests.support.seeded_home import SeededDaemon


@pytest.fixture(autouse=True)
def dev(seeded: SeededDaemon) -> None:
    """Create a branch in the owner's repository that is not checked out."""
    if not git(seeded.snapshot.repo, "branch", "--list", "dev"):
        git(seeded.snapshot.repo, "branch", "dev")


def leave(seeded: SeededDaemon, number: int) -> int:
    """Run a task whose commit waits to be integrated into dev, and return its id."""
    task = seeded.daemon.submit(**job(number), repo=str(seeded.snapshot.repo), base="dev")
    (ended,) = seeded.daemon.wait(task)
    assert ended["ending"] == "committed", ended
    return task


def commit_of(seeded: SeededDaemon, task: int) -> dict[str, object]:
    row: dict[str, object] = seeded.daemon.get(f"/api/commits?task={task}")["commits"][0]
    return row


def test_a_commit_is_integrated_on_its_tasks_page(visit: Visit, seeded: SeededDaemon, tmp_path: Path) -> None:
    task = leave(seeded, 702)
    page = visit(f"/task/{task}")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    expect(page.locator(".commits")).to_contain_text(f"waits on agent/{task}-")
    page.screenshot(path=tmp_path / "waits.png", full_page=True)
    assert faults(page) + wide_things(page) == []
    page.get_by_role("button", name="Integrate…").click()
    box = page.get_by_role("dialog")
    expect(box).to_contain_text("on top of dev")
    expect(box.get_by_role("button", name="Leave it on its branch")).to_be_focused()
    box.get_by_role("button", name="Integrate", exact=True).click()
    expect(page.locator(".commits")).to_contain_text("on dev")
    expect(page.get_by_role("button", name="Integrate…")).to_have_count(0)
    expect(page.get_by_role("button", name="Revert…")).to_be_visible()
    assert git(seeded.snapshot.repo, "rev-parse", "dev") == commit_of(seeded, task)["commit"]


def test_a_commit_is_discarded_in_the_brief_with_the_command_that_undoes_it(
    visit: Visit, seeded: SeededDaemon, tmp_path: Path
) -> None:
    task = leave(seeded, 703)
    page = visit("/")
    row = page.locator(f"#waiting [data-task='{task}']")
    expect(row).to_contain_text(f"agent/{task}-")
    page.screenshot(path=tmp_path / "brief.png", full_page=True)
    assert faults(page) + wide_things(page) == []
    row.get_by_role("button", name="Discard…").click()
    box = page.get_by_role("dialog")
    box.get_by_role("button", name="Keep the branch").click()
    branch, commit = (str(commit_of(seeded, task)[name]) for name in ("branch", "commit"))
    assert git(seeded.snapshot.repo, "rev-parse", branch) == commit
    row.get_by_role("button", name="Discard…").click()
    box.get_by_role("button", name="Discard", exact=True).click()
    expect(page.locator(".toast.good")).to_contain_text(f"branch {branch} {commit}")
    expect(row).to_have_count(0)
    assert git(seeded.snapshot.repo, "branch", "--list", branch) == ""
    page = visit(f"/task/{task}")
    expect(page.locator(".commits")).to_contain_text("discarded")
    expect(page.locator(".commits .command")).to_contain_text(f"branch {branch} {commit}")


def test_what_fails_with_newer_work_is_integrated_only_when_that_is_asked_for(
    visit: Visit, seeded: SeededDaemon, watch: Watch, tmp_path: Path
) -> None:
    watch.allow("409 POST .*/integrate")
    task, repo = leave(seeded, 704), seeded.snapshot.repo
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"), "dev")
    (tmp_path / "tree" / "conftest.py").write_text("raise RuntimeError('nothing can be imported')\n")
    git(tmp_path / "tree", "add", ".")
    git(tmp_path / "tree", "commit", "-qm", "Break all")
    git(repo, "worktree", "remove", str(tmp_path / "tree"))
    page = visit(f"/review?task={task}")
    page.get_by_role("button", name="Integrate…").click()
    box = page.get_by_role("dialog")
    box.get_by_role("button", name="Integrate", exact=True).click()
    expect(box).to_contain_text("It was not integrated")
    expect(box).to_contain_text("does not pass on dev")
    tip = git(repo, "rev-parse", "dev")
    box.get_by_role("button", name="Leave it on its branch").click()
    assert git(repo, "rev-parse", "dev") == tip
    page.get_by_role("button", name="Integrate…").click()
    box.get_by_role("button", name="Integrate", exact=True).click()
    box.get_by_role("button", name="Integrate without a run").click()
    expect(page.locator(".toast.good")).to_contain_text("Integrated:")
    expect(page.get_by_role("complementary", name="Verdict")).to_contain_text("not judged")
    assert git(repo, "rev-parse", "dev^") == tip
