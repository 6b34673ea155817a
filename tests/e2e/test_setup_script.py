"""A setup script end to end: the owner approves it once, and two tasks use its files, the second one offline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.sandbox import job_folders
from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.package_index import PackageIndex
from tests.support.wire_server import WireServer

SCRIPT = ".nightshift/setup.sh"
CODE = {"moon.py": "import moonphase\n\n\ndef full(times=1):\n    return moonphase.FULL * times\n",
        "tide.py": "import moonphase\n\n\ndef high():\n    return moonphase.FULL + 1\n"}  # fmt: skip
TESTS = {
    "moon.py": {"test_moon.py": "from moon import full\n\n\ndef test_full():\n    assert full(2) == 14\n"},
    "tide.py": {"test_tide.py": "from tide import high\n\n\ndef test_high():\n    assert high() == 8\n"},
}


def reply(phase: str, messages: list[dict[str, str]]) -> str:
    text = "\n".join(message["content"] for message in messages)
    if phase == "CODING":
        path = next(path for path in CODE if f"Write {path}" in text)
        return f"```python path={path}\n{CODE[path]}```"
    return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    with PackageIndex(tmp_path / "index") as served:
        served.add("moonphase", "1.0", {"moonphase.py": "FULL = 7\n"})
        yield served


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository of the owner; its code needs a package, which its setup script installs."""
    path = tmp_path / "repo"
    (path / ".nightshift").mkdir(parents=True)
    (path / SCRIPT).write_text('#!/bin/bash\nset -e\npip install -q moonphase\ntest -z "$OPENAI_API_KEY"\n')
    (path / "README.md").write_text("moons\n")
    git(tmp_path, "init", "-q", "-b", "main", str(path))
    git(path, "add", "-A")
    git(path, "-c", "user.name=o", "-c", "user.email=o@example.org", "commit", "-q", "-m", "start")
    return path


@pytest.fixture
def daemon(tmp_path: Path, index: PackageIndex) -> Iterator[Daemon]:
    variables = {name: value for name, value in index.environ.items() if name != "PATH"}
    with WireServer(reply) as server, Daemon(tmp_path / "home", settings_for(server, **variables)) as running:
        yield running


def submit(daemon: Daemon, repo: Path, path: str) -> int:
    return daemon.submit(description=f"Write {path}", repo=str(repo), tests=TESTS[path])


def asks(daemon: Daemon) -> list[dict[str, str]]:
    return [ask for ask in daemon.get("/api/approvals")["approvals"] if ask["granted"] is None]


def test_a_script_is_asked_for_once_and_what_it_leaves_serves_every_later_task(
    daemon: Daemon, repo: Path, index: PackageIndex
) -> None:
    first = submit(daemon, repo, "moon.py")
    until(lambda: bool(asks(daemon)))
    (ask,) = asks(daemon)
    assert ask["kind"] == "setup"
    assert ask["subject"].startswith("setup:")
    assert "pip install -q moonphase" in ask["question"]
    assert "any host but this machine" in ask["question"]
    assert not index.asked, "it ran before its owner agreed"
    assert daemon.cli("--approve", str(ask["approval_id"])).returncode == 0
    (task,) = daemon.wait(first)
    assert task["ending"] == "committed", task["reason"]
    note = json.loads(git(repo, "notes", "--ref=nightshift", "show", task["commit"]))
    assert SCRIPT in json.dumps(note)
    asked = len(index.asked)
    assert asked
    (second,) = daemon.wait(submit(daemon, repo, "tide.py"))
    assert second["ending"] == "committed", second["reason"]
    assert asks(daemon) == []
    assert len(index.asked) == asked, "the second task has no network"
    listed = daemon.cli("--environments").stdout
    assert all(word in listed for word in ("setup-", SCRIPT)), listed
    folder = job_folders.where(daemon.home / "state" / "environments")
    for environment in folder.glob("setup-*[!n]"):
        environment.rename(environment.with_name(f"{environment.name}.away"))
    verified = daemon.cli("--verify", second["commit"], "--repo", str(repo))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert len(index.asked) > asked, "it was made again to verify"
