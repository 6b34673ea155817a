"""Commits that exist in git but not in the ledger, because a daemon died between the two writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.attempt.recovery import RecoveryServices, finish_landed
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.commit_message import message_for
from nightshift.core.tasks.repository_settings import RepositorySettings
from nightshift.core.tasks.revisions import Commit
from nightshift.core.tasks.states import Ending, Outcome, Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict
from tests.support.landing_site import Site, open_site

CHANGE = {"calc.py": "def add(a, b):\n    return a + b\n"}


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


def recovery(site: Site) -> RecoveryServices:
    parts = site.parts
    return RecoveryServices(
        git=parts.git, queue=parts.queue, state=parts.state, steps=parts.steps, memory=parts.memory, clock=parts.clock,
        mask=parts.mask, read_repository_settings=lambda _spec: RepositorySettings(),
    )  # fmt: skip


def die_while_landing(site: Site, phase: Phase = Phase.COMMIT, *, moved: bool = True) -> tuple[Task, Commit]:
    """Simulate a daemon that dies while it lands a commit; return the running task and the commit.

    The commit is on the task's branch and, if `moved`, on main. The last step is stored, but the ledger has no record.
    """
    parts = site.parts
    parts.queue.submit(parse_spec({"description": "add calc", "priority": 9})).result()
    task = parts.queue.claim("worker-1").result()
    assert task
    workspace = site.open(task)
    state = AttemptState(phase=phase, base=workspace.base, change=CHANGE, iteration=2, models=("m",))
    step = Step(phase=Phase.TESTING, outcome=Outcome.OK, state=state)
    parts.steps.save_step(
        task.id, task.attempt, task.fence, step, started_at=parts.clock(), duration_s=0.0
    ).result()  # fmt: skip
    commit = parts.git.commit(workspace, workspace.base, CHANGE, message_for(task, state))
    assert commit
    assert not moved or parts.git.advance(workspace, commit, workspace.base)
    return task, commit


@pytest.mark.parametrize("cancelled", [False, True], ids=["", "with a cancel asked for"])
async def test_a_task_whose_target_holds_its_commit_is_done_before_it_is_given_back(
    site: Site, cancelled: bool
) -> None:
    task, commit = die_while_landing(site)
    if cancelled:
        site.parts.queue.cancel(task.id).result()
    await finish_landed(recovery(site))
    site.parts.queue.recover().result()
    stored_task = site.parts.queue.get(task.id)
    assert (stored_task.status, stored_task.ending) == (Status.DONE, Ending.COMMITTED)
    assert (stored_task.commit, stored_task.branch) == (commit.id, commit.branch)
    (row,) = site.ledger(task)
    assert (row.commit, row.integrated, row.target) == (commit.id, True, "refs/heads/main")
    assert [file.path for file in row.files or ()] == ["calc.py"]


async def test_a_task_that_had_landed_leaves_the_lesson_of_its_failure(site: Site) -> None:
    task, _ = die_while_landing(site)
    error = "unsupported operand type(s) for +: 'int' and 'str'"
    failure = Failure(id="t.py::test_add", kind="TypeError", message=error, frame="calc.py:2 in add")
    evidence = Evidence(tree="", sandbox="", label=Label.TESTS_PASSED)
    verdict = Verdict(passed=False, reason="1 failed", evidence=evidence, failures=(failure,))
    failing = {"calc.py": "def add(a, b):\n    return a\n"}
    state = AttemptState(phase=Phase.REFLECTING, base="", change=failing, verdict=verdict)
    await site.parts.memory.remember(state, task.id, "add calc")
    await finish_landed(recovery(site))
    (lesson,) = await site.parts.memory.recall(f"TypeError: {error}", 3)
    assert "+    return a + b" in lesson.text


async def test_a_commit_on_its_branch_alone_is_recorded_and_its_task_goes_on(site: Site) -> None:
    task, commit = die_while_landing(site, moved=False)
    await finish_landed(recovery(site))
    assert site.parts.queue.get(task.id).status is Status.RUNNING
    (row,) = site.ledger(task)
    assert (row.commit, row.integrated, row.target) == (commit.id, False, "refs/heads/main")


async def test_a_task_that_did_not_land_is_left_as_it_is(site: Site) -> None:
    task, _ = die_while_landing(site, Phase.CODING)
    await finish_landed(recovery(site))
    assert site.parts.queue.get(task.id).status is Status.RUNNING
    assert site.ledger(task) == []
