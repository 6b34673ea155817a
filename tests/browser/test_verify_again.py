"""The evidence of a commit is verified again from a page.

The verification is shown live, can be cancelled, and is still shown after a reload.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.answers import TESTS, job
from tests.support.browser import LIVE, Visit, open_live
from tests.support.seeded_home import SeededDaemon

SLOW = "import time\n\n\ndef test_slow():\n    time.sleep(6)\n\n\n"


def commit_of(seeded: SeededDaemon, task: int) -> str:
    return str(seeded.daemon.get(f"/api/commits?task={task}")["commits"][0]["commit"])


def evidence(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Verdict").get_by_role("region", name="Evidence")


@pytest.fixture(scope="module")
def slow(seeded: SeededDaemon) -> int:
    """Run a task whose tests are slow, and return its id."""
    tests = {"test_job_61.py": TESTS.format(n=61), "test_slow_61.py": SLOW}
    task = seeded.daemon.submit(description=str(job(61)["description"]), tests=tests)
    (ended,) = seeded.daemon.wait(task, within_s=200)
    assert ended["status"] == "done", ended
    return task


def test_a_commit_is_verified_again_and_the_result_stays(visit: Visit, seeded: SeededDaemon) -> None:
    task = seeded.task("second_try")
    page = visit(f"/review?task={task}")
    evidence(page).get_by_role("button", name="Verify again").click()
    result = evidence(page).locator(".verified")
    expect(result).to_contain_text("agrees")
    expect(result).to_contain_text("run again in")
    result.get_by_text("checks").click()
    expect(result.get_by_role("listitem").filter(has_text="seal")).to_contain_text("as this home wrote it")
    page.reload()
    page.wait_for_selector(LIVE, state="attached")
    expect(evidence(page).locator(".verified")).to_contain_text("agrees")
    visit(f"/task/{task}")
    expect(page.locator(".commits .verified")).to_contain_text("agrees")
    verification = seeded.daemon.get(f"/api/commit/{commit_of(seeded, task)}/verification")
    assert verification["last"]["judgement"] == "holds"
    assert verification["run"] is None


def test_a_run_is_followed_in_every_page_and_cancelled(visit: Visit, seeded: SeededDaemon, slow: int) -> None:
    page = visit(f"/task/{slow}")
    page.get_by_role("button", name="Verify again").click()
    expect(page.locator(".verifying")).to_contain_text("again")
    other = seeded.task("reviewed")
    second = page.context.new_page()
    open_live(second, f"/task/{other}")
    expect(second.get_by_role("button", name="Verify again")).to_be_disabled()
    status, refused = seeded.daemon.ask("POST", f"/api/commit/{commit_of(seeded, other)}/verify")
    assert (status, f"of task {slow} is being verified" in refused["error"]) == (409, True)
    page.reload()
    page.wait_for_selector(LIVE, state="attached")
    expect(page.locator(".verifying .checks")).to_contain_text("seal")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_role("button", name="Verify again")).to_be_enabled()
    expect(page.locator(".verified")).to_have_count(0)
    expect(second.get_by_role("button", name="Verify again")).to_be_enabled()
    kinds = [each["event"] for each in seeded.daemon.get(f"/api/logs?task={slow}&limit=1000")["events"]]
    assert [kind for kind in kinds if kind.startswith("verif")] == ["verify_started", "verify_cancelled"]
    second.close()
