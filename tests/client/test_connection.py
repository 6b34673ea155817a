"""What a status costs: of the heavy libraries none is loaded, with a daemon or without one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from client.offline import OfflineConnection, stopped_status
from config import load_settings
from db.database import Database
from tests.support.home import ROOT, Home

HEAVY = {"pydantic", "pydantic_core", "flask", "werkzeug", "yaml", "httpx", "asyncio", "rich", "config", "server"}
ASKED = """\
import sys
from client.command import call
sys.argv[1:] and call(sys.argv[1:])
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded(home: Home, *arguments: str, **variables: str) -> set[str]:
    """The packages that a call of the command line has imported at its end."""
    environ = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path), **variables}
    argv = [sys.executable, "-c", ASKED, *arguments]
    done = subprocess.run(argv, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("up", [True, False])
def test_a_status_loads_no_heavy_library_while_the_settings_stay_as_they_are(
    home: Home, up: bool, more: tuple[str, ...]
) -> None:
    home.cli("do it")
    (home.path / "config.yaml").write_text("worker_count: 2\n")
    if up:
        with home.daemon():
            first, second = loaded(home, "--status", *more), loaded(home, "--status", *more)
    else:
        first, second = loaded(home, "--status", *more), loaded(home, "--status", *more)
    assert "pydantic" in first, "the settings are checked once"
    assert not second & HEAVY
    assert ("http" in second, "sqlite3" in second or "pysqlite3" in second) == (True, not up)


def test_help_and_version_load_none_of_them_either(home: Home) -> None:
    for option in ("--version", "--help"):
        assert not loaded(home, option) & (HEAVY | {"sqlite3", "pysqlite3", "http"})


def test_changed_settings_are_checked_again_before_a_status(home: Home) -> None:
    home.cli("do it")
    assert home.cli("--status").code == 3
    (home.path / "config.yaml").write_text("worker_conut: 2\n")
    result = home.cli("--status")
    assert (result.code, result.out) == (2, "")
    assert "worker_conut: unknown setting; did you mean worker_count?" in result.err


def test_a_home_without_a_database_has_the_status_of_an_empty_one(tmp_path: Path) -> None:
    connection = OfflineConnection(tmp_path / "none.sqlite", lambda: load_settings(home=tmp_path), "down")
    with Database(tmp_path / "empty.sqlite") as empty:
        assert replace(connection.status(), notices=()) == replace(stopped_status(empty), notices=())
    connection.close()
