"""Several homes on one repository: each recognises only the commits of its own daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.git.manager import GitManager
from tests.git.conftest import Bench, message
from tests.support.git_repo import git, make_repo

HERE, THERE = "0123abcd", "fedc9876"


def open_in(manager: GitManager, repo: Path | None, mark: str = "") -> Workspace:
    return manager.open(str(repo) if repo else None, None, 7, "Add a door", mark=mark)


def commit(manager: GitManager, where: Workspace, text: str, mark: str = "7") -> Commit:
    new_commit = manager.commit(where, where.base, {"a.py": text}, message(mark))
    assert new_commit
    return new_commit


@pytest.fixture
def here(bench: Bench) -> GitManager:
    return bench.another(home=HERE)


@pytest.fixture
def there(bench: Bench) -> GitManager:
    return bench.another(home=THERE, workspace=bench.root / "another workspace")


def test_a_commit_names_its_home_after_its_task(here: GitManager, repo: Path) -> None:
    new_commit = commit(here, open_in(here, repo), "1\n")
    lines = git(repo, "log", "-1", "--format=%B", new_commit.id).split("\n")
    assert lines[2:] == ["Task: 7", f"Home: {HERE}", "Model: m", "Iterations: 1"]


def test_the_same_task_of_another_home_gets_a_branch_of_its_own(
    here: GitManager, there: GitManager, repo: Path
) -> None:
    first = commit(here, open_in(here, repo), "first\n")
    second = commit(there, open_in(there, repo), "second\n")
    assert (first.branch, second.branch) == ("agent/7-add-a-door", f"agent/7-add-a-door-{THERE}")
    assert git(repo, "show", f"{first.branch}:a.py") == "first"
    assert git(repo, "show", f"{second.branch}:a.py") == "second"


def test_a_second_attempt_takes_over_its_own_branch_and_not_that_of_another_home(
    here: GitManager, there: GitManager, repo: Path
) -> None:
    first = commit(here, open_in(here, repo), "first\n")
    branches = [commit(there, open_in(there, repo), f"{number}\n").branch for number in (1, 2)]
    assert branches == [f"agent/7-add-a-door-{THERE}"] * 2
    assert git(repo, "rev-parse", first.branch) == first.id


def test_names_are_numbered_when_that_with_the_id_is_taken_too(here: GitManager, repo: Path) -> None:
    for name in ("agent/7-add-a-door", f"agent/7-add-a-door-{HERE}", f"agent/7-add-a-door-{HERE}-2"):
        git(repo, "branch", name)
    assert commit(here, open_in(here, repo), "1\n").branch == f"agent/7-add-a-door-{HERE}-3"


def test_recovery_finds_the_commit_of_its_own_home_alone(here: GitManager, there: GitManager, repo: Path) -> None:
    commit(here, open_in(here, repo), "first\n")
    where = open_in(there, repo)
    assert there.find_commit(where, 7) is None
    second = commit(there, where, "second\n")
    assert there.find_commit(where, 7) == second


def test_what_another_home_landed_is_not_this_tasks(here: GitManager, there: GitManager, repo: Path) -> None:
    git(repo, "branch", "dev")
    where = here.open(str(repo), "dev", 7, "x")
    new_commit = commit(here, where, "first\n")
    assert here.advance(where, new_commit, where.base)
    git(repo, "branch", "-D", new_commit.branch)
    assert here.find_landed(where) == new_commit
    assert there.find_landed(there.open(str(repo), "dev", 7, "x")) is None


def test_the_target_is_moved_without_the_branch_of_another_home(
    here: GitManager, there: GitManager, repo: Path
) -> None:
    git(repo, "branch", "dev")
    first = commit(here, here.open(str(repo), None, 7, "x"), "first\n")
    where = there.open(str(repo), "dev", 7, "x")
    second = commit(there, where, "second\n")
    taken = Commit(id=second.id, tree=second.tree, branch=first.branch, parent=second.parent)
    assert there.advance(where, taken, where.base)
    assert git(repo, "rev-parse", "dev", first.branch).split() == [second.id, first.id]


def test_a_task_that_nodes_share_is_found_whichever_of_them_made_its_commit(
    here: GitManager, there: GitManager, repo: Path
) -> None:
    git(repo, "branch", "dev")
    where = here.open(str(repo), "dev", 7, "x", mark="hub-17")
    new_commit = commit(here, where, "first\n", "hub-17")
    assert here.advance(where, new_commit, where.base)
    assert there.find_landed(there.open(str(repo), "dev", 3, "x", mark="hub-17")) == new_commit


def test_a_commit_that_names_no_home_counts_in_the_daemons_own_repository_alone(
    bench: Bench, here: GitManager, repo: Path
) -> None:
    old = bench.another()
    for path, counts in ((None, True), (repo, False)):
        new_commit = commit(old, open_in(old, path), "of version 0.1.0\n")
        match = here.find_commit(open_in(here, path), 7)
        assert (match == new_commit) is counts
        assert (commit(here, open_in(here, path), "new\n").branch == new_commit.branch) is counts


def test_the_log_names_no_task_for_a_commit_of_another_home(
    bench: Bench, here: GitManager, there: GitManager, repo: Path
) -> None:
    new_commit = commit(here, open_in(here, repo), "1\n")
    tasks = [each.recent_commits(str(repo), 1, new_commit.id)[0].task_id for each in (here, there, bench.git)]
    assert tasks == [7, None, 7], "one that has no home takes the commits of all"


def test_an_integrated_branch_of_another_home_is_not_deleted(bench: Bench, here: GitManager) -> None:
    visitor = bench.another(home=THERE)
    for manager, name in ((here, "door"), (visitor, "gate")):
        where = manager.open(None, None, 7, name)
        new_commit = commit(manager, where, f"{name}\n")
        assert manager.advance(where, new_commit, where.base)
    assert here.maintenance.delete_of(lambda ids: ids) == ["refs/heads/agent/7-door"]


def test_homes_with_repositories_of_the_same_content_know_nothing_of_each_other(
    here: GitManager, there: GitManager, tmp_path: Path
) -> None:
    repos = [make_repo(tmp_path / name, {"a.py": "0\n"}) for name in ("one", "two")]
    commits = [
        commit(manager, open_in(manager, repo), "1\n") for manager, repo in zip((here, there), repos, strict=True)
    ]
    assert {each.branch for each in commits} == {"agent/7-add-a-door"}
