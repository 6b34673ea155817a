"""A database that refuses writes, either for a while or for good."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.errors import StoreDamaged, StoreFull, StoreLocked
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection, connect
from nightshift.storage.db.write_failures import WriteFailure
from nightshift.storage.db.writer import Job


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "a.sqlite", busy_s=0.05, retry_for_s=0.1) as opened:
        yield opened


def add(value: int, size: int = 10) -> Job[int]:
    def job(conn: Connection) -> int:
        conn.execute(
            "INSERT INTO patterns (created_at, problem, times_used, solution) VALUES ('', ?, ?, '')",
            ("n" * size, value),
        )
        return value

    return job


def room(pages: int) -> Job[None]:
    """Limit the growth of the database file to some pages, on the writer's connection only."""

    def job(conn: Connection) -> None:
        count = conn.execute("PRAGMA page_count").fetchone()[0]
        conn.execute(f"PRAGMA max_page_count={count + pages}")

    return job


def read_stored(db: Database) -> list[int]:
    return [int(row[0]) for row in db.reader().execute("SELECT times_used FROM patterns ORDER BY id")]


class Heard:
    """Collects the reported failures."""

    def __init__(self, db: Database) -> None:
        self.all: list[tuple[type, bool]] = []
        self.over = threading.Event()
        db.on_write_failure(self)

    def __call__(self, failure: WriteFailure) -> None:
        self.all.append((type(failure.error), failure.over))
        if failure.over:
            self.over.set()


def test_what_can_wait_waits_for_room_and_what_cannot_fails_at_once(db: Database) -> None:
    heard = Heard(db)
    db.write(room(0)).result()
    waiting = [db.write_retrying(add(n, 40_000)) for n in range(3)]
    with pytest.raises(StoreFull):
        db.write(add(9, 40_000)).result(10)
    assert not any(future.done() for future in waiting)
    assert db.write_failure is not None
    assert read_stored(db) == []
    db.write(room(1000)).result()
    assert [future.result(20) for future in waiting] == [0, 1, 2]
    assert heard.over.wait(10)
    assert db.write_failure is None
    assert read_stored(db) == [0, 1, 2]
    assert heard.all == [(StoreFull, False), (StoreFull, True)]


def test_a_lock_that_another_process_keeps_is_waited_for(db: Database) -> None:
    heard, other = Heard(db), connect(db.path)
    other.execute("BEGIN IMMEDIATE")
    waiting = db.write_retrying(add(1))
    with pytest.raises(StoreLocked):
        db.write(add(2)).result(10)
    assert not waiting.done()
    other.execute("ROLLBACK")
    other.close()
    assert waiting.result(20) == 1
    assert heard.over.wait(10)


@pytest.mark.parametrize("how", ["hurry", "close"])
def test_nothing_waits_when_the_program_ends(tmp_path: Path, how: str) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        db.write(room(0)).result()
        waiting = [db.write_retrying(add(n, 40_000)) for n in range(3)]
        db.hurry() if how == "hurry" else db.close()
        for future in waiting:
            with pytest.raises(StoreFull):
                future.result(20)
        late = db.write_retrying(add(9, 40_000))
        assert late.exception(20) is not None


def test_nothing_is_written_to_a_database_that_shows_damage(db: Database) -> None:
    heard = Heard(db)
    page = db.reader().execute("SELECT rootpage FROM sqlite_master WHERE name = 'patterns'").fetchone()[0]
    conn = connect(db.path)
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    conn.close()
    with db.path.open("r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xff" * 4096)
    for write in (db.write, db.write_retrying):
        with pytest.raises(StoreDamaged):
            write(add(1)).result(10)
    with pytest.raises(StoreDamaged):
        db.write(lambda conn: conn.execute("DELETE FROM holds")).result(10)
    assert db.write_failure is not None
    assert db.write_failure.damage
    assert heard.all == [(StoreDamaged, False)]
