"""The database schema is migrated once, refused if it is newer, and guarded against illegal state changes."""

import multiprocessing
from itertools import product
from pathlib import Path

import pytest

from nightshift.core.errors import StoreDamaged, StoreTooNew, StoreTooOld
from nightshift.core.tasks.states import Status, may_move
from nightshift.storage.db import migrations
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import IntegrityError, connect


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Database(tmp_path / "folder" / "a.sqlite").close()
    return tmp_path / "folder" / "a.sqlite"


@pytest.mark.parametrize("readonly", [True, False])
def test_a_newer_database_is_refused_and_left_alone(path: Path, readonly: bool) -> None:
    conn = connect(path)
    conn.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('nightshift', '0999_later', '')"
    )
    conn.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=r"newer Nightshift.*0999_later"):
        Database(path, readonly=readonly)
    assert path.read_bytes() == before


def test_a_record_of_migrations_that_no_version_leaves_is_damage_and_not_a_newer_version(path: Path) -> None:
    conn = connect(path)
    conn.execute("UPDATE _sqlite_migrations SET name = substr(name, 2) WHERE name LIKE '%_learning'")
    assert conn.execute("SELECT changes()").fetchone()[0] == 1
    conn.close()
    with pytest.raises(StoreDamaged, match="record of migrations is damaged"):
        Database(path)


def test_an_older_database_is_not_changed_by_a_reader(tmp_path: Path) -> None:
    connect(tmp_path / "a.sqlite").close()
    with pytest.raises(StoreTooOld, match="start the daemon once"):
        Database(tmp_path / "a.sqlite", readonly=True)
    Database(tmp_path / "a.sqlite").close()
    Database(tmp_path / "a.sqlite", readonly=True).close()


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    conn = connect(tmp_path / "a.sqlite")
    conn.execute("CREATE TABLE patterns (a)")
    with pytest.raises(Exception, match="patterns"):
        migrations.migrate(conn, tmp_path / "a.sqlite")
    names = [row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert names == ["patterns"]
    conn.close()


def test_the_database_allows_exactly_the_moves_of_the_table(path: Path) -> None:
    conn = connect(path)
    conn.execute("DROP TRIGGER tasks_begin")
    insert = "INSERT INTO tasks (status, priority, description, created_at) VALUES (?, 1, '', '')"
    for start, end in product(Status, Status):
        task_id = conn.execute(insert, (start,)).lastrowid
        try:
            conn.execute("UPDATE tasks SET status = ? WHERE id = ?", (end, task_id))
            allowed = True
        except IntegrityError:
            allowed = False
        assert allowed == may_move(start, end), (start, end)
    conn.close()


def test_a_new_task_is_queued_scheduled_or_blocked(path: Path) -> None:
    conn = connect(path)
    insert = "INSERT INTO tasks (status, priority, description, created_at) VALUES (?, 1, '', '')"
    for status in Status:
        if status in migrations.FIRST:
            conn.execute(insert, (status,))
        else:
            with pytest.raises(IntegrityError, match="first status"):
                conn.execute(insert, (status,))
    conn.close()


def test_a_guard_that_differs_from_the_table_is_renewed(path: Path) -> None:
    conn = connect(path)
    conn.execute("DROP TRIGGER tasks_move")
    conn.execute("DROP TRIGGER tasks_begin")
    conn.execute("CREATE TRIGGER tasks_move BEFORE UPDATE OF status ON tasks BEGIN SELECT 1; END")
    conn.close()
    Database(path).close()
    conn = connect(path)
    guarding = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'tasks'"
    guards = dict(conn.execute(guarding).fetchall())
    assert guards == migrations.guards()
    conn.close()


def _open(path: Path) -> None:
    Database(path).close()


def test_processes_that_open_a_new_database_at_once_agree(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    children = [spawn.Process(target=_open, args=(tmp_path / "a.sqlite",)) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
    assert [child.exitcode for child in children] == [0] * 4
