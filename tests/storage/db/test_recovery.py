"""A daemon checks its database when it opens it.

A damaged database is restored, and the owner is informed.
"""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlite_utils import Database as Tables
from sqlite_utils import Migrations

from nightshift.core.errors import StoreError, StoreTooNew
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import TaskSpec
from nightshift.storage.db import backups, migrations
from nightshift.storage.db.recovery import Checked, ensure_sound, finish
from nightshift.storage.db.sqlite import connect, faults
from tests.support.store import open_store

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


def live(home: Path, tasks: int = 3) -> Path:
    """Create a database with some tasks, and close it."""
    path = home / "a.sqlite"
    with open_store(path) as store:
        for number in range(tasks):
            store.queue.submit(TaskSpec(description=f"task {number}")).result()
    return path


def look(path: Path, now: datetime = NOW) -> Checked:
    return ensure_sound(path, path.parent / "backups", path.parent / "agent.log", now)


def descriptions(path: Path) -> list[str]:
    with open_store(path) as store:
        return [task.spec.description for task in reversed(store.queue.find())]


def back_up(path: Path, at: datetime = NOW) -> Path:
    with open_store(path) as store:
        store.events.emit(Event(kind=Kind.LESSON_RETIRED, message=""))  # this event makes a backup necessary
    backup = backups.make(path, path.parent / "backups", at, keep=9, daily=0)
    assert backup is not None
    return backup


def garble(path: Path) -> None:
    path.write_bytes(b"\xa5" * path.stat().st_size)


def test_a_sound_database_is_left_alone_to_the_byte(tmp_path: Path) -> None:
    path = live(tmp_path)
    before = path.read_bytes()
    assert look(path).restored is None
    assert path.read_bytes() == before
    assert not (tmp_path / "damaged").exists()


@pytest.mark.parametrize("harm", ["garbled", "gone", "empty", "a text"])
def test_the_newest_backup_takes_the_place_and_the_damaged_file_is_kept(tmp_path: Path, harm: str) -> None:
    path = live(tmp_path)
    back_up(path, NOW - timedelta(days=1))
    with open_store(path) as store:
        store.queue.submit(TaskSpec(description="newer")).result()
    newest = back_up(path, NOW - timedelta(hours=1))
    if harm == "garbled":
        garble(path)
    elif harm == "gone":
        path.unlink()
    else:
        path.write_bytes(b"" if harm == "empty" else b"not a database\n" * 500)
    left = path.read_bytes() if path.exists() else None
    restored = look(path).restored
    assert restored is not None
    assert (restored.backup, restored.lost) == (newest, ())
    assert "of 1 h ago" in restored.summary()
    assert descriptions(path) == ["task 0", "task 1", "task 2", "newer"]
    if left is not None:
        assert (restored.aside / "a.sqlite").read_bytes() == left
    assert look(path).restored is None


def test_a_damaged_backup_is_passed_over_and_an_older_one_is_taken(tmp_path: Path) -> None:
    path = live(tmp_path)
    older = back_up(path, NOW - timedelta(days=1))
    garble(back_up(path, NOW))
    garble(path)
    restored = look(path).restored
    assert restored is not None
    assert restored.backup == older


def test_without_any_sound_backup_all_that_can_be_read_goes_into_an_empty_one(tmp_path: Path) -> None:
    path = live(tmp_path, tasks=40)
    with closing(connect(path, readonly=True)) as conn:
        page = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'tasks_status'").fetchone()[0]
    raw = bytearray(path.read_bytes())
    raw[4096 * (page - 1) : 4096 * page] = bytes(4096)
    path.write_bytes(raw)
    restored = look(path).restored
    assert restored is not None
    assert (restored.backup, restored.lost, restored.uncertain) == (None, (), ())
    assert descriptions(path) == [f"task {number}" for number in range(40)]


def test_a_byte_that_fell_over_in_a_specification_is_found(tmp_path: Path) -> None:
    path = live(tmp_path, tasks=1)
    with open_store(path) as store:
        store.queue.submit(TaskSpec(description="task 1", files={"a.py": "limit = 10"})).result()
    raw = path.read_bytes()
    assert raw.count(b"limit = 10") == 1
    path.write_bytes(raw.replace(b"limit = 10", b"limit = 90"))
    assert faults(path) == [], "SQLite finds nothing wrong with it"
    restored = look(path).restored
    assert restored is not None
    assert restored.lost == (2,)
    assert "2 (task 1)" in restored.summary()


def test_a_newer_schema_is_no_damage(tmp_path: Path) -> None:
    path = live(tmp_path)
    with closing(connect(path)) as conn:
        conn.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('nightshift', '9', '')")
    with pytest.raises(StoreTooNew):
        look(path)
    assert not (tmp_path / "damaged").exists()


@pytest.mark.parametrize("done", ["nothing", "the log is gone", "the file is in place"])
def test_a_restore_that_died_when_all_was_ready_is_finished(tmp_path: Path, done: str) -> None:
    path = live(tmp_path)
    new = live(tmp_path / "new", tasks=1)
    with open_store(path) as store:
        store.queue.submit(TaskSpec(description="in the log")).result()
        log = (tmp_path / "a.sqlite-wal").read_bytes()
    garble(path)
    (tmp_path / "a.sqlite-wal").write_bytes(log)
    if done == "the file is in place":
        new.replace(path)
    else:
        new.replace(tmp_path / "a.sqlite.restored")
    if done != "nothing":
        (tmp_path / "a.sqlite-wal").unlink()
    (tmp_path / "a.sqlite.restoring").write_text(f"{tmp_path / 'damaged' / 'a'}\n")
    finish(path)
    assert descriptions(path) == ["task 0"]
    assert not list(tmp_path.glob("*.restor*"))


def test_a_restore_that_died_before_leaves_the_damaged_database_as_it_was(tmp_path: Path) -> None:
    path = live(tmp_path)
    (tmp_path / "a.sqlite.restored").write_bytes(b"half of a new one")
    finish(path)
    assert descriptions(path) == ["task 0", "task 1", "task 2"]
    assert not (tmp_path / "a.sqlite.restored").exists()


def test_ids_never_come_again(tmp_path: Path) -> None:
    path = live(tmp_path)
    back_up(path)
    line = {"timestamp": "2026-03-20T12:00:00Z", "id": 900, "task_id": 40, "event": "task_submitted", "message": "late"}
    (tmp_path / "agent.log").write_text(json.dumps({**line, "data": {"to": "queued"}}) + "\n")
    restored = look(path).restored
    assert restored is not None
    assert "which the log file has, are not in it" in restored.why
    assert 40 in restored.lost
    assert "40 (late)" in restored.summary()
    with open_store(path) as store:
        assert store.queue.submit(TaskSpec(description="new")).result().task_id > 40
        assert store.events.newest_id() > 900


def test_a_database_that_another_process_keeps_locked_is_no_damage(tmp_path: Path) -> None:
    path = live(tmp_path)
    with closing(connect(path)) as other:
        other.execute("PRAGMA journal_mode=DELETE").fetchone()
        other.execute("PRAGMA locking_mode=EXCLUSIVE").fetchone()
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked"):
            look(path)
        other.execute("ROLLBACK")
    assert not (tmp_path / "damaged").exists()


def test_a_backup_of_an_older_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    path = live(tmp_path)
    old = tmp_path / "backups" / "agent_logs-20260320T110000Z.sqlite"
    old.parent.mkdir()
    steps = Migrations(migrations.SET)
    for name, step in migrations.STEPS[:-1]:
        steps(name=name)(step)
    with closing(connect(old)) as conn:
        steps.apply(Tables(conn))
        conn.execute("PRAGMA journal_mode=DELETE").fetchone()
    garble(path)
    restored = look(path).restored
    assert restored is not None
    assert restored.backup == old
    assert descriptions(path) == []
    assert look(path).restored is None


def test_a_task_whose_row_is_gone_has_ended_where_the_log_of_its_moves_says_so(tmp_path: Path) -> None:
    path = live(tmp_path, tasks=2)
    back_up(path)
    with open_store(path) as store:
        for ending in (Ending.COMMITTED, Ending.GAVE_UP):
            task = store.queue.claim("w").result()
            assert task is not None
            store.queue.finish(task.id, task.fence, ending, reason="as it was", commit="c0ffee").result()
        third = store.queue.submit(TaskSpec(description="after the backup")).result().task_id
        page = store.db.reader().execute("SELECT rootpage FROM sqlite_master WHERE name = 'tasks'").fetchone()[0]
    raw = bytearray(path.read_bytes())
    raw[4096 * (page - 1) : 4096 * page] = bytes(4096)
    path.write_bytes(raw)
    restored = look(path).restored
    assert restored is not None
    assert (restored.lost, restored.uncertain) == ((third,), ())
    with open_store(path) as store:
        ended = [(task.status, task.ending, task.reason) for task in (store.queue.get(1), store.queue.get(2))]
    assert ended == [("done", "committed", "as it was"), ("failed", "gave_up", "as it was")]
