"""With a daemon, a command imports only the client and none of the heavy libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.__main__ import load_application
from nightshift.app.commands.offline import OfflineConnection, read_stopped_status
from nightshift.client.session import Session
from nightshift.config.access import names_in_code, of_nothing_set
from nightshift.config.load import NAMES, load_settings
from nightshift.config.places import Places
from nightshift.storage.db.codec import encode
from nightshift.storage.db.database import Database
from tests.support.home import ROOT, Home

HEAVY = {
    "pydantic", "pydantic_core", "flask", "werkzeug", "yaml", "httpx", "asyncio", "rich", "config", "server",
}  # fmt: skip
ASKED = """\
import sys
from nightshift.__main__ import load_application
from nightshift.client.command import call
call(load_application, sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
"""


def load(home: Home, *arguments: str, **variables: str) -> set[str]:
    """Return the names of the modules that a command has imported when it ends."""
    environ = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path), **variables}
    argv = [sys.executable, "-c", ASKED, *arguments]
    done = subprocess.run(argv, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("up", [True, False])
def test_a_status_loads_no_heavy_library_while_the_settings_stay_as_they_are(home: Home, up: bool) -> None:
    home.cli("do it")
    (home.path / "config.yaml").write_text("worker_count: 2\n")
    if up:
        with home.daemon():
            first, second = load(home, "--status"), load(home, "--status")
    else:
        first, second = load(home, "--status"), load(home, "--status")
    assert "pydantic" in first, "the settings are checked once"
    assert not second & HEAVY
    assert ("http" in second, "sqlite3" in second or "pysqlite3" in second) == (True, not up)


OURS = {"nightshift", "nightshift.client", "nightshift.config", "nightshift.core", "nightshift.__main__"}
FILES = {"nightshift.storage", "nightshift.storage.files", "nightshift.storage.files.whole"}


@pytest.mark.parametrize("asked", ["show 1", "add it"])
def test_with_a_daemon_a_command_loads_nothing_but_the_client(home: Home, asked: str) -> None:
    home.cli("do it")
    with home.daemon():
        load(home, "status")  # the first call checks the settings
        modules = load(home, *asked.split(), "--json")
    packages = {".".join(name.split(".")[:2]) for name in modules if name.split(".")[0] == "nightshift"}
    assert packages <= OURS | {"nightshift.storage"}
    assert {name for name in modules if name.startswith("nightshift.storage")} <= FILES
    assert not modules & HEAVY


def test_the_first_status_of_a_home_where_nothing_is_set_loads_none_either(home: Home) -> None:
    assert not load(home, "--status") & HEAVY
    assert not any(home.path.iterdir())
    assert "pydantic" in load(home, "--status", worker_count="3"), "a variable is checked"


@pytest.mark.parametrize("file", ["overrides_file", "dotenv_file"])
def test_the_settings_of_a_new_home_are_read_where_there_is_a_file_with_some(tmp_path: Path, file: str) -> None:
    places = Places(home=tmp_path, folders=None)
    if os.environ.keys().isdisjoint(name.upper() for name in NAMES):
        assert of_nothing_set(places) == load_settings(home=tmp_path).access
    path = getattr(places, file)
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    assert of_nothing_set(places) is None


def test_a_home_without_a_database_has_the_status_of_an_empty_one(tmp_path: Path) -> None:
    connection = OfflineConnection(Session(load_application, tmp_path / "none"), "down")
    with Database(tmp_path / "empty.sqlite") as empty:
        of_empty = json.loads(encode(read_stopped_status(empty)))
    assert {**connection.status(), "notices": []} == {**of_empty, "notices": []}
    connection.close()


def test_every_setting_is_among_the_names_that_are_read_from_the_code() -> None:
    assert names_in_code() >= NAMES
