"""Nodes exchange commits, branches and texts through the remote of a repository."""

from pathlib import Path

from tests.git.conftest import Bench, make_commit
from tests.support.git_repo import git, make_repo


def test_what_one_node_publishes_another_one_has_in_its_clone(bench: Bench, tmp_path: Path) -> None:
    repo, remote = make_repo(tmp_path / "shop", {"a.py": "1\n"}), tmp_path / "shop.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    git(repo, "remote", "add", "origin", str(remote))
    git(repo, "push", "-q", "origin", "main")
    assert bench.git.follow(str(repo), "main") == git(repo, "rev-parse", "main")
    assert bench.git.follow(str(repo), "none") is None
    workspace = bench.git.follow_workspace(bench.git.open(str(repo), None, 1, "Add it"))
    commit = make_commit(bench.git, workspace, {"a.py": "2\n"}, 1)
    bench.git.clone(str(remote), tmp_path / "clone")
    other = bench.git.open(str(tmp_path / "clone"), None, 2, "Take it")
    assert bench.git.branch(str(tmp_path / "clone")) == "main"
    branch = bench.git.publish_branch(workspace, commit)
    assert bench.git.fetch_commit(other, branch, commit.id) == commit
    assert bench.git.fetch_commit(other, branch, commit.parent) is None
    bench.git.unpublish(workspace, branch, commit.id)
    assert bench.git.publish(workspace, commit.id, workspace.base)
    assert not bench.git.publish(workspace, commit.parent, workspace.base)
    assert bench.git.follow(str(tmp_path / "clone"), "main") == commit.id
    blob = bench.git.publish_text(str(repo), "a long task")
    assert bench.git.read_published(str(tmp_path / "clone"), blob) == "a long task"
