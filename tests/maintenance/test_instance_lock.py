"""Only one daemon can run for each home and for each database."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nightshift.config.places import is_held
from nightshift.maintenance.instance_lock import AlreadyRunning, InstanceLock

HOLD = "import sys,time; from pathlib import Path; from nightshift.maintenance.instance_lock import InstanceLock\n"
HOLD += "with InstanceLock(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
# A script that leaves a child process behind. The child still holds the lock's descriptor, because it never closed the
# descriptor.
LEAVE = "import os,sys,time; from pathlib import Path; from nightshift.maintenance.instance_lock import InstanceLock\n"
LEAVE += "with InstanceLock(Path(sys.argv[1])):\n"
LEAVE += "    if os.fork() == 0: print('held', flush=True); time.sleep(60)\n"
LEAVE += "    else: os._exit(0)"


@contextmanager
def holder(program: str, lock: Path) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", program, str(lock)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)


def test_a_second_process_is_refused_and_told_who_holds_it_since_when(tmp_path: Path) -> None:
    lock = tmp_path / "state" / "lock"
    with holder(HOLD, lock) as pid:
        with pytest.raises(AlreadyRunning) as refused, InstanceLock(lock):
            pass
        assert is_held(lock)
        message = str(refused.value)
        assert f"process {pid} (" in message
        assert "nightshift.maintenance.instance_lock" in message, "its command line"
        assert "since 2" in message
        assert str(lock) in message
    with InstanceLock(lock):
        assert json.loads(lock.read_text())["pid"]


def test_what_a_dead_holder_left_behind_is_told_from_a_living_one(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with holder(LEAVE, lock) as pid:
        while Path(f"/proc/{pid}/cmdline").read_bytes():
            time.sleep(0.01)
        with pytest.raises(AlreadyRunning, match="is gone, but a process that it started"), InstanceLock(lock):
            pass


@pytest.mark.parametrize("text", ["", '{"pid": 1, "since": "soon"}'])
def test_a_note_that_cannot_be_read_still_refuses(tmp_path: Path, text: str) -> None:
    lock = tmp_path / "lock"
    with InstanceLock(lock):
        lock.write_text(text)
        with pytest.raises(AlreadyRunning, match="fuser"), InstanceLock(lock):
            pass


def test_two_homes_that_lead_to_one_database_are_one(tmp_path: Path) -> None:
    database = tmp_path / "db.lock"
    with InstanceLock(tmp_path / "one", database):
        with pytest.raises(AlreadyRunning), InstanceLock(tmp_path / "two", database):
            pass
        assert not is_held(tmp_path / "two"), "what was taken before the refusal is let go"


@pytest.mark.parametrize("gone", [("run",), ("db.lock",), ("run", "db.lock")])
def test_a_lock_whose_file_is_gone_is_known_by_the_other_one(tmp_path: Path, gone: tuple[str, ...]) -> None:
    lock, beside = tmp_path / "run" / "lock", tmp_path / "db.lock"
    with InstanceLock(lock, beside):
        for name in gone:
            path = tmp_path / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert is_held(lock, beside) == (len(gone) < 2)
    assert not is_held(lock, beside)
