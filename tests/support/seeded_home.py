"""A home with finished work: tasks that ended in every way, written by the real program with a scripted model.

A test run builds the home once, which takes some seconds, and copies it for each test that wants its own home. The
database contains the paths of the repositories. `copied` replaces these paths, so that no copy touches the repositories
of another copy.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nightshift.storage.db.sqlite import connect
from tests.support.answers import PLAN, REFLECTION, Answers, job
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wheelhouse import environ, wheel
from tests.support.wire_server import WireServer

MOON = "import moonphase\n\n\ndef full(times=1):\n    return moonphase.FULL * times\n"
MOON_TESTS = {"test_moon.py": "from moon import full\n\n\ndef test_full():\n    assert full() == 1\n"}
VAGUE, QUESTION, ASSUMED = "Improve job_9.py somehow", "Shall the boundary count?", "no, only what lies above"
LEFT_OPEN = "it still calls total() with a list of texts <b>and fails</b>"
FINDING = "the boundary is counted, though only what is above it should be"
PATHS = (("git_commits", "repo"), ("tasks", "repo"), ("failures", "repo"), ("patterns", "repo"))
KEPT = "NIGHTSHIFT_TESTS_SEED"
FOREVER = 1000
PATIENCE_S = 180.0
FAR_AHEAD = "2099-01-01T00:00:00Z"


class SeedModel(Answers):
    """Answers the requests of the home's tasks.

    Jobs 1 and 2 are wrong at first, and job 3 is always wrong. Job 4 has a reviewer and an auditor, and job 77 is
    committed with an open finding. One task needs a package.
    """

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        """Return the reply to one request."""
        text = "\n".join(message["content"] for message in messages)
        if phase == "CLARIFYING":
            asked = {"question": QUESTION, "default": ASSUMED}
            return json.dumps({"goal": "sum what is above 9", "questions": [asked]})
        if phase in {"REVIEW", "AUDIT"}:
            finding = {"file": "job_4.py", "line": 2, "severity": "low", "reason": FINDING, "fix": "compare strictly"}
            finding["reader"] = "review"
            if "job_77" in text:
                finding = {**finding, "file": "shop.py", "severity": "high", "reason": LEFT_OPEN}
            return json.dumps({"findings": [finding] if phase == "REVIEW" else []})
        if "moon.py" in text:
            return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}.get(
                phase, f"```python path=moon.py\n{MOON}```"
            )
        if not re.search(r"job_\d+", text):
            return "I know nothing of that."
        return super().__call__(phase, messages)

    def wrong_first_of(self, n: int) -> int:
        return {1: 1, 2: 1, 3: FOREVER}.get(n, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeSnapshot:
    """A folder with a home, a repository of the owner and a package index; `tasks` maps a task's outcome to its id."""

    folder: Path
    tasks: Mapping[str, int]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def repo(self) -> Path:
        """The owner's repository, with a branch of the agent."""
        return self.folder / "owned"

    def daemon(self, server: WireServer, **settings: str) -> Daemon:
        """Return the daemon of this home, not started."""
        pip = {name: value for name, value in environ(self.folder / "index").items() if name.startswith("PIP_")}
        # A random control share would leave one home in ten without a used lesson, and a real embedder's results would
        # depend on when its model is loaded.
        recall_settings = {"RECALL_CONTROL_SHARE": "0", "EMBEDDER": "hashed"}
        return Daemon(self.home, settings_for(server, **{**pip, **recall_settings, **settings}))

    def copied(self, folder: Path) -> HomeSnapshot:
        """Copy the home, its repository and the index to another folder."""
        shutil.copytree(self.folder, folder, symlinks=True)
        replace_paths(folder / "home" / "db" / "agent_logs.sqlite", str(self.folder), str(folder))
        return HomeSnapshot(folder=folder, tasks=self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededDaemon:
    """A running daemon of a home with finished work, and the daemon's scripted model."""

    snapshot: HomeSnapshot
    daemon: Daemon
    server: WireServer

    @property
    def url(self) -> str:
        return self.daemon.url

    def task(self, name: str) -> int:
        """Return the id of a task by its outcome; see `_submit` for the names."""
        return self.snapshot.tasks[name]

    @property
    def report(self) -> str:
        """The name of the report that the daemon wrote at its checkpoint."""
        return str(self.daemon.get("/api/reports")["reports"][0]["name"])


def replace_paths(database: Path, old: str, new: str) -> None:
    """Replace the repositories' paths in the database of a home that was moved to another folder."""
    with closing(connect(database)) as conn, conn:
        for table, column in PATHS:
            conn.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (old, new))
        conn.execute("UPDATE task_specs SET spec = replace(spec, ?, ?), digest = ''", (old, new))


def share(factory: pytest.TempPathFactory) -> HomeSnapshot:
    """Return the home that all tests of a run copy. All pytest processes of the run share it."""
    base = factory.getbasetemp()
    return build((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "seeded")


def build(folder: Path) -> HomeSnapshot:
    """Return the home in that folder. The first caller builds it; other callers wait.

    With NIGHTSHIFT_TESTS_SEED=FOLDER the home is built in FOLDER once and kept for later runs, which saves time during
    work on a page. Remove FOLDER after a change to the data that the daemon writes.
    """
    folder = Path(os.environ.get(KEPT) or folder)
    noted = folder / "tasks.json"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not noted.exists():
            tasks = _work(HomeSnapshot(folder=folder, tasks={}))
            noted.write_text(json.dumps(tasks))
    return HomeSnapshot(folder=folder, tasks=json.loads(noted.read_text()))


@contextmanager
def start(snapshot: HomeSnapshot, **settings: str) -> Iterator[tuple[Daemon, WireServer]]:
    """Run the daemon of that home, and its model."""
    with WireServer(SeedModel()) as server, snapshot.daemon(server, **settings) as daemon:
        yield daemon, server


def _work(snapshot: HomeSnapshot) -> dict[str, int]:
    make_owned(snapshot.repo)
    (snapshot.folder / "index").mkdir()
    wheel(snapshot.folder / "index", "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"})
    with start(snapshot) as (daemon, _):
        tasks = _submit(daemon, snapshot.repo)
        begun = [tasks[name] for name in ("second_try", "failed", "reviewed", "owned", "refused")]
        daemon.wait(*begun, within_s=PATIENCE_S)
        tasks["recalling"] = daemon.submit(**job(2))
        daemon.wait(tasks["recalling"], within_s=PATIENCE_S)
        until(lambda: len(daemon.get("/api/approvals?open=1")["approvals"]) == 2, PATIENCE_S)
        daemon.ask("POST", "/api/checkpoint")
        until(lambda: _report(daemon), PATIENCE_S)
        daemon.ask("POST", "/api/resume")
    return tasks


def _submit(daemon: Daemon, repo: Path) -> dict[str, int]:
    tasks = {
        "second_try": daemon.submit(**job(1)),
        "failed": daemon.submit(**job(3)),
        "reviewed": daemon.submit(**job(4), review=True, audit=True),
        "owned": daemon.submit(**job(7), repo=str(repo)),
        "refused": _refuse(daemon, repo.with_name("gone")),
        "approval": daemon.submit(description="Write full() in moon.py", tests=MOON_TESTS),
        "question": daemon.submit(description=VAGUE, clarify=True),
        "scheduled": daemon.submit(**job(5), not_before=FAR_AHEAD),
        "cancelled": daemon.submit(**job(6), not_before=FAR_AHEAD),
    }
    tasks["blocked"] = daemon.submit(**job(10), depends_on=[tasks["scheduled"]])
    daemon.ask("POST", f"/api/task/{tasks['cancelled']}/cancel")
    return tasks


def _refuse(daemon: Daemon, repo: Path) -> int:
    """Submit a task whose base is deleted before any worker sees the task."""
    make_owned(repo)
    git(repo, "branch", "base")
    daemon.ask("POST", "/api/pause")
    task_id = daemon.submit(**job(8), repo=str(repo), base="base")
    git(repo, "branch", "-D", "base")
    daemon.ask("POST", "/api/resume")
    return task_id


def _report(daemon: Daemon) -> bool:
    holds: list[dict[str, Any]] = daemon.get("/api/status")["holds"]
    return any("is written" in hold["reason"] for hold in holds)


def make_owned(repo: Path) -> None:
    """Create an owner's repository with one commit on `trunk`."""
    repo.mkdir()
    git(repo, "init", "-q", "-b", "trunk")
    git(repo, "config", "user.name", "Owner")
    git(repo, "config", "user.email", "owner@example.org")
    (repo / "other.py").write_text("VALUE = 1\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "First")
