"""A power cut leaves only a part of the write-ahead log.

Every write that was acknowledged before is still there, and the file is sound.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nightshift.core.clock import to_text
from nightshift.storage.db.database import Database
from nightshift.storage.db.recovery import ensure_sound
from nightshift.storage.db.sqlite import Connection, connect, faults
from nightshift.storage.db.writer import Job
from tests.support import tiers

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
PAGE = 4096
HEADER, FRAME_HEADER = 32, 24


def add(value: int) -> Job[None]:
    def job(conn: Connection) -> None:
        conn.execute(
            "INSERT INTO patterns (created_at, problem, times_used, solution) VALUES (?, ?, ?, '')",
            (to_text(NOW), "n" * 700, value),
        )

    return job


class Life:
    """A database with a write-ahead log.

    `lengths` contains the length of the log at the moment each value was acknowledged.
    """

    def __init__(self, folder: Path) -> None:
        self.path, self.lengths = folder / "lived.sqlite", list[int]()
        with Database(self.path) as db:
            conn = connect(self.path)
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            conn.close()
            for value in range(25):
                db.write(add(value)).result()
                self.lengths.append(len(self.log.read_bytes()))
            self.file, self.raw = self.path.read_bytes(), self.log.read_bytes()

    @property
    def log(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    def cut(self, home: Path, length: int, garbage: bytes = b"") -> Path:
        """Return a copy of the database whose log is cut to `length` bytes and then continued with `garbage`."""
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        (home / "a.sqlite").write_bytes(self.file)
        (home / "a.sqlite-wal").write_bytes(self.raw[:length] + garbage)
        return home / "a.sqlite"


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return Life(tmp_path_factory.mktemp("power"))


def check(life: Life, path: Path, length: int) -> None:
    looked = ensure_sound(path, path.parent / "backups", path.parent / "agent.log", NOW)
    assert looked.restored is None, "a log that was cut short is no damage"
    with Database(path) as db:
        values = [row[0] for row in db.reader().execute("SELECT times_used FROM patterns ORDER BY id")]
        db.write(add(99)).result()
    assert values == list(range(sum(1 for acknowledged in life.lengths if acknowledged <= length)))
    assert faults(path) == []


@settings(max_examples=tiers.examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fraction=st.floats(0, 1), zeros=st.integers(0, 3 * PAGE))
def test_a_cut_at_any_byte_leaves_what_was_acknowledged(
    life: Life, tmp_path_factory: pytest.TempPathFactory, fraction: float, zeros: int
) -> None:
    length = int(fraction * len(life.raw))
    home = tmp_path_factory.getbasetemp() / "cut"
    check(life, life.cut(home, length, bytes(zeros)), length)
