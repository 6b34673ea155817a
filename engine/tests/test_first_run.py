"""The first run on a fresh machine: the shipped inbox, no model, and commits a moment later."""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightshift.queue.intake.tasks_file import load_file
from tests.support.daemon import ROOT, Daemon, git, until

STARTERS = load_file(ROOT / "tasks.yaml").entries
IDS = range(1, len(STARTERS) + 1)
NO_MODEL = {
    "OLLAMA_BASE_URL": "http://127.0.0.1:9", "EMBEDDER": "hashed", "WORKER_COUNT": "2", "LOG_LEVEL": "DEBUG",
    "REPAIR_S": "30",
}  # fmt: skip


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("fresh") / "home"
    home.mkdir()
    shutil.copy(ROOT / "tasks.yaml", home)
    with Daemon(home, NO_MODEL) as daemon:
        until(lambda: len(daemon.get("/api/tasks")["tasks"]) == len(STARTERS))
        yield daemon


def list_events(daemon: Daemon, task_id: int, kind: str) -> list[str]:
    events: list[dict[str, Any]] = daemon.get("/api/logs?limit=1000")["events"]
    return [event["message"] for event in events if (event["task_id"], event["event"]) == (task_id, kind)]


def page(daemon: Daemon, path: str) -> str:
    with urllib.request.urlopen(daemon.url + path, timeout=20) as answer:
        text: str = answer.read().decode()
        return text


def park(daemon: Daemon, task_id: int) -> str:
    """Wait until the status of the task is `scheduled`, and return the reason."""
    until(lambda: daemon.get(f"/api/task/{task_id}")["status"] == "scheduled", within_s=60)
    reason: str = daemon.get(f"/api/task/{task_id}")["reason"]
    return reason


def test_the_examples_are_what_the_inbox_holds() -> None:
    files = {path: text for entry in STARTERS for path, text in {**entry.spec.files, **entry.spec.tests}.items()}
    assert {path: (ROOT / path).read_text() for path in files} == files
    assert len(STARTERS) in {3, 4}


def test_all_starter_tasks_are_committed_by_the_engine(fresh: Daemon, tmp_path: Path) -> None:
    tasks = fresh.wait(*IDS, within_s=180)
    assert [(task["status"], task["ending"]) for task in tasks] == [("done", "committed")] * len(STARTERS), tasks
    assert len(fresh.get("/api/tasks")["tasks"]) == len(STARTERS), "the commented task is none"
    workspace = fresh.home / "workspace"
    for task in tasks:
        assert "Model: repair" in git(workspace, "log", "-1", "--format=%B", task["commit"])
    git(workspace, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "main")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "examples"]
    ran = subprocess.run(argv, cwd=tmp_path / "tree", capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_it_is_told_where_the_fault_was_looked_for_and_what_was_found(fresh: Daemon) -> None:
    fresh.wait(*IDS, within_s=180)
    for task_id in IDS:
        (message,) = (text for text in list_events(fresh, task_id, "repair_progress") if "found after" in text)
        assert "candidates" in message
        assert "the built-in engine answered" in list_events(fresh, task_id, "model_called")[0]
        assert "Suspected lines by Ochiai" in page(fresh, f"/task/{task_id}/call/1/0/0")
    assert fresh.get("/api/task/1")["spent"]["model_calls"] == 0


def test_a_task_that_needs_a_model_waits_for_one_and_says_how_to_get_it(fresh: Daemon) -> None:
    task_id = fresh.submit(description="Create a user registration API with email validation", kind="web_app")
    reason = park(fresh, task_id)
    assert "no model is available" in reason
    assert "has no tests" in reason
    assert "ollama pull" in reason
