"""Backups are sound, never in the way, and rotated by age."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.errors import StoreError
from nightshift.storage.db import backups
from nightshift.storage.db.database import Database
from nightshift.storage.db.state_store import StateStore
from tests.support import tiers

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


def filled(path: Path, value: int) -> None:
    with Database(path) as db:
        StateStore(db).set("k", value).result()


def damage(path: Path) -> None:
    path.write_bytes(b"\xff" * 50_000)


def put(folder: Path, *times: datetime) -> None:
    folder.mkdir(exist_ok=True)
    for at in times:
        (folder / f"agent_logs-{at:%Y%m%dT%H%M%S}Z.sqlite").write_bytes(b"")


def times(folder: Path) -> list[datetime]:
    return [at for path in backups.kept(folder, NOW) if (at := backups.time_of(path))]


def test_a_backup_holds_what_was_committed_and_has_no_log_beside_it(tmp_path: Path) -> None:
    filled(tmp_path / "a.sqlite", 7)
    made = backups.make(tmp_path / "a.sqlite", tmp_path / "backups", NOW, keep=1, daily=0)
    assert [path.name for path in (tmp_path / "backups").iterdir()] == ["agent_logs-20260320T120000Z.sqlite"]
    with Database(made, readonly=True) as db:
        assert StateStore(db).get("k") == 7


def test_a_copy_that_fails_leaves_the_older_one_and_every_backup(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.sqlite", tmp_path / "backups"
    filled(path, 1)
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
    filled(path, 1)
    raw = bytearray(path.read_bytes())
    raw[4096 * 3 : 4096 * 4] = bytes(4096)
    path.write_bytes(raw)
    with pytest.raises(StoreError, match="is not sound"):
        backups.make(path, tmp_path / "backups", NOW, keep=1, daily=0)
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    filled(tmp_path / "a.sqlite", 1)
    (tmp_path / "backups").write_text("a file")
    with pytest.raises(StoreError, match="could not be written"):
        backups.make(tmp_path / "a.sqlite", tmp_path / "backups", NOW, keep=1, daily=0)


def test_the_newest_and_one_a_day_are_kept(tmp_path: Path) -> None:
    filled(tmp_path / "a.sqlite", 1)
    put(tmp_path / "b", *(NOW - timedelta(hours=n) for n in range(1, 24 * 5)))
    backups.make(tmp_path / "a.sqlite", tmp_path / "b", NOW, keep=3, daily=2)
    newest, last_of_days = [NOW - timedelta(hours=n) for n in range(3)], [13, 37]
    assert times(tmp_path / "b") == [*newest, *(NOW - timedelta(hours=n) for n in last_of_days)]


@settings(max_examples=tiers.examples(60), deadline=None)
@given(
    hours=st.lists(st.integers(-2000, 2000), unique=True, max_size=40),
    keep=st.integers(1, 6),
    daily=st.integers(0, 9),
)
def test_rotation_keeps_the_newest_and_its_own_whatever_the_clock_says(
    tmp_path_factory: pytest.TempPathFactory, hours: list[int], keep: int, daily: int
) -> None:
    folder = tmp_path_factory.mktemp("b")
    filled(folder / "a.sqlite", 1)
    put(folder / "b", *(NOW + timedelta(hours=n) for n in hours))
    every = {NOW, *(NOW + timedelta(hours=n) for n in hours)}
    newest = sorted(every, key=lambda at: (at <= NOW, at), reverse=True)[:keep]
    backups.make(folder / "a.sqlite", folder / "b", NOW, keep=keep, daily=daily)
    left = times(folder / "b")
    assert left[: len(newest)] == newest
    days = [at.date() for at in left[len(newest) :]]
    assert len(days) == len(set(days)) <= daily
    assert all(NOW.date() - timedelta(days=daily) <= day < NOW.date() for day in days)


def test_the_writer_goes_on_while_a_backup_is_made(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        state, done = StateStore(db), threading.Event()

        def write() -> None:
            number = 0
            while not done.is_set():
                state.set(f"k{number}", "x" * 1000).result()
                number += 1

        thread = threading.Thread(target=write)
        thread.start()
        try:
            made = [
                backups.make(tmp_path / "a.sqlite", tmp_path / "b", NOW + timedelta(seconds=n), keep=9, daily=0)
                for n in range(5)
            ]
        finally:
            done.set()
            thread.join()
    assert len(set(made)) == 5
