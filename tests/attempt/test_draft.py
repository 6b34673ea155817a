"""Drafts.

If an attempt ends without a commit, its best change stays on the task's branch. Nothing mistakes this draft for a
result.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pytest_asyncio

from nightshift.attempt.draft import leave_draft
from nightshift.attempt.evidence import read_note
from nightshift.attempt.integration import Integration, Landed
from nightshift.attempt.regression import WithRegression
from nightshift.attempt.services import AttemptServices
from nightshift.attempt.verify import Judgement, OpenedSuite, Verification
from nightshift.core.clock import utc_now
from nightshift.core.events import Emitter, Event, Kind
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.commit_message import trailers
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Change, Task
from nightshift.core.tasks.verdicts import Label, SuiteJob, Verdict
from nightshift.storage.db.state_store import Commit, describe_draft
from tests.support.git_repo import git, make_repo
from tests.support.services import open_services

HALF = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a\n"
RIGHT = HALF.replace("return a\n", "return add(a, a)\n")
TESTS = {
    "test_calc.py": "from calc import add, double\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
    "def test_double():\n    assert double(4) == 8\n"
}


@dataclass
class Site:
    """The services of a daemon, without its workers."""

    parts: AttemptServices
    repo: Path
    events: list[Event] = field(default_factory=list)
    began: datetime = field(default_factory=utc_now)

    def task(self, *, attempt: int = 1, **fields: object) -> Task:
        spec = parse_spec({"description": "Write calc.py", "tests": TESTS, "repo": str(self.repo), **fields})
        return Task(id=1, spec=spec, status=Status.RUNNING, created_at=self.began, attempt=attempt)

    def open(self, task: Task) -> Workspace:
        return self.parts.git.open(task.spec.repo, None, task.id, task.spec.description, task.created_at)

    async def judge(self, workspace: Workspace, task: Task, change: Change) -> Verdict:
        job = SuiteJob(base=workspace.tree, change=change, given=task.spec.tests, whole_tree=True)
        return await WithRegression(self.parts.suite, self.parts.imports).judge(job)

    async def state(self, task: Task, text: str) -> AttemptState:
        """Return the state of an attempt that wrote this `calc.py` and tested it."""
        workspace, change = self.open(task), {"calc.py": text}
        verdict = await self.judge(workspace, task, change)
        state = AttemptState(phase=Phase.TESTING, base=workspace.base, change=change, iteration=1, models=("m",))
        return replace(state, verdict=verdict, summary="Write two sums").with_best()

    @property
    def draft(self) -> Commit | None:
        """The draft of task 1 in the ledger, without the time of its review."""
        commit = self.parts.state.draft(1)
        return commit and replace(commit, reviewed_at=None)

    async def leave(self, task: Task, state: AttemptState) -> Commit | None:
        """Leave the draft of an attempt that ended in the given state, and return it."""
        left = await leave_draft(task, self.parts, Emitter(self.events.append), self.open(task), state)
        return left and replace(left, reviewed_at=None)


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_services(tmp_path / "home") as rooms:
        rooms.store.queue.submit(parse_spec({"description": "Write calc.py"})).result()
        yield Site(rooms.parts, make_repo(tmp_path / "theirs"))


async def test_the_best_change_stands_on_the_branch_with_what_failed(site: Site) -> None:
    task = site.task()
    best = await site.state(task, HALF)
    later = replace(best, change={"calc.py": "def add(a, b):\n    return 0\n"}, verdict=None, iteration=4)
    left = await site.leave(task, later)
    assert left is not None
    assert (left.branch, left.label, left.integrated, left.iterations) == ("agent/1-write-calc-py", "draft", False, 1)
    assert git(site.repo, "rev-parse", left.branch) == left.commit
    assert git(site.repo, "show", f"{left.commit}:calc.py") + "\n" == HALF
    assert git(site.repo, "show", f"{left.commit}:test_calc.py") + "\n" == TESTS["test_calc.py"]
    message = git(site.repo, "log", "-1", "--format=%B", left.commit)
    assert (trailers(message)["Draft-Of"], trailers(message)["Verdict"]) == ("1", "draft")
    assert "Task" not in trailers(message)
    assert message.startswith("Draft: Write two sums\n\nA draft: it did not pass: 1 of 2 tests pass; failing:")
    assert left.signs is not None
    assert (left.signs.tests, left.signs.tests_passed, left.signs.failing) == (2, 1, ("test_calc.py::test_double",))
    assert describe_draft(left) == "draft on agent/1-write-calc-py: 1 of 2 tests pass"
    note = read_note(site.parts.git.read_note(str(site.repo), left.commit) or "")
    assert (note.evidence.label, note.failing, note.passed) == (Label.DRAFT, ("test_calc.py::test_double",), 1)
    assert [event.message for event in site.events if event.kind is Kind.DRAFT_LEFT] == [describe_draft(left)]


async def test_a_task_that_changed_nothing_leaves_nothing(site: Site) -> None:
    given = {"calc.py": HALF}
    task = site.task(files=given)
    state = AttemptState(phase=Phase.CODING, base=site.open(task).base, change=given)
    assert await site.leave(task, state) is None
    assert (git(site.repo, "branch", "--list", "agent/*"), site.parts.state.commits(5)) == ("", [])


async def test_a_later_draft_takes_its_place_unless_fewer_of_its_tests_pass(site: Site) -> None:
    none = HALF.replace("return a + b", "return 0")
    first = await site.leave(first_task := site.task(), await site.state(first_task, HALF))
    worse = await site.leave(second_task := site.task(attempt=2), await site.state(second_task, none))
    assert (worse, site.draft) == (first, first)
    same = await site.leave(third_task := site.task(attempt=3), await site.state(third_task, HALF + "\n"))
    assert same is not None
    assert (same.attempt, git(site.repo, "rev-parse", same.branch)) == (3, same.commit)
    assert [each.commit for each in site.parts.state.commits(5)] == [same.commit]


async def test_the_result_takes_its_branch_and_its_row(site: Site) -> None:
    task = site.task()
    left = await site.leave(task, await site.state(task, HALF))
    again = site.task(attempt=2)
    state = replace(await site.state(again, RIGHT), phase=Phase.COMMIT)
    landed = await Integration(again, site.parts, Emitter(site.events.append)).land(site.open(again), state)
    assert isinstance(landed, Landed)
    assert left is not None
    assert (landed.branch, git(site.repo, "rev-parse", left.branch)) == (left.branch, landed.commit)
    assert [(each.commit, each.label) for each in site.parts.state.commits(5)] == [(landed.commit, "tests_passed")]


async def test_verify_says_that_it_is_a_draft_and_what_failed_and_runs_nothing(site: Site) -> None:
    task = site.task()
    left = await site.leave(task, await site.state(task, HALF))
    assert left is not None

    async def open_suite() -> OpenedSuite:
        raise AssertionError("there is nothing to run")

    look = Verification(site.parts.git, str(site.repo), open_suite, site.parts.seal_key)
    report = await look.verify(left.branch)
    assert (report.judgement, report.label, report.task, report.ran) == (Judgement.DRAFT, Label.DRAFT, 1, False)
    assert report.sentence == ("a draft: it did not pass: 1 of 2 tests pass; failing: test_calc.py::test_double")
    git(site.repo, "update-ref", "-d", "refs/notes/nightshift")
    report = await look.verify(left.branch)
    assert (report.judgement, report.sentence) == (Judgement.DRAFT, "a draft: it did not pass")
