"""A JavaScript task, end to end: the real daemon, a scripted model, `node:test` in the sandbox, and a commit at the
end.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, git, settings_for
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer

TESTS = """import test from 'node:test';
import assert from 'node:assert/strict';
import { total } from '../total.mjs';

test('nothing is zero', () => {
  assert.equal(total([]), 0);
});

test('the boundary does not count', () => {
  assert.equal(total([3, 4]), 4);
});
"""
RIGHT = "export const total = (numbers) => numbers.filter((x) => x > 3).reduce((a, b) => a + b, 0);\n"
WRONG = RIGHT.replace("x > 3", "x >= 3")
BROKEN = RIGHT.replace("=>", "= >")


class Model:
    """Writes code that does not parse, then wrong code, then right code; records the requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        self.asked.append((phase, "\n".join(message["content"] for message in messages)))
        if phase == "CODING":
            count = sum(name == "CODING" for name, _ in self.asked)
            code = [BROKEN, WRONG, RIGHT][min(count, 3) - 1]
            return f"Summary: Sum what is above three\n\n```js path=total.mjs\n{code}```"
        if phase == "TESTING":
            return f"```js path=test/total.test.mjs\n{TESTS}```"
        thought = {"root_cause": "the boundary is let through", "suggested_fix": "compare strictly"}
        return "1. Write total." if phase == "PLANNING" else json.dumps(thought)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def daemon(tmp_path: Path, model: Model) -> Iterator[Daemon]:
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1")) as running:
        yield running


def passes_bare_node(repo: Path, commit: str, folder: Path) -> bool:
    node = runtime().node
    assert node, "install nodejs: this test needs it"
    folder.mkdir()
    archive = subprocess.run(["git", "-C", str(repo), "archive", commit], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return subprocess.run([node.path, "--test"], cwd=folder, capture_output=True, check=False).returncode == 0


def test_a_javascript_task_ends_as_a_commit_that_node_confirms(daemon: Daemon, model: Model, tmp_path: Path) -> None:
    (task,) = daemon.wait(
        daemon.submit(
            description="Write total() in total.mjs", language="javascript", tests={"test/total.test.mjs": TESTS}
        )
    )
    assert (task["status"], task["ending"]) == ("done", "committed"), task["reason"]
    assert task["iterations"][-1]["iteration"] == 3
    workspace = daemon.home / "workspace"
    assert git(workspace, "show", f"{task['commit']}:total.mjs") + "\n" == RIGHT
    assert passes_bare_node(workspace, task["commit"], tmp_path / "tree")
    note = json.loads(git(workspace, "notes", "--ref=nightshift", "show", task["commit"]))
    assert (note["evidence"]["label"], note["evidence"]["twins"]) == ("tests_passed", 2)
    asked = [text for phase, text in model.asked if phase == "CODING"]
    assert "ECMAScript" in asked[0] or "ES modules" in asked[0]
    assert "These are asked for and do not exist yet: total.mjs" in asked[0]
    assert "total.mjs is not valid: SyntaxError" in asked[1]
    assert "7 !== 4" in asked[2]
    looked = daemon.cli("verify", task["commit"][:10])
    assert (looked.returncode, looked.stdout.splitlines()[-1][:19]) == (0, "holds: tests_passed"), looked.stdout
