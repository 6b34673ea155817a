"""An attempt that waits for its owner.

Other tasks run meanwhile. After the answer, the attempt continues in the phase that asked the question.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from nightshift.app.services import Services
from nightshift.app.store import StoreServices, open_store
from nightshift.attempt.pool import TaskExecutor
from nightshift.attempt.services import AttemptServices
from nightshift.config.load import load_settings
from nightshift.core.clock import utc_now
from nightshift.core.errors import ReferenceLocked
from nightshift.core.events import Event, Kind
from nightshift.core.status import OverallState
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.change_checks import Approval, Ask, AskKind, ChangeCheckJob, ChangeCheckReport
from nightshift.core.tasks.states import ENDED, DaemonState, Ending, Outcome, Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import Label
from nightshift.queue.status import read_stored_status
from nightshift.storage.db.event_log import EventFilter
from tests.support.answers import RIGHT, TESTS, Answers, job
from tests.support.counting import Counting
from tests.support.git_repo import git, make_repo
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer

TOOLZ = Ask(kind=AskKind.PACKAGE, subject="package:toolz", question="May it use toolz?")


@pytest.fixture
def answers() -> Answers:
    return Answers(wrong_first=0)


@pytest.fixture
def server(answers: Answers) -> Iterator[WireServer]:
    with WireServer(answers) as running:
        yield running


@dataclass
class Clock:
    """The real time plus an offset."""

    later: timedelta = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.later


@dataclass
class Asking:
    """A check that asks for the package toolz until the owner grants it."""

    jobs: list[ChangeCheckJob] = field(default_factory=list)

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        self.jobs.append(job)
        return ChangeCheckReport() if TOOLZ.subject in job.granted else ChangeCheckReport(asks=(TOOLZ,))


@dataclass
class Site:
    """One worker with the real services."""

    store: StoreServices
    parts: AttemptServices
    clock: Clock

    def submit(self, number: int, **more: Any) -> int:
        return self.store.queue.submit(parse_spec({**job(number), **more})).result().task_id

    async def waiting(self, task_id: int) -> Approval:
        async with asyncio.timeout(30):
            while self.store.queue.get(task_id).status is not Status.WAITING:  # noqa: ASYNC110 (it is in the database)
                await asyncio.sleep(0.02)
        return self.store.queue.approvals(task_id=task_id)[0]

    def held(self, number: int, phase: Phase | None) -> Task:
        """Return a task that an earlier daemon left waiting for its owner.

        The stored work of the task ends with the phase that asked.
        """
        self.submit(number)
        task = self.store.queue.claim("w").result()
        assert task is not None
        workspace = self.parts.git.open(None, None, task.id, task.spec.description, task.created_at)
        work = AttemptState(
            phase=Phase.AWAITING_APPROVAL,
            base=workspace.base,
            step_no=3,
            iteration=1,
            change={f"job_{number}.py": RIGHT.format(n=number)},
            held_in=phase,
            asks=(TOOLZ,),
        )
        step = Step(phase=Phase.TESTING, outcome=Outcome.NEEDS_APPROVAL, state=work)
        saved = self.store.steps.save_step(task.id, 1, task.fence, step, started_at=utc_now(), duration_s=0.1)
        saved.result()
        return self.store.queue.wait_for_owner(task.id, task.fence, "needs toolz", work.asks).result()

    async def ended(self, task_id: int) -> Task:
        async with asyncio.timeout(30):
            while (task := self.store.queue.get(task_id)).status not in ENDED:  # noqa: ASYNC110 (it is in the database)
                await asyncio.sleep(0.02)
        return task

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        executor = TaskExecutor(self.parts, workers=1, lease_s=30)
        stop = self.store.queue.on_wake(executor.wake_from(asyncio.get_running_loop()))
        running = asyncio.create_task(executor.run())
        try:
            yield
        finally:
            await executor.stop(0)
            await running
            stop()


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path, server: WireServer) -> AsyncIterator[Site]:
    flags = {
        "embedder": "hashed", "model_type": "openai", "model_name": server.model, "openai_api_key": "test-key",
        "openai_base_url": server.openai_base_url,
    }  # fmt: skip
    runtime()
    async with AsyncExitStack() as last:
        with ExitStack() as stack:
            settings = load_settings(flags, tmp_path)
            clock = Clock()
            services = Services(settings, store := open_store(settings, stack, clock), stack, clock)
            last.push_async_callback(services.aclose)
            parts = await services.prepare()
            assert parts, services.notices
            yield Site(store, parts, clock)


async def test_a_night_of_waiting_does_not_count_and_the_decision_reaches_the_gates(
    site: Site, answers: Answers
) -> None:
    check = Asking()
    site.parts = replace(site.parts, change_checks=(check,))
    task_id = site.submit(1, limits={"wall_s": 60})
    async with site.working():
        asked = await site.waiting(task_id)
        assert (asked.ask, asked.attempt) == (TOOLZ, 1)
        site.clock.later += timedelta(hours=9)
        site.store.queue.decide(asked.id, True).result()
        done = await site.ended(task_id)
    assert (done.ending, done.attempt) == (Ending.COMMITTED, 1)
    assert [job.granted for job in check.jobs] == [frozenset(), frozenset({TOOLZ.subject})]
    assert {job.task_id for job in check.jobs} == {task_id}
    assert answers.counts[1, "CODING"] == 1


async def test_the_worker_goes_on_with_others_and_the_waiting_task_goes_on_where_it_asked(
    site: Site, answers: Answers
) -> None:
    waiting = site.held(1, Phase.TESTING)
    async with site.working():
        other = await site.ended(site.submit(2))
        assert other.ending is Ending.COMMITTED
        assert site.store.queue.get(waiting.id).status is Status.WAITING
        (asked,) = site.store.queue.approvals()
        site.store.queue.decide(asked.id, True).result()
        done = await site.ended(waiting.id)
    assert (done.ending, done.attempt) == (Ending.COMMITTED, 1)
    assert {number for number, _ in answers.counts} == {2}, "what was done before it asked was done again"


def list_events(site: Site, task_id: int, kind: Kind) -> list[Event]:
    return list(site.store.events.last(1000, EventFilter(task_id=task_id, kind=kind)))


async def test_a_test_command_that_never_runs_fails_its_task_before_anything_is_spent(
    site: Site, answers: Answers
) -> None:
    spec = {"description": "Write job_1.py", "test_command": ["sh", "-c", "pytest || rm -rf ~"]}
    site.store.queue.check_new = lambda _: None  # as if the owner added the pattern later
    async with site.working():
        refused = await site.ended(site.store.queue.submit(parse_spec(spec)).result().task_id)
    assert (refused.status, refused.ending) == (Status.FAILED, Ending.REFUSED)
    assert "command.rm-outside: `rm -rf ~` removes files outside" in refused.reason
    assert "allow: [command.rm-outside]" in refused.reason
    assert not answers.counts
    (event,) = list_events(site, refused.id, Kind.COMMAND_BLOCKED)
    assert (event.data["argv"], event.data["pattern"]) == (["rm", "-rf", "~"], "rm-outside")


@pytest.mark.parametrize(("granted", "ending"), [(True, Ending.COMMITTED), (False, Ending.REFUSED)])
async def test_a_repository_whose_tests_cannot_run_is_asked_about_before_a_model_is(
    site: Site, answers: Answers, tmp_path: Path, granted: bool, ending: Ending
) -> None:
    repo = make_repo(tmp_path / "shop", {"web.py": "import flask\n", "tests/test_all.py": "import web\n"})
    async with site.working():
        task_id = site.submit(6, repo=str(repo))
        asked = await site.waiting(task_id)
        assert (asked.ask.kind, "No module named 'flask'" in asked.ask.question) == (AskKind.ENVIRONMENT, True)
        assert not answers.counts
        site.store.queue.decide(asked.id, granted).result()
        done = await site.ended(task_id)
    assert done.ending is ending, done.reason
    assert bool(answers.counts) is granted


async def test_a_suite_runs_before_the_first_task_of_its_repository_alone(site: Site, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"tests/test_all.py": "def test_all():\n    assert True\n"})
    suite = Counting(site.parts.suite)
    site.parts = replace(site.parts, suite=suite)
    async with site.working():
        ended = [await site.ended(site.submit(number, repo=str(repo))) for number in (7, 8)]
    assert [task.ending for task in ended] == [Ending.COMMITTED] * 2
    assert [job.regression for job in suite.jobs if not job.change] == [("tests/test_all.py",)]


async def test_a_task_begins_with_the_commits_of_its_dependencies(site: Site, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"tests/test_all.py": "def test_all():\n    assert True\n"})
    async with site.working():
        first, second = (site.submit(number, repo=str(repo)) for number in (11, 12))
        both = site.submit(13, repo=str(repo), depends_on=[first, second])
        clash = site.submit(12, repo=str(repo), tests={"test_job_12.py": TESTS.format(n=12) + "\n"})
        torn = site.submit(14, repo=str(repo), depends_on=[second, clash])
        done, failed = [await site.ended(each) for each in (first, second, both, clash, torn)][2::2]
    assert (done.ending, failed.reason.partition(":")[0]) == (Ending.COMMITTED, "depends_on"), done.reason
    assert {"job_11.py", "job_12.py", "job_13.py"} <= set(git(repo, "ls-tree", "--name-only", str(done.branch)).split())


async def test_what_the_checker_blocks_goes_back_to_the_model_and_never_runs(site: Site, answers: Answers) -> None:
    answers.wrong_first, answers.wrong = 1, "import os\n\nos.system('touch ran')\n" + RIGHT
    async with site.working():
        done = await site.ended(site.submit(3))
    assert (done.ending, done.iterations) == (Ending.COMMITTED, 2)
    (event,) = list_events(site, done.id, Kind.GATE_FINDING)
    assert event.message == (
        "python.os-system (block) in job_3.py:3: `os.system('touch ran')` passes a string to a shell;"
        " use subprocess.run with a list of arguments."
    )
    assert len(list_events(site, done.id, Kind.SUITE_JUDGED)) == 1


async def test_an_attempt_that_an_older_version_left_waiting_begins_at_its_first_phase(
    site: Site, answers: Answers
) -> None:
    waiting = site.held(1, None)
    site.store.queue.decide(site.store.queue.approvals()[0].id, False).result()
    async with site.working():
        done = await site.ended(waiting.id)
    assert done.ending is Ending.COMMITTED
    assert answers.counts[1, "PLANNING"] == 1


async def test_a_change_that_twice_does_not_do_what_the_words_say_stays_on_its_branch_as_a_draft(
    site: Site, answers: Answers
) -> None:
    description = "Write total() in job_1.py; total([1, 5]) == 6"
    async with site.working():
        done = await site.ended(site.submit(1, description=description, tests={}))
    git = site.parts.git
    assert (done.status, done.ending, done.iterations) == (Status.FAILED, Ending.GAVE_UP, 2)
    assert "the words of the task say total([1, 5]) == 6; the change gives 5" in done.reason
    (draft,) = site.parts.state.commits(5, task_id=done.id)
    assert (draft.label, draft.branch, draft.integrated) == (Label.DRAFT, done.branch, False)
    assert "job_1.py" in git.tree(None, draft.commit).entries()
    assert "job_1.py" not in git.tree(None, git.resolve(None, "main")).entries()
    assert answers.counts == {(1, "PLANNING"): 1, (1, "CODING"): 2, (1, "TESTING"): 2}


async def test_no_change_is_no_success_where_the_words_ask_for_something(site: Site, answers: Answers) -> None:
    answers.wrong_first, answers.wrong = 9, "def summed(numbers):\n    return sum(numbers)\n"
    async with site.working():
        await site.ended(site.submit(1, description="Write the sums of job_1", tests={}, test_command=["true"]))
        description = "Write `total(numbers)` in job_1.py"
        ended = await site.ended(site.submit(1, description=description, tests={}, test_command=["true"]))
    assert (ended.status, ended.ending, ended.commit) == (Status.FAILED, Ending.GAVE_UP, None)
    assert ended.reason.startswith("the words of the task ask for total; total is not defined anywhere; ")


@dataclass
class Troubled:
    """A check that raises errors that are not the task's fault, until the list of errors is used up."""

    errors: list[Exception]

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        if self.errors:
            raise self.errors.pop()
        return ChangeCheckReport()


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "is full"),
        (ReferenceLocked("the lock refs/heads/main.lock is 2 h old"), "a lock in"),
    ],
)
async def test_a_task_waits_for_what_is_in_trouble_and_goes_on_where_it_was(
    site: Site, answers: Answers, error: Exception, why: str
) -> None:
    check = Troubled([error] * 3)
    site.parts = replace(site.parts, change_checks=(check,))
    task_id = site.submit(1)
    async with site.working():
        for left in (2, 1, 0):
            async with asyncio.timeout(30):
                while len(check.errors) > left or site.store.queue.get(task_id).status is not Status.SCHEDULED:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            task = site.store.queue.get(task_id)
            assert task.reason.startswith("waiting for: ")
            assert why in task.reason
            overall = replace(read_stored_status(site.store.db.reader(), utc_now()), state=DaemonState.RUNNING).overall
            assert (overall.state, why in overall.text) == (OverallState.PAUSED, True)
            site.clock.later += timedelta(hours=1)
        done = await site.ended(task_id)
    assert (done.ending, done.attempt) == (Ending.COMMITTED, 1)
    assert answers.counts[1, "CODING"] == 1, "a reply was paid for twice"
    assert len(list_events(site, task_id, Kind.WAITING)) == 1, "its owner is told once"


async def test_work_elsewhere_goes_on_while_a_repository_is_away(site: Site, tmp_path: Path, answers: Answers) -> None:
    repo = make_repo(tmp_path / "disk" / "shop", {"README.md": "A shop.\n"})
    away = [site.submit(number, repo=str(repo)) for number in (1, 2)]
    repo.rename(tmp_path / "away")
    here = site.submit(3)
    async with site.working():
        assert (await site.ended(here)).ending is Ending.COMMITTED
        async with asyncio.timeout(30):
            while any(site.store.queue.get(task_id).status is not Status.SCHEDULED for task_id in away):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        waiting = [site.store.queue.get(task_id) for task_id in away]
        assert all("which is not there" in task.reason for task in waiting)
        (tmp_path / "away").rename(repo)
        site.clock.later += timedelta(minutes=1)
        ended = [await site.ended(task_id) for task_id in away]
    assert [task.ending for task in ended] == [Ending.COMMITTED] * 2
    assert answers.counts[1, "CODING"] == answers.counts[2, "CODING"] == 1
