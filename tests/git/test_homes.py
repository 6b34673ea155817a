"""Several homes on one repository: each recognises only the commits of its own daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.git.manager import GitManager
from tests.git.conftest import Bench, make_commit
from tests.support.git_repo import git

HERE, THERE = "0123abcd", "fedc9876"


def open_in(manager: GitManager, repo: Path | None, mark: str = "") -> Workspace:
    return manager.open(str(repo) if repo else None, None, 7, "Add a door", mark=mark)


def commit(manager: GitManager, where: Workspace, text: str, mark: str = "7") -> Commit:
    return make_commit(manager, where, {"a.py": text}, mark)


@pytest.fixture
def here(bench: Bench) -> GitManager:
    return bench.another(home=HERE)


@pytest.fixture
def there(bench: Bench) -> GitManager:
    return bench.another(home=THERE, workspace=bench.root / "another workspace")


def test_a_second_attempt_takes_over_its_own_branch_and_not_that_of_another_home(
    here: GitManager, there: GitManager, repo: Path
) -> None:
    first = commit(here, open_in(here, repo), "first\n")
    branches = [commit(there, open_in(there, repo), f"{number}\n").branch for number in (1, 2)]
    assert branches == [f"agent/7-add-a-door-{THERE}"] * 2
    assert git(repo, "rev-parse", first.branch) == first.id


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


def test_an_integrated_branch_of_another_home_is_not_deleted(bench: Bench, here: GitManager) -> None:
    visitor = bench.another(home=THERE)
    for manager, name in ((here, "door"), (visitor, "gate")):
        where = manager.open(None, None, 7, name)
        new_commit = commit(manager, where, f"{name}\n")
        assert manager.advance(where, new_commit, where.base)
    assert here.maintenance.delete_of(lambda ids: ids) == ["refs/heads/agent/7-door"]
