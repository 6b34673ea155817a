"""The process's SQLite module, and how files are opened."""

import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.core.errors import StoreDamaged, StoreError
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import connect

ROOT = Path(__file__).resolve().parents[3]


def test_the_heavy_libraries_stay_out_until_they_are_needed(tmp_path: Path) -> None:
    Database(tmp_path / "a.sqlite").close()
    code = (
        "import sys, pathlib; from nightshift.queue.manager import QueueManager;"
        "from nightshift.storage.db.database import Database;"
        "from nightshift.storage.db.event_log import EventLog; import nightshift.storage.db.step_store;"
        "import nightshift.storage.db.state_store, nightshift.storage.db.file_log;"
        "d = Database(pathlib.Path(sys.argv[1]), readonly=True); e = EventLog(d); QueueManager(d, e).counts();"
        "sys.exit(', '.join({'pydantic', 'numpy', 'sqlite_utils'} & set(sys.modules)) or 0)"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "a.sqlite")]
    subprocess.run(run, check=True, cwd=ROOT)


def test_commits_are_durable_and_readers_do_not_block(tmp_path: Path) -> None:
    conn = connect(tmp_path / "a.sqlite")
    settings = {name: conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
    assert settings == {"journal_mode": "wal", "synchronous": 2}
    assert conn.execute("PRAGMA foreign_keys").fetchone()[0] == 1
    conn.close()


@pytest.mark.parametrize("readonly", [True, False])
def test_a_file_that_is_no_database_is_told_from_other_trouble(tmp_path: Path, readonly: bool) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"what is this? " * 1000)
    with pytest.raises(StoreDamaged, match="damaged"):
        connect(tmp_path / "a.sqlite", readonly=readonly)
    with pytest.raises(StoreError) as caught:
        connect(tmp_path / "no folder" / "a.sqlite")
    assert not isinstance(caught.value, StoreDamaged)


def test_a_new_database_and_its_log_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    conn = connect(path)
    conn.execute("CREATE TABLE t (x)")
    files = [path, path.with_name("new.sqlite-wal"), path.with_name("new.sqlite-shm")]
    assert [oct(file.stat().st_mode & 0o777) for file in files] == ["0o600"] * 3
    conn.close()
