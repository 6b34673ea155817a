"""The repair engine and a model side by side in the real daemon.

The engine makes some replies of the model unnecessary. A task that the engine cannot do waits until a model answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.tasks.held_out import SHARE
from nightshift.core.tasks.submission import parse_spec
from nightshift.verdict.held.holding import hold
from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer

BUGGY = "def total(items):\n    result = 1\n    for item in items:\n        result += item\n    return result\n"
TESTS = (
    "from total import total\n\n\ndef test_some():\n    assert total([1, 2]) == 3\n\n\n"
    "def test_none():\n    assert total([]) == 0\n"
)
BUG = {"description": "Mend total()", "files": {"total.py": BUGGY}, "tests": {"test_total.py": TESTS}}


@pytest.fixture
def daemon(tmp_path: Path, server: WireServer) -> Iterator[Daemon]:
    more = {"MODEL_TYPE": "openai,repair", "MODEL_PROBE_S": "0.3", "REPAIR_FIRST_S": "40", "LOG_LEVEL": "DEBUG"}
    with Daemon(tmp_path / "home", settings_for(server, **more)) as running:
        yield running


def messages(daemon: Daemon, kind: str) -> list[str]:
    events = daemon.get("/api/logs?limit=1000")["events"]
    return [event["message"] for event in events if event["event"] == kind]


def test_a_bug_that_search_can_mend_buys_no_reply_and_is_told_everywhere(daemon: Daemon, server: WireServer) -> None:
    (task,) = daemon.wait(daemon.submit(**BUG))
    assert (task["status"], task["ending"]) == ("done", "committed")
    assert server.requests == []
    assert (task["spent"]["model_calls"], task["spent"]["tokens_in"]) == (0, 0)
    workspace = daemon.home / "workspace"
    assert git(workspace, "show", f"{task['commit']}:total.py") == BUGGY.replace("= 1", "= 0").strip()
    message = git(workspace, "log", "-1", "--format=%B", task["commit"])
    assert message.startswith("Fix total.py: ")
    assert "\nModel: repair\n" in message
    assert [text.rpartition("; ")[2] for text in messages(daemon, "model_called")] == [
        f"this saved a call of openai={server.model}"
    ] * 2
    assert daemon.get("/api/status")["saved"] == {"days": 7.0, "replies": 2, "saved": 2, "solved": 1}
    assert "2 of 2 replies saved (100 %) in 7 days, 1 task solved without a model" in daemon.cli("--status").stdout
    assert daemon.cli("verify", task["commit"]).returncode == 0


def secretly_wrong() -> dict[str, object]:
    """Return a task whose wrong code passes all shown tests and fails only checks that are held out of the tests."""
    for number in range(40):
        name = f"fare_{number}"
        tests = f"from {name} import {name}\n\n\ndef test_it():\n" + "".join(
            f"    assert {name}({zone}) == {10 if zone > 4 else 20}\n" for zone in range(1, 9)
        )
        files = {f"{name}.py": f"def {name}(zone):\n    return 10 if zone > 5 else 20\n"}
        spec = parse_spec({"description": f"Mend {name}()", "files": files, "tests": {f"test_{name}.py": tests}})
        hidden = [case.args for case in hold(spec, (), SHARE).cases if not case.shown]
        if "(5,)" in hidden:
            return {"description": spec.description, "files": files, "tests": dict(spec.tests)}
    raise AssertionError("no tests were found that hide just this check")


def test_what_the_engine_has_seen_is_no_witness_for_its_commit(daemon: Daemon, server: WireServer) -> None:
    task_id = daemon.submit(**secretly_wrong())
    (task,) = daemon.wait(task_id)
    assert (task["status"], task["ending"]) == ("done", "committed"), task["reason"]
    assert server.requests == []
    message = git(daemon.home / "workspace", "log", "-1", "--format=%B", task["commit"])
    assert "Verdict: tests_passed" in message
    assert daemon.cli("verify", task["commit"]).returncode == 0


def test_what_a_model_did_not_quite_do_is_mended_without_another_reply(daemon: Daemon, answers: Answers) -> None:
    (task,) = daemon.wait(daemon.submit(**job(1)))
    assert (task["status"], task["ending"]) == ("done", "committed")
    assert answers.counts == {(1, "PLANNING"): 1, (1, "CODING"): 1}, "its wrong reply led to another call"
    workspace = daemon.home / "workspace"
    assert "Model: tiny-coder, repair" in git(workspace, "log", "-1", "--format=%B", task["commit"])
    assert daemon.get("/api/status")["saved"] == {"days": 7.0, "replies": 4, "saved": 2, "solved": 0}
