"""A revert is a three-way merge on the tip of the branch and never rewrites history; reverts are found in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.errors import GitError, MergeConflict
from nightshift.core.tasks.commit_message import CommitMessage, revert_message
from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.core.tasks.task import Change
from nightshift.git.manager import GitManager
from tests.git.conftest import Bench, message
from tests.support.git_repo import fingerprint, git, write

THREE = {"a.py": "def a():\n    return 1\n", "tests/test_a.py": "from a import a\n", "b.py": "b = 1\n"}


def land(bench: Bench, task_id: int, change: Change) -> tuple[Workspace, Commit]:
    where = bench.git.open(None, None, task_id, f"task {task_id}")
    commit = bench.git.commit(where, where.base, change, message(task_id, f"Task {task_id}"))
    assert commit
    assert bench.git.advance(where, commit, where.base)
    return where, commit


def undo(manager: GitManager, where: Workspace, commit: str, *, reapply: bool = False) -> Commit:
    tip = manager.tip(where)
    wording = revert_message("Task", commit, where.task_id, "nothing was run", reapply=reapply)
    reverting_commit = manager.revert(where, commit, tip, wording)
    assert manager.advance(where, reverting_commit, tip)
    return reverting_commit


def test_a_change_is_taken_back_and_later_work_stays(bench: Bench) -> None:
    where, first = land(bench, 1, THREE)
    _, second = land(bench, 2, {"c.py": "c = 1\n"})
    third_where, third = land(bench, 3, {"a.py": "def a():\n    return 3\n"})
    commit = undo(bench.git, third_where, third.id)
    assert bench.git.tree(where, commit.id).read("a.py") == THREE["a.py"].encode()
    assert set(bench.git.tree(where, commit.id).entries()) == {*THREE, "c.py"}
    assert git(bench.workspace, "rev-list", "main").split("\n")[:4] == [commit.id, third.id, second.id, first.id]
    assert (bench.workspace / "a.py").read_text() == THREE["a.py"]


def test_history_tells_what_was_taken_back_and_what_was_brought_back(bench: Bench) -> None:
    where, commit = land(bench, 1, THREE)
    assert bench.git.find_revert(where, commit.id, bench.git.tip(where)) is None
    back = undo(bench.git, where, commit.id)
    land(bench, 2, {"c.py": "c = 1\n"})
    assert bench.git.find_revert(where, commit.id, bench.git.tip(where)) == back.id
    again = undo(bench.git, where, back.id, reapply=True)
    assert bench.git.tree(where, again.id).read("b.py") == b"b = 1\n"
    assert bench.git.find_revert(where, commit.id, bench.git.tip(where)) is None
    assert bench.git.find_revert(where, back.id, bench.git.tip(where)) == again.id
    last = undo(bench.git, where, commit.id)
    assert bench.git.find_revert(where, commit.id, bench.git.tip(where)) == last.id


def test_a_revert_that_the_owner_made_with_git_counts_as_one(bench: Bench) -> None:
    where, commit = land(bench, 1, THREE)
    git(bench.workspace, "revert", "--no-edit", commit.id)
    mine = git(bench.workspace, "rev-parse", "HEAD")
    assert bench.git.find_revert(where, commit.id, mine) == mine


def test_a_task_cannot_say_that_it_reverts_another(bench: Bench) -> None:
    where, commit = land(bench, 1, THREE)
    body = f"This reverts commit {commit.id}.\n\nReverts: {commit.id}"
    wording = CommitMessage(subject="x", body=body, trailers={"Task": "2", "Model": "m"})
    tip = bench.git.tip(where)
    forged = bench.git.commit(bench.git.open(None, None, 2, "y"), tip, {"c.py": ""}, wording)
    assert forged
    assert bench.git.advance(where, forged, tip)
    assert bench.git.find_revert(where, commit.id, forged.id) is None


def test_recovery_does_not_find_a_commit_that_was_taken_back(bench: Bench) -> None:
    where, commit = land(bench, 1, THREE)
    assert bench.git.find_commit(where, 1) == commit
    back = undo(bench.git, where, commit.id)
    assert bench.git.find_commit(where, 1) is None
    git(bench.workspace, "branch", "-D", commit.branch)
    assert bench.git.find_commit(where, 1) is None
    undo(bench.git, where, back.id, reapply=True)
    restored = bench.git.find_commit(where, 1)
    assert restored
    assert restored.id == commit.id


def test_a_conflict_names_the_files_and_changes_nothing(bench: Bench) -> None:
    where, commit = land(bench, 1, THREE)
    _, later = land(bench, 2, {"a.py": "def a():\n    return 2\n", "x.py": ""})
    land(bench, 3, {"b.py": "b = 1\n\n"})
    before = fingerprint(bench.workspace, except_=(".git/objects",))
    tip = bench.git.tip(where)
    with pytest.raises(MergeConflict) as caught:
        bench.git.revert(where, commit.id, tip, revert_message("t", commit.id, 1, ""))
    assert caught.value.paths == ("a.py", "b.py")
    assert [line.task_id for line in bench.git.later(where, commit.id, tip, caught.value.paths)] == [3, 2]
    assert [line.id for line in bench.git.later(where, commit.id, tip, ["a.py", "nowhere.py"])] == [later.id]
    assert fingerprint(bench.workspace, except_=(".git/objects",)) == before


def test_a_merge_and_a_first_commit_cannot_be_taken_back(bench: Bench, repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "-b", "side")
    write(repo, {"s.py": ""})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Side")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-ff", "--no-edit", "side")
    where = bench.git.open(str(repo), None, 1, "x")
    for commit, parents in ((first, 0), (where.base, 2)):
        with pytest.raises(GitError, match=f"has {parents} parents"):
            bench.git.revert(where, commit, where.base, revert_message("t", commit, 1, ""))
