"""Packages end to end: the real daemon asks, its owner decides at the command line, and the task ends accordingly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import PLAN, REFLECTION, Answers, job
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wheelhouse import environ, wheel
from tests.support.wire_server import WireServer

TESTS = {
    "test_moon.py": "from moon import full\n\n\ndef test_full():\n    assert full() == 1\n    assert full(2) == 2\n"
}
WITH = "import moonphase\n\n\ndef full(times=1):\n    return moonphase.FULL * times\n"
WITHOUT = "def full(times=1):\n    return times\n"


class Moon:
    """A model that writes moon.py with a package.

    Once the prompt says that the owner denied the package, it writes moon.py without the package.
    """

    def __init__(self) -> None:
        self.others = Answers()
        self.codings: list[str] = []

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        text = "\n".join(message["content"] for message in messages)
        if "moon.py" not in text:
            return self.others(phase, messages)
        if phase == "CODING":
            self.codings.append(text)
            code = WITHOUT if "the owner denied" in text else WITH
            return f"```python path=moon.py\n{code}```"
        return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]


@pytest.fixture
def moon() -> Moon:
    return Moon()


@pytest.fixture
def server(moon: Moon) -> Iterator[WireServer]:
    with WireServer(moon) as running:
        yield running


@pytest.fixture
def index(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "index"
    folder.mkdir()
    wheel(folder, "moonphase", "1.0", {"moonphase.py": "from tidewave import HIGH as FULL\n"}, needs=("tidewave",))
    wheel(folder, "tidewave", "2.0", {"tidewave/__init__.py": "HIGH = 1\n"})
    return {name: value for name, value in environ(folder).items() if name.startswith("PIP_")}


def waits(daemon: Daemon, task_id: int) -> bool:
    return bool(daemon.get(f"/api/task/{task_id}")["status"] == "waiting")


def test_an_unapproved_package_waits_for_the_owner_while_others_go_on(
    tmp_path: Path, server: WireServer, moon: Moon, index: dict[str, str]
) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1", **index))
    daemon.start()
    first = daemon.submit(description="Write full() in moon.py", tests=TESTS)
    until(lambda: waits(daemon, first))
    (other,) = daemon.wait(daemon.submit(**job(2)))
    assert other["ending"] == "committed", other["reason"]
    daemon.kill()
    daemon.start()
    assert waits(daemon, first)
    assert daemon.get("/api/status")["approvals"] == 1
    listed = daemon.cli("--approvals")
    assert "package:moonphase" in listed.stdout, listed.stderr
    assert "moon.py:1 imports moonphase" in listed.stdout
    approved = daemon.cli("--approve", "1")
    assert approved.returncode == 0, approved.stderr
    (task,) = daemon.wait(first)
    assert (task["ending"], task["attempt"], task["iteration_count"]) == ("committed", 1, 1)
    assert len(moon.codings) == 1, "what was written before the question was written again"
    events = daemon.get(f"/api/logs?limit=500&task={first}")["events"]
    kinds = [event["event"] for event in events if event["event"] in {"asked", "answered", "package_installed"}]
    assert kinds == ["asked", "answered", "package_installed"]
    installed = next(event for event in events if event["event"] == "package_installed")
    assert installed["message"] == "moonphase 1.0, tidewave 2.0"
    note = json.loads(git(daemon.home / "workspace", "notes", "--ref=nightshift", "show", task["commit"]))
    assert note["packages"] == {"moonphase": "1.0", "tidewave": "2.0"}
    verified = daemon.cli("--verify", task["commit"])
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert daemon.stop() == 0


def test_a_denied_package_goes_back_to_the_model_which_does_without(
    tmp_path: Path, server: WireServer, moon: Moon, index: dict[str, str]
) -> None:
    with Daemon(tmp_path / "home", settings_for(server, **index)) as daemon:
        task_id = daemon.submit(description="Write full() in moon.py", tests=TESTS)
        until(lambda: waits(daemon, task_id))
        assert daemon.cli("--deny", "1").returncode == 0
        (task,) = daemon.wait(task_id)
        assert (task["ending"], task["iteration_count"]) == ("committed", 2)
        assert "package.denied" in moon.codings[1]
        workspace = daemon.home / "workspace"
        assert git(workspace, "show", f"{task['commit']}:moon.py") + "\n" == WITHOUT
        kinds = {event["event"] for event in daemon.get("/api/logs?limit=500")["events"]}
        assert "package_installed" not in kinds
        assert "gate_finding" in kinds
