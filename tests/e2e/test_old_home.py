"""Today's daemon opens a home that version 0.1.0 worked in.

All content is still there, and the old commits can be verified and reverted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.version import VERSION
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.lived_home import describe
from tests.support.old_home import DATABASE, OldHome, OldHomeModel, unpack
from tests.support.wire_server import WireServer

GOES_ON = ("running", "parked", "queued")
"""Statuses that a task may have left since the archive was made, because the kill interrupted the task or because the
task became due.
"""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """The old home with today's daemon on it. The daemon is paused, as the old one was."""

    old: OldHome
    daemon: Daemon

    def task(self, name: str) -> dict[str, Any]:
        return dict(self.daemon.get(f"/api/task/{self.old.tasks[name]}"))

    def rows(self, what: str, *fields: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """Return the rows of a list from the API, mapped from their values of these fields."""
        return {tuple(row[name] for name in fields): row for row in self.daemon.get(f"/api/{what}?limit=100")[what]}

    def verify(self, commit: str) -> dict[str, Any]:
        """Run the evidence of a commit again, and return the result."""
        status, answer = self.daemon.ask("POST", f"/api/commit/{commit}/verify", {})
        assert status in {200, 202}, answer
        address = f"/api/commit/{commit}/verification"
        until(lambda: self.daemon.get(address)["run"] is None, within_s=120)
        return dict(self.daemon.get(address)["last"])


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    old = unpack(tmp_path_factory.mktemp("old"))
    with WireServer(OldHomeModel()) as server, Daemon(old.home, settings_for(server)) as daemon:
        yield Opened(old=old, daemon=daemon)


def test_tasks_lessons_commits_the_report_and_settings_are_there(opened: Opened) -> None:
    old = opened.old
    may_differ = {old.tasks[name] for name in GOES_ON}
    now = opened.rows("tasks", "task_id")
    assert len(now) == len(old.rows)
    for row in old.rows:
        if row["task_id"] not in may_differ:
            assert {name: now[row["task_id"],][name] for name in row} == row
    commits = opened.rows("commits", "commit")
    for row in old.commits:
        assert {name: commits[row["commit"],][name] for name in row} == row
    assert {row["id"] for row in old.lessons} <= {id_ for (id_,) in opened.rows("lessons", "id")}
    address = "/api/lessons?like=AssertionError:+wrong+sum"
    until(lambda: bool(opened.daemon.get(address)["lessons"]))  # the daemon searches the lessons' vectors
    assert {row["name"] for row in old.reports} <= {name for (name,) in opened.rows("reports", "name")}
    settings = opened.daemon.get("/api/settings")["settings"]
    assert next(each["value"] for each in settings if each["name"] == "max_iterations") == 12
    assert describe(old.home / DATABASE) is None, "no backup had to be taken instead"


def test_the_evidence_of_each_commit_holds_by_the_rules_of_this_version(opened: Opened) -> None:
    for row in opened.old.commits:
        verification = opened.verify(row["commit"])
        assert verification["judgement"] == "holds", (row, verification)
        note = next(check for check in verification["checks"] if check["what"] == "note")
        assert f"version {VERSION}" in note["detail"]


def test_a_commit_of_a_branch_verifies_at_the_command_line(opened: Opened) -> None:
    branch = next(row["branch"] for row in opened.old.commits if row["task_id"] == opened.old.tasks["owned"])
    result = opened.daemon.cli("verify", branch, "--repo", str(opened.old.owned), "--json", within_s=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout)["holds"] is True


def test_a_commit_reverts_and_the_old_revert_stands(opened: Opened) -> None:
    workspace = opened.old.home / "workspace"
    before = git(workspace, "rev-parse", "main")
    status, answer = opened.daemon.ask("POST", f"/api/task/{opened.old.tasks['reviewed']}/revert", {}, timeout_s=120)
    assert (status, answer.get("task_id")) == (200, opened.old.tasks["reviewed"]), answer
    assert git(workspace, "rev-parse", "main^") == before
    assert "job_4.py" not in git(workspace, "ls-tree", "--name-only", "main").split()
    again = opened.daemon.ask("POST", f"/api/task/{opened.old.tasks['reverted']}/revert", {})
    assert again[0] == 409, "it was reverted by the old version"


def test_what_was_interrupted_or_waited_goes_on(opened: Opened) -> None:
    assert opened.task("running")["status"] == "queued", "it is paused as it was"
    opened.daemon.ask("POST", "/api/resume")
    ended = opened.daemon.wait(*(opened.old.tasks[name] for name in GOES_ON), within_s=240)
    assert [task["ending"] for task in ended] == ["committed"] * len(GOES_ON), ended


def test_the_archive_names_no_file_of_the_machine_that_made_it(tmp_path: Path) -> None:
    unpack(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if b"/lib/python3" in path.read_bytes()] == []
