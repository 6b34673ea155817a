"""With a umask of 000, as in some services and containers, no file of ours may be writable by others."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.daemon import ROOT, Daemon, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

TEST = "from total import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
REPLY = "```python path=total.py\ndef total(items):\n    return sum(items)\n```"


def reply(phase: str, _messages: object) -> str:
    return REPLY if phase == "CODING" else "1. Write it."


def writable_by_others(*roots: Path) -> list[str]:
    walks = [entry for root in roots for entry in os.walk(root)]
    paths = [Path(folder, name) for folder, folders, files in walks for name in (*folders, *files)]
    modes = {path: path.lstat().st_mode for path in (*roots, *paths)}
    assert len(modes) > 100, "there is something to look at"
    return [str(path) for path, mode in modes.items() if mode & stat.S_IWOTH and not stat.S_ISLNK(mode)]


@pytest.mark.full
def test_nothing_that_a_daemon_and_its_children_make_can_be_written_by_others(tmp_path: Path) -> None:
    """Covers a new home, tasks in both repositories, the restored home, and commands without a daemon."""
    repo, home = make_repo(tmp_path / "shop", {"README.md": "shop\n"}), tmp_path / "home"
    home.mkdir(mode=0o755)
    with WireServer(reply) as server:
        daemon = Daemon(home, settings_for(server))
        daemon.umask = 0
        with daemon:
            own = daemon.submit(description="Write total in total.py", tests={"test_total.py": TEST})
            theirs = daemon.submit(description="Write total in total.py", tests={"test_total.py": TEST}, repo=str(repo))
            assert [task["status"] for task in daemon.wait(own, theirs)] == ["done", "done"]
        database = home / "db" / "agent_logs.sqlite"
        database.write_bytes(b"\xa5" * database.stat().st_size)
        with daemon:
            assert daemon.get(f"/api/task/{own}")["status"] == "done", "it was restored"
            assert daemon.ask("POST", "/api/reports", {})[0] < 300
        (home / "daemon.out").unlink()  # created by the test, not by the daemon
        call = [sys.executable, str(ROOT / "cli.py"), "add", "Write more"]
        subprocess.run(call, env=daemon.environment(), check=True, umask=0, capture_output=True)
        assert writable_by_others(home, repo) == []
        backups = list((home / "db" / "backups").glob("*.sqlite"))
        assert {stat.S_IMODE(each.stat().st_mode) for each in (database, *backups)} == {0o600}
        assert backups
