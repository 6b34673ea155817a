"""Landing: the tree and the parent of a commit are those that were judged; the records agree despite interruptions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.attempt.candidate import JudgedChange, find_fault
from nightshift.attempt.evidence import read_note
from nightshift.attempt.integration import Landed
from nightshift.attempt.verify import Judgement
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.commit_message import CommitMessage
from nightshift.core.tasks.states import Phase
from tests.support.git_repo import git, make_repo
from tests.support.landing_site import Site, open_site

ADD = "def add(a, b):\n    return a + b\n"
FASTER = "def add(a, b):\n    total = a + b\n    return total\n"
TEST_ADD = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert add(1, 1) == 2\n"
OWN = {"test_own.py": TEST_ADD}
SHOUT = "def shout(text):\n    return text.upper()\n"
ASSERTS = "    assert shout('a') == 'A'\n    assert shout('b') == 'B'\n"
TEST_SHOUT = f"from shout import shout\n\n\ndef test_shout():\n{ASSERTS}"


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


def branches(site: Site) -> list[str]:
    return git(site.open(site.task(3)).repo, "branch", "--format=%(refname:short)", "--list", "agent/*").split()


# Attempts with nothing left to commit.


@pytest.mark.parametrize(
    ("newer", "newer_tests"),
    [({"calc.py": ADD, "more.py": "X = 1\n"}, OWN), ({"calc.py": ADD}, {"test_other.py": TEST_ADD})],
    ids=["more files", "the same code with other tests"],
)
async def test_a_change_that_newer_work_brought_ends_without_a_commit_and_names_the_one_that_did(
    site: Site, newer: dict[str, str], newer_tests: dict[str, str]
) -> None:
    first, second = site.task(1), site.task(2)
    at_first, at_second = site.open(first), site.open(second)
    first_state = await site.judged(at_first, first, newer, newer_tests)
    second_state = await site.judged(at_second, second, {"calc.py": ADD}, OWN)
    landed = await site.lands(at_first, first, first_state)
    end = await site.lands(at_second, second, second_state)
    assert (end.commit, end.integrated) == (None, False)
    assert landed.commit
    assert landed.commit[:10] in end.reason
    assert "task 1" in end.reason
    assert site.ledger(second) == []
    assert branches(site) == ["agent/1-task-1"]
    assert site.parts.git.resolve(None, "main") == landed.commit


# The evidence note of a landed commit.


async def test_the_evidence_of_a_change_that_meets_newer_work_in_one_file_holds(site: Site) -> None:
    shared = {"README.md": "# Greek\n"}
    first, second = site.task(1), site.task(2)
    at_first, at_second = site.open(first), site.open(second)
    first_state = await site.judged(at_first, first, {**shared, "calc.py": ADD}, OWN)
    second_state = await site.judged(at_second, second, {**shared, "shout.py": SHOUT}, {"test_shout.py": TEST_SHOUT})
    for landed in (await site.land(at_first, first, first_state), await site.land(at_second, second, second_state)):
        assert isinstance(landed, Landed)
        assert landed.commit
        assert landed.integrated
        report = await site.verify(landed.commit)
        assert report.judgement is Judgement.HOLDS, report.checks
    note = read_note(site.parts.git.read_note(None, site.ledger(second)[0].commit) or "")
    assert note.changed == ("shout.py",)


async def test_own_tests_that_pass_on_newer_work_alone_do_not_carry_a_change(site: Site) -> None:
    await site.bring(1, {"keep.py": "K = 1\n"})
    first, second = site.task(2), site.task(3)
    at_first, at_second = site.open(first), site.open(second)
    first_state = await site.judged(at_first, first, {"calc.py": ADD}, {"test_first.py": TEST_ADD})
    second_state = await site.judged(at_second, second, {"calc.py": ADD, "keep.py": "K = 2\n"}, OWN)
    await site.lands(at_first, first, first_state)
    end = await site.reopens(at_second, second, second_state)
    assert end.state.phase is Phase.REFLECTING
    assert end.state.verdict
    assert end.state.verdict.weak


# The check before a branch moves to the new commit.


async def test_a_candidate_is_refused_for_each_way_in_which_it_is_not_what_was_judged(site: Site) -> None:
    task = site.task(1)
    workspace, git_ = site.open(task), site.parts.git
    change = {"calc.py": ADD, **OWN}
    message = CommitMessage(subject="Add", trailers={"Task": "1"})
    candidate = git_.commit(workspace, workspace.base, change, message)
    assert candidate
    judged = JudgedChange(parent=workspace.base, change=change, verdict=None)
    assert find_fault(git_, workspace, candidate, judged) == ""
    wrong = {
        "another parent": (candidate, replace(judged, parent=candidate.id)),
        "a path that was not judged": (candidate, replace(judged, change={"calc.py": ADD})),
        "other bytes": (candidate, replace(judged, change={**change, "calc.py": FASTER})),
        "a judged file is missing": (candidate, replace(judged, change={**change, "more.py": "X = 1\n"})),
        "a removed file is there": (candidate, replace(judged, change={**change, "calc.py": None})),
    }
    for name, (commit, other) in wrong.items():
        assert find_fault(git_, workspace, commit, other), name
    tip = git(workspace.repo, "commit-tree", f"{candidate.id}^{{tree}}", "-p", candidate.id, stdin="Nothing\n")
    empty = replace(candidate, id=tip, parent=candidate.id)
    assert find_fault(git_, workspace, empty, replace(judged, parent=candidate.id, change={}))


# Interruptions during a landing.


@pytest.mark.parametrize("moment", [Kind.COMMITTED, Kind.INTEGRATED])
async def test_a_cancel_while_it_lands_waits_until_git_and_the_records_agree(site: Site, moment: Kind) -> None:
    task, other = site.task(1), site.task(2)
    workspace, at_other = site.open(task), site.open(other)
    work = await site.judged(workspace, task, {"calc.py": ADD}, OWN)
    newer = await site.judged(at_other, other, {"shout.py": SHOUT}, {"test_shout.py": TEST_SHOUT})
    await site.lands(at_other, other, newer)
    landing = site.integration(task)
    job = asyncio.create_task(landing.land(workspace, work))
    loop = asyncio.get_running_loop()

    def cancel(event: Event) -> None:
        if event.kind is moment:
            loop.call_soon_threadsafe(job.cancel)

    site.on_event = cancel
    with pytest.raises(asyncio.CancelledError):
        await job
    (row,) = site.ledger(task)
    assert landing.standing
    assert (landing.standing.commit, landing.standing.integrated) == (row.commit, row.integrated)
    assert git(workspace.repo, "branch", "--contains", row.commit, "--list", "main") == (
        "* main" if row.integrated else ""
    )
    assert (await site.verify(row.commit)).judgement is Judgement.HOLDS


# Target branches that cannot be moved.


async def test_a_target_that_is_gone_leaves_the_commit_on_its_branch_with_the_reason(
    site: Site, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "shop")
    git(repo, "branch", "feature")
    task = site.task(1, repo=str(repo), base="feature", integrate=True, tests={"test_calc.py": TEST_ADD})
    workspace = site.open(task)
    work = await site.judged(workspace, task, {"calc.py": ADD})
    git(repo, "branch", "-D", "feature")
    landed = await site.lands(workspace, task, work)
    assert landed.commit
    assert (landed.branch, landed.integrated) == ("agent/1-task-1", False)
    assert "feature is gone" in landed.reason
    assert git(repo, "rev-parse", "agent/1-task-1") == landed.commit == site.ledger(task)[0].commit


@pytest.mark.parametrize("is_integrated", [False, True])
async def test_what_only_own_tests_judged_lands_in_a_repository_of_the_owners_where_a_setting_says_so(
    site: Site, tmp_path: Path, is_integrated: bool
) -> None:
    repo = make_repo(tmp_path / "shop")
    git(repo, "branch", "feature")
    site.parts = replace(site.parts, defaults=replace(site.parts.defaults, integrate_self_tested=is_integrated))
    task = site.task(1, repo=str(repo), base="feature", integrate=True)
    workspace = site.open(task)
    landed = await site.lands(
        workspace, task, await site.judged(workspace, task, {"calc.py": ADD}, {"test_calc.py": TEST_ADD})
    )
    assert (bool(landed.commit), landed.integrated) == (True, is_integrated)
    assert ("integrate_self_tested" in landed.reason) is not is_integrated


async def test_a_base_that_was_rewritten_and_collected_has_the_task_begin_on_the_new_one(
    site: Site, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "shop")
    task = site.task(1, repo=str(repo), tests={"test_calc.py": TEST_ADD})
    workspace = site.open(task)
    work = await site.judged(workspace, task, {"calc.py": ADD})
    git(repo, "commit", "-q", "--amend", "--no-verify", "-m", "Another first")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    end = await site.reopens(workspace, task, work)
    assert (end.state.phase, end.state.base) == (Phase.PLANNING, git(repo, "rev-parse", "HEAD"))
    assert end.state.change == {}
    assert site.ledger(task) == []
    git(repo, "fsck", "--strict")
