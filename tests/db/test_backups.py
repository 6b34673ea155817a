"""A damaged database is set aside, and the newest sound copy takes its place."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.errors import StoreDamaged, StoreError
from db import backups
from db.database import Database
from db.state_store import StateStore

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def filled(path: Path, value: int) -> None:
    with Database(path) as db:
        StateStore(db).set("k", value).result()


def damage(path: Path) -> None:
    path.write_bytes(b"\xff" * 50_000)


def test_the_newest_sound_copy_is_put_back(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    copies = [tmp_path / "backups" / f"{number}.sqlite" for number in range(3)]
    for number, to in enumerate(copies):
        filled(path, number)
        backups.copy(path, to)
        os.utime(to, (1000 + number, 1000 + number))
    damage(copies[2])
    os.utime(copies[2], (2000, 2000))
    damage(path)
    (tmp_path / "a.sqlite-wal").write_bytes(b"left over")
    with pytest.raises(StoreDamaged):
        Database(path)
    done = backups.restore(path, copies, NOW)
    assert done == backups.Restored(aside=tmp_path / "a.sqlite.damaged-20260301T120000", backup=copies[1])
    assert done.aside.read_bytes() == b"\xff" * 50_000
    with Database(path) as db:
        assert StateStore(db).get("k") == 1
    assert backups.restore(path, [], NOW).backup is None


def test_without_a_sound_copy_a_new_database_is_begun(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    damage(path)
    damage(tmp_path / "copy.sqlite")
    done = backups.restore(path, [tmp_path / "copy.sqlite", tmp_path / "gone.sqlite"], NOW)
    assert done.backup is None
    with Database(path) as db:
        assert StateStore(db).get("k") is None


def test_a_copy_that_fails_leaves_the_older_one(tmp_path: Path) -> None:
    filled(tmp_path / "a.sqlite", 1)
    backups.copy(tmp_path / "a.sqlite", tmp_path / "copy.sqlite")
    before = (tmp_path / "copy.sqlite").read_bytes()
    damage(tmp_path / "a.sqlite")
    with pytest.raises(StoreError):
        backups.copy(tmp_path / "a.sqlite", tmp_path / "copy.sqlite")
    assert (tmp_path / "copy.sqlite").read_bytes() == before
    assert not (tmp_path / "copy.sqlite.part").exists()
