"""One daemon for each home."""

import subprocess
import sys
from pathlib import Path

import pytest

from upkeep.instance_lock import AlreadyRunning, InstanceLock

HOLD = "import sys,time; from pathlib import Path; from upkeep.instance_lock import InstanceLock\n"
HOLD += "with InstanceLock(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"


def test_a_second_process_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    lock = tmp_path / "state" / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(AlreadyRunning, match=str(holder.pid)), InstanceLock(lock):
            pass
        holder.kill()
    with InstanceLock(lock):
        assert lock.read_text()


def test_a_lock_that_was_released_can_be_taken_again(tmp_path: Path) -> None:
    for _ in range(2):
        with InstanceLock(tmp_path / "lock"):
            pass
