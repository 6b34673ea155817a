"""A draft on a task's branch is replaced by a result, and is never mistaken for one."""

from __future__ import annotations

from pathlib import Path

from nightshift.core.tasks.commit_message import CommitMessage
from nightshift.core.tasks.revisions import Commit, Workspace
from tests.git.conftest import Bench, make_commit
from tests.support.git_repo import git


def draft(bench: Bench, where: Workspace, text: str, number: int = 7) -> Commit:
    draft_message = CommitMessage(subject="Draft: Do it", trailers={"Draft-Of": str(number), "Verdict": "draft"})
    commit = bench.git.commit(where, where.base, {"a.py": text}, draft_message)
    assert commit is not None
    return commit


def result(bench: Bench, where: Workspace, text: str = "a = 9\n") -> Commit:
    return make_commit(bench.git, where, {"a.py": text})


def test_a_later_draft_and_the_result_take_the_branch_of_a_draft(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    first, second = draft(bench, where, "a = 2\n"), draft(bench, where, "a = 3\n")
    assert first.branch == second.branch == where.branch == "agent/7-x"
    assert git(repo, "rev-parse", where.branch) == second.id
    commit = result(bench, where)
    assert (commit.branch, git(repo, "rev-parse", where.branch)) == (where.branch, commit.id)


def test_a_draft_leaves_the_branch_of_a_result_of_another_task_and_of_one_that_is_looked_at(
    bench: Bench, repo: Path
) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    commit = result(bench, where)
    left = draft(bench, where, "a = 2\n")
    assert (left.branch, git(repo, "rev-parse", where.branch)) == ("agent/7-x-2", commit.id)
    other = draft(bench, bench.git.open(str(repo), None, 8, "x"), "a = 2\n", number=8)
    bench.later(hours=1)
    younger = bench.git.open(str(repo), None, 8, "x", bench.now)
    assert draft(bench, younger, "a = 3\n", number=8).branch == "agent/8-x-2"
    git(repo, "checkout", "-q", other.branch)
    looked_at = bench.git.open(str(repo), "main", 8, "x")
    assert draft(bench, looked_at, "a = 4\n", number=8).branch == "agent/8-x-2"
    assert git(repo, "rev-parse", other.branch) == other.id


def test_a_draft_is_never_found_as_the_result_on_its_branch_or_in_the_target(bench: Bench, repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "elsewhere")
    where = bench.git.open(str(repo), "main", 7, "x")
    left = draft(bench, where, "a = 2\n")
    assert (bench.git.find_commit(where, 7), bench.git.find_landed(where)) == (None, None)
    git(repo, "update-ref", "refs/heads/main", left.id)
    assert (bench.git.find_commit(where, 7), bench.git.find_landed(where)) == (None, None)
