"""Backups are sound, never block the daemon, and are rotated by age."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.errors import StoreError
from nightshift.core.events import Event, Kind
from nightshift.storage.db import backups
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import StateStore
from tests.support import tiers

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


def fill(path: Path, value: int) -> None:
    with Database(path) as db:
        note(db, value)


def note(db: Database, value: int) -> None:
    insert = (
        "INSERT INTO patterns (created_at, problem, solution, times_used) VALUES ('2026-03-20T12:00:00Z', '', '', ?)"
    )
    db.write(lambda conn: conn.execute(insert, (value,)).rowcount).result()


def values(path: Path) -> list[float]:
    with Database(path, readonly=True) as db:
        return [row[0] for row in db.reader().execute("SELECT times_used FROM patterns ORDER BY id")]


def damage(path: Path) -> None:
    path.write_bytes(b"\xff" * 50_000)


def put(folder: Path, *times: datetime) -> None:
    folder.mkdir(exist_ok=True)
    for at in times:
        (folder / f"agent_logs-{at:%Y%m%dT%H%M%S}Z.sqlite").write_bytes(b"")


def times(folder: Path) -> list[datetime]:
    return [at for path in backups.list_backups(folder, NOW) if (at := backups.time_of(path))]


def test_a_backup_holds_what_was_committed_and_has_no_log_beside_it(tmp_path: Path) -> None:
    fill(tmp_path / "a.sqlite", 7)
    backup = backups.make(tmp_path / "a.sqlite", tmp_path / "backups", NOW, keep=1, daily=0)
    assert [path.name for path in (tmp_path / "backups").iterdir()] == ["agent_logs-20260320T120000Z.sqlite"]
    assert backup is not None
    assert values(backup) == [7]


def test_a_copy_that_fails_leaves_the_older_one_and_every_backup(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.sqlite", tmp_path / "backups"
    fill(path, 1)
    put(folder, *(NOW - timedelta(days=n) for n in range(1, 9)))
    backups.copy(path, tmp_path / "copy.sqlite")
    before = (tmp_path / "copy.sqlite").read_bytes()
    damage(path)
    with pytest.raises(StoreError):
        backups.copy(path, tmp_path / "copy.sqlite")
    with pytest.raises(StoreError):
        backups.make(path, folder, NOW, keep=1, daily=0)
    assert (tmp_path / "copy.sqlite").read_bytes() == before
    assert len(times(folder)) == 8
    assert not list(tmp_path.rglob("*.part"))


def test_a_copy_of_damaged_pages_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    fill(path, 1)
    raw = bytearray(path.read_bytes())
    raw[4096 * 3 : 4096 * 4] = bytes(4096)
    path.write_bytes(raw)
    with pytest.raises(StoreError, match="is not sound"):
        backups.make(path, tmp_path / "backups", NOW, keep=1, daily=0)
    assert list((tmp_path / "backups").iterdir()) == []


@pytest.mark.parametrize(("room", "count"), [(3.5, 3), (0, 1)])
def test_together_they_have_a_limit_of_size_and_the_newest_stays(tmp_path: Path, room: float, count: int) -> None:
    fill(tmp_path / "a.sqlite", 1)
    size = (tmp_path / "a.sqlite").stat().st_size
    put(tmp_path / "b", *(NOW - timedelta(hours=hours) for hours in range(1, 5)))
    for old in (tmp_path / "b").iterdir():
        old.write_bytes(bytes(size))
    most = int(room * size)
    backups.make(tmp_path / "a.sqlite", tmp_path / "b", NOW, keep=9, daily=0, most_bytes=most)
    assert times(tmp_path / "b") == [NOW - timedelta(hours=hours) for hours in range(count)]


@settings(max_examples=tiers.examples(60), deadline=None)
@given(
    hours=st.lists(st.integers(-2000, 2000), unique=True, max_size=40), keep=st.integers(1, 6), daily=st.integers(0, 9)
)
def test_rotation_keeps_the_newest_and_its_own_whatever_the_clock_says(
    tmp_path_factory: pytest.TempPathFactory, hours: list[int], keep: int, daily: int
) -> None:
    folder = tmp_path_factory.mktemp("b")
    fill(folder / "a.sqlite", 1)
    put(folder / "b", *(NOW + timedelta(hours=n) for n in hours))
    every = {NOW, *(NOW + timedelta(hours=n) for n in hours)}
    newest = sorted(every, key=lambda at: (at <= NOW, at), reverse=True)[:keep]
    backups.make(folder / "a.sqlite", folder / "b", NOW, keep=keep, daily=daily)
    left = times(folder / "b")
    assert left[: len(newest)] == newest
    days = [at.date() for at in left[len(newest) :]]
    assert len(days) == len(set(days)) <= daily
    assert all(NOW.date() - timedelta(days=daily) <= day < NOW.date() for day in days)


def emit(path: Path, *kinds: Kind, task_id: int | None = None) -> None:
    with Database(path) as db:
        for kind in kinds:
            EventLog(db).emit(Event(kind=kind, message="", task_id=task_id))
        db.write(lambda _: None).result()


def start_and_stop(path: Path) -> None:
    emit(path, Kind.DAEMON_STARTED, Kind.STATE_SAVED, Kind.DAEMON_STOPPED)
    with Database(path) as db:
        StateStore(db).set("clock", "12:00").result()


@pytest.mark.parametrize(
    ("change", "is_due"),
    [(lambda _: None, False), (start_and_stop, False), (lambda path: emit(path, Kind.TASK_MOVED, task_id=1), True)],
)
def test_a_backup_is_made_where_something_was_done_since_the_newest(
    tmp_path: Path, change: Callable[[Path], object], is_due: bool
) -> None:
    path = tmp_path / "a.sqlite"
    fill(path, 1)
    assert backups.make(path, tmp_path / "b", NOW, keep=4, daily=7)
    change(path)
    backup = backups.make(path, tmp_path / "b", NOW + timedelta(hours=1), keep=4, daily=7)
    assert (backup is not None) == is_due
    assert len(times(tmp_path / "b")) == 1 + is_due


@pytest.mark.parametrize(
    ("hours_ago", "left"),
    [
        ([0.1, 0.2, 0.3], [0.0]),  # restarts within an hour cause no removal of other backups
        ([1, 2, 3, 24, 25, 48, 72], [0, 1, 2, 24, 48, 72]),
    ],
)
def test_backups_are_spaced_by_age(tmp_path: Path, hours_ago: list[float], left: list[float]) -> None:
    fill(tmp_path / "a.sqlite", 1)
    put(tmp_path / "b", *(NOW + timedelta(minutes=59, hours=-n) for n in hours_ago))
    backups.make(tmp_path / "a.sqlite", tmp_path / "b", NOW + timedelta(minutes=59), keep=3, daily=3)
    names = sorted(path.name for path in (tmp_path / "b").iterdir())
    assert names == sorted(f"agent_logs-{NOW + timedelta(minutes=59, hours=-n):%Y%m%dT%H%M%S}Z.sqlite" for n in left)
