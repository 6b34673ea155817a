"""Commits that wait on a task's branch are integrated, refused with a reason, discarded, or interrupted by a crash."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.attempt.branch_integration import BranchIntegrator
from nightshift.attempt.draft import leave_draft
from nightshift.attempt.integration import Integration, Landed
from nightshift.attempt.regression import WithRegression
from nightshift.attempt.revert import CommitServices, Reverter
from nightshift.attempt.services import AttemptServices
from nightshift.attempt.verify import Judgement, OpenedSuite, Verification
from nightshift.core.errors import BranchRefused, NoEvidence, UnknownTask
from nightshift.core.events import Emitter, Kind
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.commit_message import subject_of, trailers
from nightshift.core.tasks.repository_settings import RepositorySettings
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Change, Task
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.storage.db.commit_ledger import CommitLedger, PendingIntegration
from nightshift.storage.db.event_log import EventFilter
from nightshift.storage.db.state_store import Commit as Entry
from tests.support.counting import Counting
from tests.support.git_repo import fingerprint, git, make_repo, write
from tests.support.services import Opened, open_services

ADD = "def add(a, b):\n    return a + b\n"
TEST_ADD = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
OTHER = "def shout(text):\n    return text.upper()\n"
TEST_OTHER = "from other import shout\n\n\ndef test_shout():\n    assert shout('a') == 'A'\n"
USES_ADD = "from calc import add\n\n\ndef total(items):\n    return add(*items)\n"
TEST_TOTAL = "from sums import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
WAITS = "it waits on its branch"


class Site:
    """A home with the services of workers, tasks whose commits wait on branches, and an integrator.

    The integrator integrates these commits.
    """

    def __init__(self, opened: Opened) -> None:
        self.parts: AttemptServices = opened.parts
        self.store, self.git = opened.store, opened.parts.git
        self.suite = Counting(opened.parts.suite)
        self.ledger = CommitLedger(self.store.db, self.store.events)
        self.why_not, self.settings = "", RepositorySettings()
        self.services = CommitServices(
            git=self.git, queue=self.store.queue, state=self.store.state, steps=self.store.steps,
            events=self.store.events, ledger=self.ledger, limits=self.parts.defaults.limits,
            open_suite=self._open_suite, merge_locks=self.parts.merge_locks, imports=self.parts.imports,
            read_repository_settings=lambda _spec: self.settings, seal_key=self.parts.seal_key,
        )  # fmt: skip
        self.integrator = BranchIntegrator(self.services)

    async def _open_suite(self) -> OpenedSuite:
        return OpenedSuite(suite=None if self.why_not else self.suite, why_not=self.why_not)

    def begin(self, **fields: object) -> Task:
        """Return a task that a worker has claimed."""
        spec = parse_spec({"description": f"change {', '.join(map(str, fields))}", **fields})
        number = self.store.queue.submit(spec).result().task_id
        task = self.store.queue.claim("w1", only=number).result()
        assert task
        return task

    def workspace(self, task: Task) -> Workspace:
        spec = task.spec
        return self.git.open(spec.repo, spec.base, task.id, spec.description, task.created_at)

    async def judged(self, task: Task, change: Change) -> AttemptState:
        workspace = self.workspace(task)
        job = SuiteJob(base=workspace.tree, change=change, given=task.spec.tests, whole_tree=not workspace.is_own)
        verdict = await WithRegression(self.parts.suite, self.parts.imports).judge(job)
        assert verdict.passed, verdict.reason
        return AttemptState(phase=Phase.COMMIT, base=workspace.base, change=change, verdict=verdict, iteration=1)

    async def land(self, task: Task, state: AttemptState, *, stays: str) -> Entry:
        events = Emitter(self.store.events.emit)
        landed = await Integration(task, self.parts, events, stays=stays).land(self.workspace(task), state)
        assert isinstance(landed, Landed)
        self.finish(task, Ending.COMMITTED, landed.reason, landed.commit, landed.branch)
        return self.entry(task.id)

    async def leave(self, change: Change, tests: dict[str, str], **fields: object) -> Entry:
        """Do a task whose commit waits on its own branch, with the evidence of a real run; return the ledger entry."""
        task = self.begin(tests=tests, **fields)
        return await self.land(task, await self.judged(task, change), stays=WAITS)

    async def integrate_newer(self, change: Change, tests: dict[str, str], **fields: object) -> Entry:
        """Do a task whose commit lands on the target branch, so that waiting commits have an older base."""
        task = self.begin(tests=tests, integrate=True, **fields)
        return await self.land(task, await self.judged(task, change), stays="")

    async def leave_draft(self, change: Change, tests: dict[str, str]) -> Entry:
        """Leave the draft of a task that gave up."""
        task = self.begin(tests=tests, description="Add a total")
        workspace = self.workspace(task)
        job = SuiteJob(base=workspace.tree, change=change, given=tests)
        verdict = await WithRegression(self.parts.suite, self.parts.imports).judge(job)
        state = AttemptState(
            phase=Phase.ABANDON, base=workspace.base, change=change, verdict=verdict, iteration=1,
            summary="Add a total\n\nIt adds what is in a list.",
        )  # fmt: skip
        draft = await leave_draft(task, self.parts, Emitter(self.store.events.emit), workspace, state)
        assert draft
        self.finish(task, Ending.GAVE_UP, "it gave up", draft.commit, draft.branch)
        return self.entry(task.id)

    def finish(self, task: Task, ending: Ending, reason: str, commit: str | None, branch: str | None) -> None:
        queue = self.store.queue
        queue.finish(task.id, task.fence, ending, reason=reason, commit=commit, branch=branch).result()

    def entry(self, task_id: int) -> Entry:
        return self.ledger.page(1, task_id=task_id)[0]

    def tip(self) -> str:
        return self.git.tip(self.git.open(None, None, 1, "x"))

    def task(self, task_id: int) -> Task:
        return self.store.queue.get(task_id)

    async def assert_holds(self, commit: str, repo: str) -> None:
        async def open_suite() -> OpenedSuite:
            return OpenedSuite(suite=self.parts.suite)

        report = await Verification(self.git, repo, open_suite, self.parts.seal_key).verify(commit)
        assert report.judgement is Judgement.HOLDS, report.checks


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_services(tmp_path / "home") as opened:
        yield Site(opened)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return an owner's repository: main is checked out, tasks begin at dev."""
    path = make_repo(tmp_path / "repo", {"calc.py": ADD, "test_calc.py": TEST_ADD})
    git(path, "branch", "dev")
    return path


@pytest_asyncio.fixture(loop_scope="module")
async def entry(site: Site, repo: Path) -> Entry:
    """A commit that waits on its own branch for dev."""
    return await site.leave({"other.py": OTHER}, {"test_other.py": TEST_OTHER}, repo=str(repo), base="dev")


# Commits that are integrated.


async def test_a_commit_whose_base_is_still_the_tip_lands_as_it_is_without_another_run(
    site: Site, repo: Path, entry: Entry
) -> None:
    before = fingerprint(repo, except_=(".git",))
    done = await site.integrator.integrate(entry.task_id)
    assert (done.commit, done.waited, done.target, done.already) == (entry.commit, entry.commit, "dev", False)
    assert site.suite.jobs == [], "exactly this tree was judged on this parent"
    assert git(repo, "rev-parse", "dev") == entry.commit
    assert fingerprint(repo, except_=(".git",)) == before
    row = site.entry(entry.task_id)
    assert (row.integrated, row.target, row.waits) == (True, "refs/heads/dev", False)
    await site.assert_holds(done.commit, str(repo))


async def test_newer_work_is_rebased_onto_and_the_merged_tree_is_judged(site: Site, repo: Path) -> None:
    entry = await site.leave({"sums.py": USES_ADD}, {"test_sums.py": TEST_TOTAL}, repo=str(repo), base="dev")
    newer = await site.integrate_newer({"other.py": OTHER}, {"test_other.py": TEST_OTHER}, repo=str(repo), base="dev")
    done = await site.integrator.integrate(entry.task_id)
    assert len(site.suite.jobs) == 1
    assert not site.suite.jobs[0].own_proven, "red-before is measured on the merged tree"
    assert git(repo, "rev-list", "dev").split()[:2] == [done.commit, newer.commit]
    assert git(repo, "rev-parse", entry.branch) == done.commit, "the task's branch moves along"
    await site.assert_holds(done.commit, str(repo))
    task, row = site.task(entry.task_id), site.entry(entry.task_id)
    assert (task.status, task.commit, row.commit, row.base) == (Status.DONE, done.commit, done.commit, newer.commit)
    (event,) = [
        each for each in site.store.events.last(50, EventFilter(task_id=task.id)) if each.kind is Kind.INTEGRATED
    ]
    assert event.data["commit"] == done.commit


async def test_asking_twice_is_asking_once(site: Site, repo: Path, entry: Entry) -> None:
    first = await site.integrator.integrate(entry.task_id)
    again = await site.integrator.integrate(entry.task_id)
    assert (again.already, again.commit, again.target) == (True, first.commit, "dev")
    assert git(repo, "rev-parse", "dev") == first.commit
    events = [each.kind for each in site.store.events.last(50, EventFilter(task_id=entry.task_id))]
    assert events.count(Kind.INTEGRATED) == 1
    git(repo, "branch", "-f", "dev", entry.base)
    assert not (await site.integrator.integrate(entry.task_id)).already, "git is right where the ledger differs"
    assert git(repo, "rev-parse", "dev") == first.commit
    reverted = await Reverter(site.services).revert(entry.task_id)
    with pytest.raises(BranchRefused, match=f"is reverted by {reverted.by[:10]}"):
        await site.integrator.integrate(entry.task_id)


async def test_what_its_owner_merged_or_cherry_picked_is_entered(site: Site, repo: Path) -> None:
    merged = await site.leave({"other.py": OTHER}, {"test_other.py": TEST_OTHER}, repo=str(repo), base="dev")
    git(repo, "checkout", "-q", "dev")
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge", merged.branch)
    picked = await site.leave({"sums.py": USES_ADD}, {"test_sums.py": TEST_TOTAL}, repo=str(repo), base="dev")
    write(repo, {"mine.txt": "mine"})
    git(repo, "add", "mine.txt")
    git(repo, "commit", "-q", "-m", "Mine")
    git(repo, "cherry-pick", picked.commit)
    tip = git(repo, "rev-parse", "dev")
    for entry, commit in ((merged, merged.commit), (picked, tip)):
        done = await site.integrator.integrate(entry.task_id)
        assert (done.already, done.commit) == (True, commit)
        assert site.entry(entry.task_id).integrated
    assert git(repo, "rev-parse", "dev") == tip
    with pytest.raises(BranchRefused, match="is integrated"):
        await site.integrator.discard(merged.task_id)


async def test_the_target_of_the_repositorys_settings_is_moved(site: Site, repo: Path) -> None:
    entry = await site.leave({"other.py": OTHER}, {"test_other.py": TEST_OTHER}, repo=str(repo))
    with pytest.raises(BranchRefused, match="main is checked out in"):
        await site.integrator.integrate(entry.task_id)
    site.settings = RepositorySettings(target="dev")
    assert (await site.integrator.integrate(entry.task_id)).target == "dev"


# Drafts that are integrated.


async def test_a_draft_that_passes_now_becomes_the_result_of_its_task(site: Site) -> None:
    draft = await site.leave_draft({"sums.py": USES_ADD}, {"test_sums.py": TEST_TOTAL})
    assert site.task(draft.task_id).status is Status.FAILED
    await site.integrate_newer({"calc.py": ADD}, {"test_calc.py": TEST_ADD})
    done = await site.integrator.integrate(draft.task_id)
    task = site.task(draft.task_id)
    assert (task.status, task.ending, task.commit) == (Status.DONE, Ending.COMMITTED, done.commit)
    message = site.git.describe(None, done.commit).message
    assert subject_of(message) == "Add a total"
    assert "draft" not in message.lower()
    assert "It adds what is in a list." in message
    values = trailers(message)
    assert (values["Task"], values["Verdict"], done.label) == (str(task.id), "tests_passed", "tests_passed")
    assert site.tip() == done.commit == site.git.branch_at(None, draft.branch)
    assert (site.entry(task.id).subject, site.entry(task.id).label) == ("Add a total", "tests_passed")
    await site.assert_holds(done.commit, draft.repo)


async def test_a_draft_that_fails_is_refused_with_its_failing_tests_unless_forced(site: Site) -> None:
    wrong = USES_ADD.replace("add(*items)", "0")
    draft = await site.leave_draft({"sums.py": wrong, "calc.py": ADD}, {"test_sums.py": TEST_TOTAL})
    tip = site.tip()
    with pytest.raises(BranchRefused) as caught:
        await site.integrator.integrate(draft.task_id)
    assert "test_sums.py::test_total" in str(caught.value)
    assert f"integrate {draft.task_id} --force" in str(caught.value)
    assert (site.tip(), site.entry(draft.task_id).waits, site.task(draft.task_id).status) == (tip, True, Status.FAILED)
    done = await site.integrator.integrate(draft.task_id, force=True)
    assert (done.forced, done.label, site.tip()) == (True, "", done.commit)
    message = site.git.describe(None, done.commit).message
    assert (trailers(message)["Task"], "Verdict" in trailers(message)) == (str(draft.task_id), False)
    assert "Not judged" in message
    with pytest.raises(NoEvidence, match="integrated without a run"):
        await site.assert_holds(done.commit, draft.repo)
    assert site.task(draft.task_id).status is Status.DONE


# Commits whose integration is refused. Everything stays as it was.


async def refuse(site: Site, entry: Entry, match: str) -> str:
    """Check that an integration is refused and changes nothing but git objects; return the reason."""
    where = Path(entry.repo)
    before, row = fingerprint(where, except_=(".git/objects",)), site.entry(entry.task_id)
    with pytest.raises(BranchRefused, match=match) as caught:
        await site.integrator.integrate(entry.task_id)
    assert fingerprint(where, except_=(".git/objects",)) == before
    assert (site.entry(entry.task_id), site.ledger.integrating()) == (row, None)
    return str(caught.value)


async def test_a_merged_tree_that_fails_stays_on_its_branch(site: Site, repo: Path) -> None:
    entry = await site.leave({"sums.py": USES_ADD}, {"test_sums.py": TEST_TOTAL}, repo=str(repo), base="dev")
    git(repo, "checkout", "-q", "dev")
    write(repo, {"calc.py": "def plus(a, b):\n    return a + b\n", "test_calc.py": TEST_ADD.replace("add", "plus")})
    git(repo, "commit", "-q", "-a", "-m", "Rename")
    git(repo, "checkout", "-q", "main")
    message = await refuse(site, entry, "it does not pass on dev")
    assert "test_sums.py" in message


async def test_a_target_that_is_checked_out_or_gone_is_left_alone(site: Site, repo: Path, entry: Entry) -> None:
    git(repo, "checkout", "-q", "dev")
    message = await refuse(site, entry, f"dev is checked out in {repo}")
    assert f"git merge {entry.branch}" in message
    git(repo, "checkout", "-q", "main")
    git(repo, "branch", "-m", "dev", "other")
    assert entry.branch in await refuse(site, entry, "there is no branch")
    git(repo, "branch", "-m", "other", "dev")
    assert (await site.integrator.integrate(entry.task_id)).target == "dev"


async def test_a_branch_that_holds_more_or_is_gone_is_left_alone(site: Site, repo: Path, entry: Entry) -> None:
    git(repo, "checkout", "-q", entry.branch)
    write(repo, {"other.py": OTHER + "# mine\n"})
    git(repo, "commit", "-q", "-a", "-m", "On top")
    mine = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "main")
    assert mine[:10] in await refuse(site, entry, "holds more than the commit")
    with pytest.raises(BranchRefused, match=mine[:10]):
        await site.integrator.discard(entry.task_id)
    assert git(repo, "rev-parse", entry.branch) == mine
    git(repo, "branch", "-q", "-D", entry.branch)
    assert f"branch {entry.branch} {entry.commit}" in await refuse(site, entry, "is gone")


async def test_without_evidence_or_a_sandbox_nothing_is_integrated_unless_forced(site: Site, repo: Path) -> None:
    entry = await site.leave({"sums.py": USES_ADD}, {"test_sums.py": TEST_TOTAL}, repo=str(repo), base="dev")
    await site.integrate_newer({"other.py": OTHER}, {"test_other.py": TEST_OTHER}, repo=str(repo), base="dev")
    site.why_not = "no sandbox holds here"
    await refuse(site, entry, "no sandbox holds here")
    workspace = site.workspace(site.task(entry.task_id))
    text = site.git.read_note(workspace, entry.commit)
    assert text
    site.git.note(workspace, entry.commit, text.replace('"passed": 1', '"passed": 2'))
    await refuse(site, entry, "altered after this home had sealed it")
    site.git.note(workspace, entry.commit, "{}")
    await refuse(site, entry, "nothing says how to judge")
    assert (await site.integrator.integrate(entry.task_id, force=True)).forced


async def test_a_task_that_is_worked_on_or_made_no_commit_has_nothing_to_integrate(site: Site) -> None:
    draft = await site.leave_draft({"sums.py": USES_ADD}, {"test_sums.py": TEST_TOTAL})
    site.store.queue.retry(draft.task_id).result()
    for ask in (site.integrator.integrate, site.integrator.discard):
        with pytest.raises(BranchRefused, match=f"task {draft.task_id} is queued"):
            await ask(draft.task_id)
        with pytest.raises(UnknownTask):
            await ask(99)
    empty = site.begin(tests={"test_a.py": "def test_a():\n    assert True\n"})
    site.finish(empty, Ending.NO_CHANGE, "nothing to do", None, None)
    with pytest.raises(BranchRefused, match="made no commit"):
        await site.integrator.integrate(empty.id)


async def test_the_branch_of_a_hubs_task_is_left_to_its_remote(site: Site, repo: Path, entry: Entry) -> None:
    site.store.db.write(lambda conn: conn.execute("UPDATE tasks SET hub_id = 7")).result()
    await refuse(site, entry, "shared with a hub")
    with pytest.raises(BranchRefused, match="at the remote"):
        await site.integrator.discard(entry.task_id)


# Commits that are discarded.


async def test_a_discarded_branch_is_gone_and_can_be_made_again(site: Site, repo: Path, entry: Entry) -> None:
    done = await site.integrator.discard(entry.task_id)
    assert (done.already, done.undo) == (False, f"git -C {repo} branch {entry.branch} {entry.commit}")
    assert git(repo, "branch", "--list", entry.branch) == ""
    row = site.entry(entry.task_id)
    assert (row.waits, row.reviewed_at is not None) == (False, True)
    assert site.ledger.page(9, integrated=False) == []
    (event,) = [
        each for each in site.store.events.last(50, EventFilter(task_id=entry.task_id)) if each.kind is Kind.DISCARDED
    ]
    assert event.data["branch"] == entry.branch
    assert (await site.integrator.discard(entry.task_id)).already
    with pytest.raises(BranchRefused, match="was discarded"):
        await site.integrator.integrate(entry.task_id)
    git(repo, *done.undo.split()[3:])
    assert (await site.integrator.integrate(entry.task_id)).commit == entry.commit
    assert site.entry(entry.task_id).discarded_at is None


async def test_a_branch_that_is_checked_out_is_not_discarded(site: Site, repo: Path, entry: Entry) -> None:
    git(repo, "checkout", "-q", entry.branch)
    with pytest.raises(BranchRefused, match=f"{entry.branch} is checked out"):
        await site.integrator.discard(entry.task_id)
    assert site.entry(entry.task_id).waits


# Crashes and cancellations during an integration.


async def test_a_move_that_was_made_before_a_crash_is_entered_at_the_next_start(
    site: Site, repo: Path, entry: Entry
) -> None:
    pending = PendingIntegration(
        entry=entry.id, commit=entry.commit, base=entry.base, subject="x", target="refs/heads/dev",
        label=entry.label, judged="x",
    )  # fmt: skip
    site.ledger.begin_integrating(pending).result()
    await site.integrator.recover()
    assert (site.ledger.integrating(), site.entry(entry.task_id).integrated) == (None, False), "it was not moved"
    site.ledger.begin_integrating(pending).result()
    git(repo, "branch", "-f", "dev", entry.commit)
    await site.integrator.recover()
    assert (site.ledger.integrating(), site.entry(entry.task_id).integrated) == (None, True)
