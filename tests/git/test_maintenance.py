"""The daemon's own repository stays small.

Maintenance removes nothing that is still needed, even during concurrent work.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from nightshift.core.tasks.revisions import Commit, Workspace
from tests.git.conftest import Bench, make_commit, message
from tests.support.git_repo import fingerprint, git


def land(bench: Bench, task_id: int, text: str = "") -> tuple[Workspace, Commit]:
    """Make a task whose commit is on main with a note; return the task's workspace and the commit."""
    where = bench.git.open(None, None, task_id, f"task {task_id}")
    commit = make_commit(bench.git, where, {f"m{task_id}.py": text or f"x = {task_id}\n"}, task_id)
    assert bench.git.advance(where, commit, where.base)
    bench.git.note(where, commit.id, f"evidence {task_id}")
    return where, commit


def sound(bench: Bench) -> bool:
    """Check that git finds no fault in the repository, and that no object is missing or truncated."""
    return not git(bench.workspace, "fsck", "--full", "--strict", "--no-dangling", "--connectivity-only")


def age(bench: Bench, days: float) -> None:
    """Set the timestamps of all object files to an old date."""
    then = time.time() - days * 86_400
    for path in (bench.workspace / ".git" / "objects").rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


def test_packing_leaves_no_loose_object_and_everything_readable(bench: Bench) -> None:
    landed = [land(bench, number) for number in range(1, 13)]
    before = bench.git.maintenance.count_objects()
    bench.git.maintenance.pack()
    after = bench.git.maintenance.count_objects()
    assert before.loose > 60
    assert (after.loose, after.packs) == (0, 1)
    assert after.packed >= before.loose
    assert after.kb < before.kb
    assert sound(bench)
    where, commit = landed[3]
    assert bench.git.read_note(where, commit.id) == "evidence 4"
    assert bench.git.tree(where, commit.id).read("m4.py") == b"x = 4\n"
    assert bench.git.find_commit(where, 4) == commit
    assert (bench.workspace / ".git" / "objects" / "info" / "commit-graph").exists()
    assert not list((bench.workspace / ".git" / "refs" / "heads" / "agent").glob("*"))


def test_many_work_while_it_is_packed(bench: Bench) -> None:
    land(bench, 1)
    over, faults = threading.Event(), list[BaseException]()

    def work(first: int) -> None:
        manager, number = bench.another(), first
        try:
            while not over.is_set():
                where = manager.open(None, None, number, "x")
                commit = make_commit(manager, where, {f"m{number}.py": f"{number}\n"}, number)
                for _ in range(50):
                    tip = manager.tip(where)
                    moved = commit if tip == commit.parent else manager.rebase(where, commit, tip)
                    if manager.advance(where, moved, tip):
                        manager.note(where, moved.id, "seen")
                        break
                number += 1
        except BaseException as error:  # noqa: BLE001  told by the assertion below
            faults.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in (100, 5000)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        bench.git.maintenance.pack()
        bench.git.maintenance.drop()
    over.set()
    for thread in threads:
        thread.join()
    assert not faults
    assert sound(bench)
    assert len(bench.git.tree(None, bench.git.resolve(None, "main")).entries()) > 2


def test_what_nothing_names_is_dropped_when_it_is_old(bench: Bench) -> None:
    where, _ = land(bench, 1)
    lost = make_commit(bench.git, where, {"lost.py": "y\n"}, 2)
    branches = [each for each in bench.git.maintenance.branches() if each.commit == lost.id]
    git(bench.workspace, "update-ref", "-d", branches[0].name)
    age(bench, 13)
    bench.git.maintenance.drop()
    assert bench.git.describe(where, lost.id)
    bench.git.maintenance.drop(unnamed_days=12)
    assert lost.id not in git(bench.workspace, "cat-file", "--batch-check", "--batch-all-objects")
    assert sound(bench)


def test_only_integrated_branches_of_chosen_tasks_are_deleted(bench: Bench) -> None:
    for number in (1, 2, 3):
        land(bench, number)
    where = bench.git.open(None, None, 4, "task 4")
    unintegrated = make_commit(bench.git, where, {"four.py": "4\n"}, 4)
    git(bench.workspace, "branch", "agent/1-mine", "main")  # A visitor's branch, on another task's commit
    bench.git.maintenance.pack()
    asked: list[frozenset[int]] = []

    def done(ids: object) -> set[int]:
        asked.append(frozenset(ids))  # type: ignore[call-overload]  # a collection of ids
        return {1, 2, 4}

    gone = bench.git.maintenance.delete_of(done)
    assert asked == [frozenset({1, 2, 3})]
    assert sorted(gone) == ["refs/heads/agent/1-task-1", "refs/heads/agent/2-task-2"]
    left = {each.name for each in bench.git.maintenance.branches()}
    assert left == {"refs/heads/agent/1-mine", "refs/heads/agent/3-task-3", f"refs/heads/{unintegrated.branch}"}
    assert bench.git.find_commit(bench.git.open(None, None, 1, "task 1"), 1)


def test_a_branch_that_somebody_looks_at_stays(bench: Bench) -> None:
    land(bench, 1)
    git(bench.workspace, "checkout", "-q", "agent/1-task-1")
    assert bench.git.maintenance.delete_of(lambda ids: ids) == []


def test_repositories_of_the_owner_are_never_cared_for(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    assert bench.git.commit(where, where.base, {"a.py": "2\n"}, message())
    before = fingerprint(repo), git(repo, "count-objects", "-v"), git(repo, "for-each-ref")
    bench.git.maintenance.pack()
    bench.git.maintenance.drop(unnamed_days=0)
    bench.git.maintenance.delete_of(lambda ids: ids)
    assert (fingerprint(repo), git(repo, "count-objects", "-v"), git(repo, "for-each-ref")) == before
