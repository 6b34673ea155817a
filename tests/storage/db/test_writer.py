"""The single writer of the database: group commit, failures, and listeners."""

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.errors import StoreError
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection, IntegrityError
from nightshift.storage.db.writer import Job
from tests.support import tiers


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "a.sqlite") as opened:
        yield opened


def add(value: float) -> Job[float]:
    def job(conn: Connection) -> float:
        conn.execute(
            "INSERT INTO patterns (created_at, problem, times_used, solution) VALUES ('', '', ?, '')", (value,)
        )
        return value

    return job


def failing(value: float) -> Job[float]:
    def job(conn: Connection) -> float:
        add(value)(conn)
        raise LookupError(f"{value} is not wanted")

    return job


def read_stored(db: Database) -> list[float]:
    return [row[0] for row in db.reader().execute("SELECT times_used FROM patterns ORDER BY id")]


def together(db: Database, jobs: list[Job[float]]) -> list[Future[float]]:
    """Submit jobs while the writer is busy, so that they share a transaction."""
    busy, go = threading.Event(), threading.Event()

    def wait(_: Connection) -> None:
        busy.set()
        go.wait(10)

    first = db.write(wait)
    busy.wait(10)
    futures = [db.write(job) for job in jobs]
    go.set()
    first.result(10)
    for future in futures:
        future.exception(10)
    return futures


def test_a_job_that_raises_does_not_spoil_the_others(db: Database) -> None:
    futures = together(db, [add(1), failing(2), add(3), failing(4)])
    assert [future.exception() is None for future in futures] == [True, False, True, False]
    with pytest.raises(LookupError, match="2 is not wanted"):
        futures[1].result()
    assert read_stored(db) == [1, 3]


@settings(max_examples=tiers.examples(25), deadline=None)
@given(st.lists(st.booleans(), max_size=12))
def test_what_was_acknowledged_is_there_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, good: list[bool]
) -> None:
    with Database(tmp_path_factory.mktemp("db") / "a.sqlite") as db:
        futures = [db.write(add(n) if fine else failing(n)) for n, fine in enumerate(good)]
        numbers = [future.result() for future in futures if future.exception() is None]
        assert read_stored(db) == numbers == [n for n, fine in enumerate(good) if fine]


def test_a_commit_that_fails_fails_its_job_and_no_other(db: Database) -> None:
    def orphan(conn: Connection) -> float:
        conn.execute("PRAGMA defer_foreign_keys=ON")
        conn.execute("INSERT INTO task_specs (task_id, spec) VALUES (99, '{}')")
        return 0

    futures = together(db, [add(1), orphan, add(2)])
    with pytest.raises(IntegrityError, match="FOREIGN KEY"):
        futures[1].result()
    assert read_stored(db) == [1, 2]
    assert db.write(add(3)).result() == 3


def test_closing_finishes_what_was_accepted(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.sqlite")
    futures = [db.write(add(n)) for n in range(300)]
    db.close()
    assert [future.result(0) for future in futures] == list(range(300))
    with pytest.raises(StoreError, match="closed"):
        db.write(add(1)).result()
    db.close()


def test_a_listener_that_raises_is_dropped_and_hurts_nobody(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []

    def bad(_: Connection) -> None:
        calls.append("bad")
        raise RuntimeError("no")

    db.listen(bad)
    db.listen(lambda _: calls.append("good"))
    with caplog.at_level(logging.ERROR):
        for value in range(3):
            assert db.write(add(value)).result() == value
    db.close()
    assert calls == ["bad", "good", "good", "good"]
    assert "a listener of the database is dropped" in caplog.text


def test_what_nobody_waits_for_goes_along_with_the_next_write_in_its_order(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nightshift.storage.db.writer.PATIENCE_S", 3600.0)
    commits = list[None]()
    db.listen(lambda _: commits.append(None))
    later = [db.write_later(add(value)) for value in (1, 2)]
    with pytest.raises(TimeoutError):
        later[0].result(0.1)
    assert db.write(add(3)).result(10) == 3
    assert read_stored(db) == [1, 2, 3]
    assert [future.result(10) for future in later] == [1, 2]
    assert len(commits) == 1


def test_closing_writes_what_nobody_waits_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nightshift.storage.db.writer.PATIENCE_S", 3600.0)
    with Database(tmp_path / "a.sqlite") as first:
        future = first.write_later(add(1))
    assert future.result(0) == 1
    with Database(tmp_path / "a.sqlite") as second:
        assert read_stored(second) == [1]
