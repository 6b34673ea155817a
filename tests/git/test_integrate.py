"""Integration rebases without a checkout and moves branches by compare-and-swap.

Many concurrent integrations lose nothing.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nightshift.core.errors import GitError, MergeConflict
from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.core.tasks.task import Change
from nightshift.git.manager import GitManager
from tests.git.conftest import Bench, make_commit
from tests.support.git_repo import git, write


def land(manager: GitManager, where: Workspace, change: Change) -> Commit:
    """Integrate a change as the executor does, but without judging the merged tree."""
    commit = make_commit(manager, where, change, where.task_id)
    while True:
        tip = manager.tip(where)
        candidate = commit if tip == commit.parent else manager.rebase(where, commit, tip)
        if manager.advance(where, candidate, tip):
            return candidate


@pytest.fixture
def dev(bench: Bench, repo: Path) -> Workspace:
    """Provide a workspace on a branch that is not checked out."""
    git(repo, "branch", "dev")
    return bench.git.open(str(repo), "dev", 7, "x")


def test_a_change_is_rebased_onto_a_tip_that_moved(bench: Bench, repo: Path, dev: Workspace) -> None:
    commit = make_commit(bench.git, dev, {"a.py": "a = 2\n"})
    other = land(bench.git, bench.git.open(str(repo), "dev", 8, "y"), {"pkg/b.py": "b = 2\n", "new.py": "n\n"})
    bench.later(minutes=1)
    assert not bench.git.advance(dev, commit, commit.parent)
    moved = bench.git.rebase(dev, commit, other.id)
    assert (moved.parent, moved.branch) == (other.id, commit.branch)
    merged = bench.git.tree(dev, moved.id)
    assert [merged.read(p) for p in ("a.py", "pkg/b.py", "new.py")] == [b"a = 2\n", b"b = 2\n", b"n\n"]
    assert not bench.git.contains(dev, moved)
    assert bench.git.advance(dev, moved, other.id)
    assert git(repo, "log", "--format=%H", "dev").split("\n") == [moved.id, other.id, dev.base]
    assert git(repo, "rev-parse", commit.branch) == moved.id
    show = "--format=%an %at %B"
    assert git(repo, "show", "-s", show, moved.id) == git(repo, "show", "-s", show, commit.id)
    assert git(repo, "show", "-s", "--format=%ct", moved.id) == str(int(bench.now.timestamp()))


def test_a_conflict_names_the_files_and_shows_the_lines(bench: Bench, repo: Path, dev: Workspace) -> None:
    commit = make_commit(bench.git, dev, {"a.py": "a = 2\n", "c.py": "c\n"})
    other = land(bench.git, bench.git.open(str(repo), "dev", 8, "y"), {"a.py": "a = 3\n"})
    with pytest.raises(MergeConflict) as caught:
        bench.git.rebase(dev, commit, other.id)
    assert caught.value.paths == ("a.py",)
    assert str(caught.value) == (
        "newer work conflicts with this change in a.py\n\na.py:\n"
        "<<<<<<< the newer work\na = 3\n=======\na = 2\n>>>>>>> this change\n"
    )
    assert git(repo, "rev-parse", "dev", commit.branch).split("\n") == [other.id, commit.id]


def test_a_rewritten_target_does_not_bring_back_what_was_taken_out(bench: Bench, repo: Path, dev: Workspace) -> None:
    commit = make_commit(bench.git, dev, {"c.py": "c\n"})
    git(repo, "checkout", "-q", "--orphan", "fresh")
    git(repo, "rm", "-q", "--cached", "run.sh")
    git(repo, "commit", "-q", "-m", "Fresh")
    git(repo, "branch", "-f", "dev", "fresh")
    moved = bench.git.rebase(dev, commit, bench.git.tip(dev))
    assert list(bench.git.tree(dev, moved.id).entries()) == ["a.py", "c.py", "pkg/b.py"]


def test_a_branch_that_is_checked_out_is_never_moved(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    assert f"main is checked out in {repo}" in str(bench.git.find_obstacle(where))
    commit = make_commit(bench.git, where, {"a.py": ""})
    with pytest.raises(GitError, match="git merge"):
        bench.git.advance(where, commit, where.base)
    assert git(repo, "rev-parse", "main") == where.base
    assert git(repo, "status", "--porcelain") == ""


def test_a_branch_that_is_being_rebased_is_never_moved(bench: Bench, repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    for text in ("a = 2\n", "a = 3\n"):
        write(repo, {"a.py": text})
        git(repo, "commit", "-q", "-a", "-m", text)
    git(repo, "branch", "below", "topic~")
    git(repo, "-c", "sequence.editor=sed -i 1s/^pick/edit/", "rebase", "-q", "-i", "--update-refs", "main")
    assert git(repo, "branch", "--show-current") == ""
    for branch in ("topic", "below"):
        assert "rebase" in str(bench.git.find_obstacle(bench.git.open(str(repo), branch, 7, "x")))


def test_a_commit_is_found_again_on_its_branch_or_in_the_target(bench: Bench, repo: Path, dev: Workspace) -> None:
    assert bench.git.find_commit(dev, 7) is None
    commit = make_commit(bench.git, dev, {"a.py": "2"})
    assert bench.another().find_commit(dev, 7) == commit
    assert bench.git.advance(dev, commit, dev.base)
    land(bench.git, bench.git.open(str(repo), "dev", 77, "y"), {"pkg/b.py": "3"})
    git(repo, "branch", "-D", commit.branch)
    located = bench.git.find_commit(dev, 7)
    assert located
    assert located.id == commit.id
    assert bench.git.contains(dev, located)


def test_forty_commits_by_four_threads_make_one_line_of_history(bench: Bench) -> None:
    start = bench.git.open(None, None, 1, "x")

    def run(task_id: int) -> Commit:
        where = bench.git.open(None, None, task_id, f"task {task_id}")
        return land(bench.git, where, {f"m{task_id}.py": f"x = {task_id}\n", "same.py": "same\n"})

    with ThreadPoolExecutor(4) as pool:
        commits = list(pool.map(run, range(1, 41)))
    history = git(bench.workspace, "log", "--format=%H %P", "main").split("\n")
    assert [line.split()[1:] for line in history[:-2]] == [[line.split()[0]] for line in history[1:-1]]
    assert {line.split()[0] for line in history} == {c.id for c in commits} | {start.base}
    assert len(history) == 41
    files = bench.git.tree(start, bench.git.tip(start)).entries()
    assert len(files) == 41
    assert git(bench.workspace, "status", "--porcelain") == ""
    assert git(bench.workspace, "fsck", "--strict", "--no-dangling") == ""


def test_two_managers_of_one_repository_do_not_lose_each_others_work(bench: Bench, dev: Workspace) -> None:
    managers = [bench.another(), bench.another()]
    barrier = threading.Barrier(2)

    def run(number: int) -> None:
        barrier.wait()
        for turn in range(5):
            task_id = 10 * number + turn
            where = managers[number - 1].open(str(dev.repo), "dev", task_id, "x")
            land(managers[number - 1], where, {f"m{task_id}.py": "1"})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, (1, 2)))
    assert git(dev.repo, "rev-list", "--count", "dev") == "11"
