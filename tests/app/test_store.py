"""A home with a damaged database works again after a start: tasks are done and lessons are recalled."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from nightshift.app.store import notices, open_store
from nightshift.core.tasks.states import Status
from nightshift.storage.db import backups
from nightshift.storage.db.recovery import find_faults
from nightshift.storage.db.sqlite import connect
from tests.support.damaged_home import PAGE, fail_and_fix, make_home, put, root_of
from tests.support.lived_home import DATABASE, NOON, Files, Ticking, settings_of


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return make_home(tmp_path_factory.mktemp("home") / "h", vector_tables=True)


@pytest.fixture
def without_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize(
    ("harm", "backup"),
    [("tasks_status", True), ("failures", True), ("tasks_status", False), ("the head", True), ("nothing", True)],
)
def test_after_a_restore_a_task_is_done_and_recalls_a_lesson(
    files: Files, tmp_path: Path, harm: str, *, backup: bool
) -> None:
    home, remaining = tmp_path / "home", {n: raw for n, raw in files.items() if backup or "/backups/" not in n}
    raw = bytearray(remaining[DATABASE])
    if harm != "nothing":
        page = 1 if harm == "the head" else root_of(files, tmp_path / "look", harm)
        raw[PAGE * (page - 1) : PAGE * page] = b"\xa5" * PAGE
        remaining[DATABASE] = bytes(raw)
    put(home, remaining)
    with ExitStack() as stack:
        store = open_store(settings_of(home), stack, Ticking(NOON.replace(hour=23)))
        status, recalled = fail_and_fix(store, "add the prices of another basket")
        messages = [text for text in notices(store, NOON.replace(hour=23)) if "database" in text]
    assert status is Status.DONE
    assert recalled
    assert find_faults(home / DATABASE) == ()
    assert len(messages) == (harm != "nothing")
    with closing(connect(home / DATABASE, readonly=True)) as conn:
        assert not conn.execute("SELECT name FROM sqlite_master WHERE name GLOB 'vec_*'").fetchall()


@pytest.mark.usefixtures("without_umask")
def test_only_the_owner_reads_a_restored_database(files: Files, tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, files)
    (home / DATABASE).chmod(0o600)
    (home / DATABASE).write_bytes(b"\xa5" * PAGE)
    with ExitStack() as stack:
        store = open_store(settings_of(home), stack, Ticking(NOON.replace(hour=23)))
        backups.copy(store.db.path, home / "db" / "backups" / "copy.sqlite")
    damaged = next((home / "db" / "damaged").rglob("agent_logs.sqlite"))
    for path in (home / DATABASE, home / "db" / "backups" / "copy.sqlite", damaged):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
