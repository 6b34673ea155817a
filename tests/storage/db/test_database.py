"""The database: readers, writes, and the detection of commits by other processes."""

from pathlib import Path

import pytest

from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection


def note(conn: Connection) -> None:
    conn.execute("INSERT INTO patterns (created_at, problem, times_used, solution) VALUES ('', '', 1, '')")


def count(conn: Connection) -> int:
    return int(conn.execute("SELECT COUNT(*) FROM patterns").fetchone()[0])


def test_a_reader_sees_every_commit_and_can_write_nothing(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        assert count(db.reader()) == 0
        db.write(note).result()
        assert count(db.reader()) == 1
        with pytest.raises(Exception, match="readonly"):
            note(db.reader())


def test_the_data_version_changes_with_commits_of_others_and_only_then(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db, Database(tmp_path / "a.sqlite") as other:
        seen = [db.data_version(), db.data_version()]
        other.write(note).result()
        seen.append(db.data_version())
        other.write(lambda _: None).result()
        seen.append(db.data_version())
        assert seen[0] == seen[1] != seen[2] == seen[3]
