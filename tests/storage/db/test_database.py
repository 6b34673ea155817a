"""The database: readers, writes, and the detection of commits by other processes."""

import gc
import threading
from pathlib import Path

import pytest

from nightshift.core.errors import StoreError
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection, ProgrammingError, connect


def note(conn: Connection) -> None:
    conn.execute("INSERT INTO patterns (created_at, problem, times_used, solution) VALUES ('', '', 1, '')")


def count(conn: Connection) -> int:
    return int(conn.execute("SELECT COUNT(*) FROM patterns").fetchone()[0])


def test_each_thread_reads_through_a_connection_of_its_own(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        seen: list[Connection] = []
        threads = [threading.Thread(target=lambda: seen.append(db.reader())) for _ in range(3)]
        for thread in threads:
            thread.start()
            thread.join()
        assert len({id(conn) for conn in [*seen, db.reader()]}) == 4
        assert db.reader() is db.reader()


def test_connections_of_threads_that_ended_are_closed(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        seen: list[Connection] = []
        for _ in range(2):
            thread = threading.Thread(target=lambda: seen.append(db.reader()))
            thread.start()
            thread.join()
        with pytest.raises(ProgrammingError, match="closed"):
            seen[0].execute("SELECT 1")
        assert seen[1].execute("SELECT 1").fetchone()[0] == 1


def test_a_reader_sees_every_commit_and_can_write_nothing(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        assert count(db.reader()) == 0
        db.write(note).result()
        assert count(db.reader()) == 1
        with pytest.raises(Exception, match="readonly"):
            note(db.reader())


def test_a_database_opened_for_reading_refuses_writes(tmp_path: Path) -> None:
    Database(tmp_path / "a.sqlite").close()
    with Database(tmp_path / "a.sqlite", readonly=True) as db:
        assert count(db.reader()) == 0
        with pytest.raises(StoreError, match="reading only"):
            db.write(note).result()


def test_the_data_version_changes_with_commits_of_others_and_only_then(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db, Database(tmp_path / "a.sqlite") as other:
        seen = [db.data_version(), db.data_version()]
        other.write(note).result()
        seen.append(db.data_version())
        other.write(lambda _: None).result()
        seen.append(db.data_version())
        assert seen[0] == seen[1] != seen[2] == seen[3]


def test_after_closing_no_file_is_open_and_reading_says_so(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.sqlite")
    db.write(note).result()
    db.reader()
    db.close()
    gc.collect()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sqlite"]
    with pytest.raises(StoreError, match="closed"):
        db.reader()


def test_two_processes_worth_of_databases_share_a_file(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as first, Database(tmp_path / "a.sqlite") as second:
        futures = [db.write(note) for _ in range(50) for db in (first, second)]
        for future in futures:
            future.result(30)
        assert count(first.reader()) == count(second.reader()) == 100
    conn = connect(tmp_path / "a.sqlite")
    assert count(conn) == 100
    conn.close()
