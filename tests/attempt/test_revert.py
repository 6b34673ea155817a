"""Reverts: which commits are reverted and judged, which are refused and why, and what a crash leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.attempt.integration import Integration, Landed
from nightshift.attempt.verify import Verification
from nightshift.core.errors import NoEvidence, NotReverted, UnknownTask
from nightshift.core.events import Emitter, Kind
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.commit_message import revert_message
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.core.text.encoding import decode
from nightshift.storage.db.commit_ledger import Pending
from tests.support.git_repo import fingerprint, git, make_repo, write
from tests.support.services import open_services
from tests.support.trees import OTHER_BYTES
from tests.support.undoing import CALC, OTHER, SUMS, TEST_CALC, TEST_OTHER, TEST_SUMS, Site, open_site


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    with open_site(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "home" / "workspace"


async def test_a_task_is_taken_back_with_its_own_tests_and_others_are_judged(site: Site, workspace: Path) -> None:
    site.land({"calc.py": CALC, "test_calc.py": TEST_CALC})
    second = site.land(
        {
            "calc.py": "LIMIT = 9\n\n\n" + CALC,
            "test_limit.py": "from calc import LIMIT\n\n\ndef test_l():\n    assert LIMIT == 9\n",
        }
    )
    third = site.land({"other.py": OTHER, "test_other.py": TEST_OTHER})
    done = await site.undo.revert(second.task_id)
    assert (done.commit, done.branch, done.judged) == (second.commit, "main", "1 test that reaches its files passed.")
    assert site.files() == {"calc.py", "test_calc.py", "other.py", "test_other.py"}
    (job,) = site.suite.jobs
    assert set(job.given) == {"test_calc.py"}
    assert site.entry(second.task_id).reverted_by == done.by
    assert site.store.queue.get(second.task_id).status is Status.QUEUED, "the task itself is left as it was"
    (event,) = site.reverts()
    assert (event.task_id, event.data["by"]) == (second.task_id, done.by)
    history = git(workspace, "rev-list", "main").split("\n")
    assert history[:3] == [done.by, third.commit, second.commit]


async def test_files_in_other_encodings_are_judged_and_come_back_with_exactly_their_bytes(site: Site) -> None:
    site.land({path: decode(raw) for path, raw in OTHER_BYTES.items()})
    changed = {path: decode(raw + b"\n# \xfc\n") for path, raw in OTHER_BYTES.items() if "test" not in path}
    second = site.land(changed)
    assert (await site.undo.revert(second.task_id)).judged == "2 tests that reach its files passed."
    workspace = site.workspace()
    tree = site.git.tree(workspace, site.git.tip(workspace))
    assert {path: tree.read(path) for path in tree.entries()} == OTHER_BYTES


async def test_what_other_tests_need_is_not_taken_back_unless_forced(site: Site, workspace: Path) -> None:
    first = site.land({"calc.py": CALC, "test_calc.py": TEST_CALC})
    second = site.land({"sums.py": SUMS, "test_sums.py": TEST_SUMS})
    tip = git(workspace, "rev-parse", "main")
    with pytest.raises(NotReverted) as caught:
        await site.undo.revert(first.task_id)
    refusal = str(caught.value)
    assert "test_sums.py" in refusal
    assert f"{second.commit[:10]} of task {second.task_id}: Task {second.task_id}" in refusal
    assert f"revert {first.task_id} --force" in refusal
    assert git(workspace, "rev-parse", "main") == tip
    assert (site.entry(first.task_id).reverted_by, site.reverts(), site.ledger.pending()) == (None, [], None)
    done = await site.undo.revert(first.task_id, force=True)
    assert done.forced
    assert site.files() == {"sums.py", "test_sums.py"}
    message = site.git.describe(site.workspace(), done.by).message
    assert "Not judged" in message


async def test_a_test_that_fails_at_the_tip_already_does_not_stand_in_the_way(site: Site) -> None:
    site.land({"calc.py": CALC, "test_calc.py": TEST_CALC + "\n\ndef test_wrong():\n    assert add(1, 1) == 3\n"})
    second = site.land({"calc.py": "# sums\n" + CALC})
    done = await site.undo.revert(second.task_id)
    assert done.judged == "1 test that reaches its files passed."


async def test_without_a_sandbox_nothing_is_taken_back_unless_forced(site: Site) -> None:
    entry = site.land({"calc.py": CALC, "test_calc.py": TEST_CALC})
    site.land({"sums.py": SUMS, "test_sums.py": TEST_SUMS})
    free = site.land({"other.py": OTHER, "test_other.py": TEST_OTHER})
    site.why_not = "no sandbox holds here"
    assert (await site.undo.revert(free.task_id)).judged == "No test of other work reaches its files."
    with pytest.raises(NotReverted, match="no sandbox holds here"):
        await site.undo.revert(entry.task_id)
    assert (await site.undo.revert(entry.task_id, force=True)).forced


async def test_twice_is_once_and_what_was_taken_back_can_be_brought_back(site: Site) -> None:
    entry = site.land({"calc.py": CALC, "test_calc.py": TEST_CALC})
    with pytest.raises(NotReverted, match="was not reverted"):
        await site.undo.revert(entry.task_id, reapply=True)
    first = await site.undo.revert(entry.task_id)
    with pytest.raises(NotReverted, match=f"already, by {first.by[:10]}; `./cli.py reapply {entry.task_id}`"):
        await site.undo.revert(entry.task_id)
    again = await site.undo.revert(entry.task_id, reapply=True)
    assert again.reapplied
    assert site.files() == {"calc.py", "test_calc.py"}
    assert site.entry(entry.task_id).reverted_by is None
    subject = site.git.describe(site.workspace(), again.by).message.partition("\n")[0]
    assert subject == f'Reapply "Task {entry.task_id}"'
    last = await site.undo.revert(entry.task_id)
    assert site.entry(entry.task_id).reverted_by == last.by
    assert site.files() == set()


async def test_a_conflict_names_the_files_and_the_later_commits(site: Site, workspace: Path) -> None:
    first = site.land({"calc.py": CALC})
    second = site.land({"calc.py": CALC.replace("a + b", "b + a")})
    site.land({"other.py": OTHER})
    before = fingerprint(workspace, except_=(".git/objects",))
    with pytest.raises(NotReverted) as caught:
        await site.undo.revert(first.task_id)
    message = str(caught.value)
    assert "calc.py" in message
    assert f"{second.commit[:10]} of task {second.task_id}" in message
    assert "other.py" not in message
    assert fingerprint(workspace, except_=(".git/objects",)) == before


async def test_what_was_never_integrated_or_committed_is_told_apart(site: Site, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a = 1\n"})
    entry = site.land({"a.py": "a = 2\n"}, repo=repo, integrated=False)
    with pytest.raises(NotReverted, match=f"discard {entry.task_id}"):
        await site.undo.revert(entry.task_id)
    bare = site.store.queue.submit(parse_spec({"description": "x"})).result().task_id
    with pytest.raises(NotReverted, match="made no commit"):
        await site.undo.revert(bare)
    with pytest.raises(UnknownTask):
        await site.undo.revert(99)


async def test_a_branch_that_the_owner_has_checked_out_is_never_moved(site: Site, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a = 1\n"})
    git(repo, "branch", "dev")
    entry = site.land({"b.py": "b = 1\n"}, repo=repo, base="dev")
    git(repo, "checkout", "-q", "dev")
    write(repo, {"mine.py": "unsaved = True\n", "a.py": "a = 2\n"})
    before = fingerprint(repo, except_=(".git/objects",))
    with pytest.raises(NotReverted, match=f"dev is checked out in {repo}"):
        await site.undo.revert(entry.task_id)
    assert fingerprint(repo, except_=(".git/objects",)) == before
    git(repo, "stash", "-q", "-u")
    git(repo, "checkout", "-q", "main")
    done = await site.undo.revert(entry.task_id)
    assert done.branch == "dev"
    assert git(repo, "rev-parse", "dev") == done.by
    assert git(repo, "status", "--porcelain") == ""
    git(repo, "stash", "pop", "-q")
    assert (repo / "mine.py").read_text() == "unsaved = True\n"


async def test_the_branch_is_the_one_it_was_integrated_into_wherever_the_owner_is_now(
    site: Site, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a = 1\n"})
    git(repo, "branch", "dev")
    git(repo, "checkout", "-q", "--detach")
    entry = site.land({"b.py": "b = 1\n"}, repo=repo, base="dev")
    git(repo, "checkout", "-q", "-b", "elsewhere")
    assert (await site.undo.revert(entry.task_id)).branch == "dev"
    older = site.land({"c.py": "c = 1\n"}, repo=repo, base="dev", target="")
    assert (await site.undo.revert(older.task_id)).branch == "dev"


async def test_what_is_gone_from_its_branch_is_told(site: Site, tmp_path: Path) -> None:
    first = site.land({"calc.py": CALC})
    site.land({"calc.py": None})
    with pytest.raises(NotReverted, match="has nothing left"):
        await site.undo.revert(first.task_id)
    repo = make_repo(tmp_path / "repo", {"a.py": "a = 1\n"})
    git(repo, "branch", "dev")
    entry = site.land({"b.py": "b = 1\n"}, repo=repo, base="dev")
    git(repo, "branch", "-f", "dev", "main")
    with pytest.raises(NotReverted, match="not in the history of dev"):
        await site.undo.revert(entry.task_id)


async def test_a_revert_that_was_made_before_a_crash_is_entered_afterwards(site: Site) -> None:
    entry = site.land({"calc.py": CALC})
    where = site.workspace(entry.task_id)
    tip = site.git.tip(where)
    revert_commit = site.git.revert(where, entry.commit, tip, revert_message("s", entry.commit, entry.task_id, ""))
    pending = Pending(entry=site.entry(entry.task_id).id, by=revert_commit.id, reapply=False)
    site.ledger.begin(pending).result()
    await site.undo.recover()
    assert (site.ledger.pending(), site.entry(entry.task_id).reverted_by) == (None, None), "the branch had not moved"
    site.ledger.begin(pending).result()
    assert site.git.advance(where, revert_commit, tip)
    await site.undo.recover()
    assert (site.ledger.pending(), site.entry(entry.task_id).reverted_by) == (None, revert_commit.id)
    assert len(site.reverts()) == 1
    await site.undo.recover()
    assert len(site.reverts()) == 1


async def test_a_ledger_that_was_restored_is_mended_from_history(site: Site) -> None:
    entry = site.land({"calc.py": CALC})
    done = await site.undo.revert(entry.task_id)
    site.ledger.settle(Pending(entry=site.entry(entry.task_id).id, by="", reapply=True), site.reverts()[0]).result()
    assert site.entry(entry.task_id).reverted_by is None
    with pytest.raises(NotReverted, match="already"):
        await site.undo.revert(entry.task_id)
    assert site.entry(entry.task_id).reverted_by == done.by


async def test_a_task_that_is_worked_on_again_after_a_revert_makes_a_commit_of_its_own(tmp_path: Path) -> None:
    async with open_services(tmp_path / "home") as services:
        site = Site(services.store, services.parts.git, services.parts.suite)
        entry = site.land({"calc.py": CALC})
        await site.undo.revert(entry.task_id)
        task: Task = replace(site.store.queue.get(entry.task_id), status=Status.RUNNING, attempt=2)
        workspace = site.git.open(None, None, task.id, task.spec.description, task.created_at)
        work = AttemptState(phase=Phase.COMMIT, base=workspace.base, change={"calc.py": CALC}, iteration=1)
        landed = await Integration(task, services.parts, Emitter(lambda _event: None), resumed=True).land(
            workspace, work
        )
        assert isinstance(landed, Landed)
        assert landed.commit
        assert landed.commit != entry.commit
        assert site.files() == {"calc.py"}
        assert site.git.find_revert(workspace, landed.commit, site.git.tip(workspace)) is None
        assert (await site.undo.revert(entry.task_id)).commit == landed.commit


async def test_reverts_and_integrations_of_one_repository_wait_for_each_other(site: Site) -> None:
    entries = [site.land({f"m{number}.py": f"M = {number}\n"}) for number in range(4)]
    done = await asyncio.gather(*(site.undo.revert(entry.task_id) for entry in entries))
    assert {each.commit for each in done} == {entry.commit for entry in entries}
    assert site.files() == set()
    assert [event.kind for event in site.store.events.last(200)].count(Kind.REVERTED) == 4


async def test_a_revert_says_why_it_has_no_evidence(site: Site, workspace: Path) -> None:
    entry = site.land({"calc.py": CALC, "test_calc.py": TEST_CALC})
    site.land({"sums.py": SUMS})
    done = await site.undo.revert(entry.task_id)
    looking = Verification(site.git, str(workspace), site.open_suite)
    with pytest.raises(NoEvidence, match="reverts another one"):
        await looking.verify(done.by)
