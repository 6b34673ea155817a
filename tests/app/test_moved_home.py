"""After a home was moved, its ledger uses the new path of the workspace and contains each commit only once."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.app.store import StoreServices, open_store
from nightshift.core.tasks.task import TaskSpec
from nightshift.storage.db.migrations import STEPS
from nightshift.storage.db.state_store import Commit
from tests.support.lived_home import Ticking, settings_of

ENTRY = Commit(
    task_id=1, attempt=1, repo="", branch="agent/1-x", commit="c" * 40, base="b" * 40, subject="Do it",
    label="verified", model="m", iterations=1, integrated=True, target="refs/heads/main",
)  # fmt: skip


def open_home(home: Path, stack: ExitStack) -> tuple[StoreServices, str]:
    """Open the store of a home, and return the store with the path of the home's workspace."""
    return open_store(settings_of(home), stack, Ticking()), str((home / "workspace").resolve())


def read_stored(store: StoreServices) -> list[str]:
    return [row[0] for row in store.db.reader().execute("SELECT repo FROM git_commits ORDER BY id")]


@pytest.mark.parametrize("what", ["entered again", "pushed", "forgotten", "of the owner's"])
def test_the_commits_of_a_moved_home_are_found_in_its_ledger(tmp_path: Path, what: str) -> None:
    home, moved, theirs = tmp_path / "home", tmp_path / "moved", "/srv/shop"
    with ExitStack() as stack:
        store, repo = open_home(home, stack)
        is_theirs = what == "of the owner's"
        store.state.record_commit(replace(ENTRY, repo=theirs if is_theirs else repo)).result()
        assert read_stored(store) == [theirs if is_theirs else ""]
    home.rename(moved)
    with ExitStack() as stack:
        store, repo = open_home(moved, stack)
        (commit,) = store.state.commits(10)
        assert commit.repo == (theirs if is_theirs else repo)
        if what == "entered again":
            store.state.record_commit(replace(ENTRY, repo=repo)).result()
        elif what == "pushed":
            store.state.record_push(repo, ENTRY.commit).result()
        elif what == "forgotten":
            store.state.forget_commit(repo, ENTRY.commit).result()
        rows = store.state.commits(10)
        assert len(rows) == (what != "forgotten")
        assert [bool(row.pushed_at) for row in rows] == [what == "pushed"] * len(rows)


def test_an_older_home_loses_the_paths_of_its_own_commits_alone(tmp_path: Path) -> None:
    with ExitStack() as stack:
        store, repo = open_home(tmp_path / "home", stack)
        own, theirs = (
            store.queue.submit(TaskSpec(description="x", repo=folder)).result().task_id
            for folder in (None, "/srv/shop")
        )
        for number, folder in ((own, "/old/workspace"), (theirs, "/srv/shop")):
            store.state.record_commit(replace(ENTRY, task_id=number, repo=folder)).result()
        migrate = dict(STEPS)["0028_own_commits"]
        for _ in range(2):
            store.db.write(migrate).result()  # type: ignore[arg-type]  # it does no more than execute
        assert read_stored(store) == ["", "/srv/shop"]
        assert {row.repo for row in store.state.commits(10)} == {repo, "/srv/shop"}
