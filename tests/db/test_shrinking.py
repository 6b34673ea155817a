"""Room that was made in the database goes back to the disk, in steps, or at once for a file of an older version."""

import sqlite3
from contextlib import closing
from pathlib import Path

from db import shrinking
from db.database import Database
from db.sqlite import Connection, connect, faults

TEXTS, TEXT_BYTES = 1200, 20_000


def fill(conn: Connection) -> None:
    text = bytes(TEXT_BYTES)
    for number in range(TEXTS):
        conn.execute("INSERT INTO artifacts (digest, chars, body, at) VALUES (?, 1, ?, '')", (f"{number:04}", text))


def empty(conn: Connection, above: int = 10) -> None:
    conn.execute("DELETE FROM artifacts WHERE digest > ?", (f"{above:04}",))


def old_file(path: Path) -> None:
    """A database as versions made it that knew no incremental vacuum."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute("CREATE TABLE artifacts (digest TEXT PRIMARY KEY, chars INTEGER, body BLOB, at TEXT)")
        fill(conn)
        conn.commit()


def test_a_new_file_shrinks_in_steps(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        db.write(fill).result()
        db.write(empty).result()
        before = shrinking.size(db.reader())
        assert before.in_steps
        assert before.free > 0.9 * before.file
        steps = 0
        while db.write(shrinking.give_back).result():
            steps += 1
        after = shrinking.size(db.reader())
        assert (after.free, after.used) == (0, after.file)
        assert after.file < 0.1 * before.file
        assert steps > 10
    assert (tmp_path / "a.sqlite").stat().st_size == after.file


def test_an_old_file_is_written_anew_once_and_shrinks_in_steps_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    old_file(path)
    with closing(connect(path)) as conn:
        empty(conn)
        before = shrinking.size(conn)
        assert not before.in_steps
        assert not shrinking.give_back(conn)
    assert shrinking.rewrite(path)
    with closing(connect(path)) as conn:
        after = shrinking.size(conn)
        assert after.in_steps
        assert after.file < 0.1 * before.file
        assert conn.execute("SELECT count(*) FROM artifacts").fetchone()[0] == 11
    assert not shrinking.rewrite(path)
    assert faults(path) == []


def test_an_old_file_with_little_room_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    old_file(path)
    assert not shrinking.rewrite(path)


def test_writing_anew_that_takes_too_long_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    old_file(path)
    with closing(connect(path)) as conn:
        empty(conn, above=300)
        before = shrinking.size(conn)
    assert not shrinking.rewrite(path, within_s=0.0)
    with closing(connect(path)) as conn:
        assert shrinking.size(conn) == before
    assert faults(path) == []


def test_the_log_is_folded_and_cut_to_nothing(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        db.write(fill).result()
        assert (tmp_path / "a.sqlite-wal").stat().st_size > TEXTS * TEXT_BYTES
        assert shrinking.fold_log(tmp_path / "a.sqlite") == 0
        db.write(empty).result()
        assert db.reader().execute("SELECT count(*) FROM artifacts").fetchone()[0] == 11


def test_a_log_that_a_reader_still_needs_stays(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        db.write(fill).result()
        reading = db.reader().execute("SELECT digest FROM artifacts")
        reading.fetchone()
        db.write(empty).result()
        assert shrinking.fold_log(tmp_path / "a.sqlite") > 0
        assert len(reading.fetchall()) == TEXTS - 1
        assert shrinking.fold_log(tmp_path / "a.sqlite") == 0
