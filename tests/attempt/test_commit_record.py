"""The ledger's row of a commit contains the files that it changed and the results of its attempt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest_asyncio

from nightshift.attempt.integration import Integration, Landed
from nightshift.attempt.regression import WithRegression
from nightshift.core.clock import utc_now
from nightshift.core.events import Emitter
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.storage.db.commit_signs import Signs
from tests.support.services import Opened, open_services

ADD = "def add(a, b):\n    return a + b\n"
TEST_ADD = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


@pytest_asyncio.fixture(loop_scope="module")
async def rooms(tmp_path: Path) -> AsyncIterator[Opened]:
    async with open_services(tmp_path / "home") as opened:
        yield opened


async def land(rooms: Opened, change: dict[str, str | None], **fields: object) -> str:
    """Land a change with the tests of `calc`, and return the recorded commit."""
    spec = parse_spec({"description": "add", "tests": {"test_calc.py": TEST_ADD}, **fields})
    number = rooms.store.queue.submit(spec).result().task_id
    task = Task(id=number, spec=spec, status=Status.RUNNING, created_at=utc_now(), attempt=1)
    workspace = rooms.parts.git.open(spec.repo, spec.base, number, spec.description, task.created_at)
    job = SuiteJob(base=workspace.tree, change=change, given=spec.tests, whole_tree=not workspace.is_own)
    verdict = await WithRegression(rooms.parts.suite, rooms.parts.imports).judge(job)
    work = AttemptState(
        phase=Phase.COMMIT, base=workspace.base, change=change, verdict=verdict, iteration=2, escalation=1
    )
    work = replace(work, noted=("net.socket:calc.py",), packages={"toolz": "1.0"})
    landed = await Integration(task, rooms.parts, Emitter(lambda _: None)).land(workspace, work)
    assert isinstance(landed, Landed)
    assert landed.commit
    return landed.commit


async def test_the_ledger_knows_the_lines_and_the_signs_of_a_commit(rooms: Opened) -> None:
    await land(rooms, {"calc.py": ADD, "old.py": "X = 1\n"})
    await land(rooms, {"calc.py": ADD.replace("a + b", "b + a"), "old.py": None})
    second, first = rooms.store.state.commits(2)
    assert first.files == (
        ChangedFile(path="calc.py", added=2, removed=0),
        ChangedFile(path="old.py", added=1, removed=0),
        ChangedFile(path="test_calc.py", added=5, removed=0),
    )
    assert second.files == (
        ChangedFile(path="calc.py", added=1, removed=1),
        ChangedFile(path="old.py", added=0, removed=1),
    )
    assert second.signs == Signs(
        tests=1, tests_passed=1, escalations=1, packages={"toolz": "1.0"}, findings=("net.socket:calc.py",)
    )
    assert second.pushed_at is None
