"""Another coding agent writes the code, through the real daemon: its changes are refused, mended and committed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightshift.sandbox import job_folders
from tests.support.acp_rig import agent_folder, running
from tests.support.daemon import Daemon, git, until

KEY = "key-of-the-agent-0123456789"
FILES = {"add.py": "def add(a, b):\n    return a - b\n"}
TESTS = {
    "test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert add(1, 0) == 1\n"
}
WRONG, RIGHT = "def add(a, b):\n    return a * b\n", "def add(a, b):\n    return a + b\n"
PLAN = [["say", "1. Turn the sign in add.py.\n2. Leave the rest alone."]]
REFLECTION = '{"pattern": "wrong operator", "root_cause": "it multiplies", "suggested_fix": "add"}'


def settings(folder: Path) -> Mapping[str, str]:
    return {
        "MODEL_TYPE": "acp", "ACP_COMMAND": "scripted-agent", "ACP_FOLDERS": f'["{folder}"]', "WORKER_COUNT": "1",
        "ACP_VARIABLES": '["AGENT_KEY"]', "AGENT_KEY": KEY, "EMBEDDER": "hashed",
        "OPENAI_API_KEY": "sk-another-0123456789", "FORGE_WEBHOOK_SECRET": "another-secret-0123",
    }  # fmt: skip


def list_events(daemon: Daemon, kind: str) -> list[dict[str, Any]]:
    return [event for event in daemon.get("/api/logs?limit=1000")["events"] if event["event"] == kind]


def test_a_hostile_agent_gets_nothing_and_is_judged_all_the_same(tmp_path: Path) -> None:
    owner = tmp_path / "owner.txt"
    owner.write_text("mine")
    script = {
        "PLANNING": PLAN,
        "CODING": [
            ["link", str(owner), "/work/owner.txt"],
            ["permission", "edit", "/etc/passwd"],
            ["fetch", "https://example.com/"],
            ["write", "/work/conftest.py", "import os\nos._exit(0)\n"],
            ["write", "/work/.git/hooks/pre-commit", "#!/bin/sh\n"],
            ["write", "/work/add.py", RIGHT],
            ["environment"],
            ["say", "Summary: Add adds its numbers"],
        ],
        "REFLECTING": [["say", REFLECTION]],
    }
    with agent_folder(script) as folder, Daemon(tmp_path / "home", settings(folder)) as daemon:
        (task,) = daemon.wait(daemon.submit(description="Mend add() in add.py.", files=FILES, tests=TESTS))
        refused, log = list_events(daemon, "agent_refused"), json.dumps(daemon.get("/api/logs?limit=1000"))
    assert owner.read_text() == "mine"
    assert all(what in str(refused) for what in ("/etc/passwd", "example.com:443", "owner.txt"))
    assert KEY not in log
    assert KEY not in daemon.output()
    assert (task["status"], task["ending"]) == ("done", "committed"), (task, daemon.output()[-3000:])
    assert git(daemon.home / "workspace", "ls-tree", "-r", "--name-only", "HEAD").split() == ["add.py", "test_add.py"]


def test_an_agent_dies_with_its_daemon_and_is_asked_again_by_the_next_one(tmp_path: Path) -> None:
    work = [["sleep", 4], ["write", "/work/add.py", RIGHT], ["say", "Summary: Add adds its numbers"]]
    script = {"PLANNING": PLAN, "CODING": work, "REFLECTING": [["say", REFLECTION]]}
    with agent_folder(script) as folder, Daemon(tmp_path / "home", settings(folder)) as daemon:
        task_id = daemon.submit(description="Mend add() in add.py.", files=FILES, tests=TESTS)
        until(lambda: bool(list_events(daemon, "model_called")))
        until(lambda: bool(running(folder)))
        daemon.kill()
        until(lambda: not running(folder))
        daemon.start()
        (task,) = daemon.wait(task_id)
        calls = [call["phase"] for call in list_events(daemon, "model_called")]
        assert (task["status"], task["ending"]) == ("done", "committed"), (task, daemon.output()[-3000:])
    assert calls == ["PLANNING", "CODING"], "what was answered is not asked again"
    copies = job_folders.where(tmp_path / "home" / "state" / "agents")
    assert list(copies.iterdir()) == []
