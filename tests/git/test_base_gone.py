"""The owner rewrites and garbage-collects the base of a running task.

No reference ever points to a commit with missing objects.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.errors import BaseGone, GitError
from nightshift.core.tasks.revisions import Workspace
from tests.git.conftest import Bench, make_commit, message
from tests.support.git_repo import git, write


def rewrite(repo: Path, branch: str = "main") -> None:
    """Replace the commit of a branch with another one, and remove unreachable objects."""
    write(repo, {"README.md": "rewritten\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--amend", "-m", "Another first")
    if branch != "main":
        git(repo, "branch", "-f", branch, "main")
    collect(repo)


def collect(repo: Path) -> None:
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")


def is_whole(repo: Path) -> bool:
    return git(repo, "fsck", "--full", "--no-dangling") == ""


def references(repo: Path) -> str:
    return git(repo, "for-each-ref")


@pytest.fixture(params=["loose", "packed"])
def where(bench: Bench, repo: Path, request: pytest.FixtureRequest) -> Workspace:
    """Open the workspace of a task that has already read files of its base.

    With packed objects, the open git process can read them even after the pack is removed.
    """
    if request.param == "packed":
        git(repo, "gc", "-q")
    workspace = bench.git.open(str(repo), None, 7, "x")
    assert workspace.tree.read("pkg/b.py") == b"b = 1\n"
    return workspace


def test_a_change_on_a_base_that_is_gone_is_not_committed(bench: Bench, where: Workspace) -> None:
    rewrite(where.repo)
    before = references(where.repo)
    with pytest.raises(BaseGone, match=where.base):
        bench.git.commit(where, where.base, {"a.py": "2\n"}, message())
    assert references(where.repo) == before
    assert is_whole(where.repo)
    again = bench.git.open(str(where.repo), None, 7, "x")
    assert bench.git.commit(again, again.base, {"a.py": "2\n"}, message())
    assert is_whole(where.repo)


def test_a_base_that_was_rewritten_and_is_still_there_is_committed_on(bench: Bench, where: Workspace) -> None:
    git(where.repo, "branch", "kept")
    rewrite(where.repo)
    assert bench.git.commit(where, where.base, {"a.py": "2\n"}, message())
    assert is_whole(where.repo)


def test_a_folder_of_the_base_that_is_gone_is_noticed(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    assert where.tree.entries()
    tree = git(repo, "rev-parse", "HEAD:pkg")
    (repo / ".git/objects" / tree[:2] / tree[2:]).unlink()
    before = references(repo)
    with pytest.raises(BaseGone, match=tree):
        bench.git.commit(where, where.base, {"a.py": "2\n"}, message())
    assert references(repo) == before


def test_a_candidate_that_was_collected_does_not_become_the_target(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "dev")
    where = bench.git.open(str(repo), "dev", 7, "x")
    commit = bench.git.commit(where, where.base, {"a.py": "2\n"}, message())
    git(repo, "checkout", "-q", "-b", "side", "dev")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Newer")
    git(repo, "checkout", "-q", "main")
    git(repo, "branch", "-f", "dev", "side")
    assert commit
    tip = bench.git.tip(where)
    candidate = bench.git.rebase(where, commit, tip)
    collect(repo)  # Garbage collection while the merged tree is judged
    before = references(repo)
    with pytest.raises(BaseGone, match=candidate.id):
        bench.git.advance(where, candidate, tip)
    assert references(repo) == before
    assert bench.git.advance(where, bench.git.rebase(where, commit, tip), tip)
    assert is_whole(repo)


def test_a_target_that_was_rewritten_has_moved(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "dev")
    where = bench.git.open(str(repo), "dev", 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "2\n"})
    rewrite(repo, "dev")
    assert not bench.git.advance(where, commit, where.base)


def test_a_partial_clone_is_committed_in(bench: Bench, repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", str(clone))
    where = bench.git.open(str(clone), None, 7, "x")
    assert bench.git.commit(where, where.base, {"new.py": "2\n"}, message())


def test_a_target_that_is_gone_blocks_and_the_commit_is_made_on_its_branch(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "dev")
    where = bench.git.open(str(repo), "dev", 7, "x")
    assert bench.git.find_obstacle(where) is None
    git(repo, "branch", "-D", "dev")
    assert bench.git.find_obstacle(where) == f"dev is gone from {repo}"
    commit = make_commit(bench.git, where, {"a.py": "2\n"})
    assert git(repo, "rev-parse", "agent/7-x") == commit.id
    assert bench.git.find_commit(where, 7) == commit
    with pytest.raises(GitError, match="dev is gone"):
        bench.git.advance(where, commit, where.base)
