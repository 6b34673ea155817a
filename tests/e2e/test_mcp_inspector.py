"""The official MCP inspector drives the server over stdio, from a task's description to its commit.

The test uses the command line of the inspector's first major version, the last one that runs on Node.js 20. Each call
is a separate process, which connects, checks the answers against the protocol's schemas, and prints the result.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.server.test_mcp import TOOLS
from tests.support import npm_projects
from tests.support.answers import Answers, job
from tests.support.daemon import ROOT, Daemon, settings_for
from tests.support.wire_server import WireServer

PROGRAM = "@modelcontextprotocol/inspector-cli/build/cli.js"


class Inspector:
    """Calls of the inspector to a daemon's MCP server, over stdio."""

    def __init__(self, daemon: Daemon) -> None:
        self._program = npm_projects.modules("inspector") / PROGRAM
        self._target = [sys.executable, str(ROOT / "cli.py"), "mcp"]
        self._environment = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(daemon.home), "HOME": str(daemon.home)}

    def run(self, method: str, *more: str) -> subprocess.CompletedProcess[str]:
        words = ["node", str(self._program), "--cli", *self._target, "--method", method, *more]
        folder = self._program.parent  # the inspector looks for one of its files there
        return subprocess.run(
            words, env=self._environment, capture_output=True, text=True, check=False, timeout=120, cwd=folder
        )

    def ask(self, method: str, *more: str) -> Any:
        """Call a method, and return the answer."""
        done = self.run(method, *more)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def call(self, tool: str, **given: object) -> Any:
        """Call a tool, and return the answer."""
        pairs = [word for name, value in given.items() for word in ("--tool-arg", f"{name}={value}")]
        return self.ask("tools/call", "--tool-name", tool, *pairs)


def test_the_inspector_drives_the_server_from_a_task_to_its_commit(tmp_path: Path) -> None:
    with WireServer(Answers()) as models, Daemon(tmp_path, settings_for(models)) as daemon:
        inspector = Inspector(daemon)
        tools = {each["name"]: each for each in inspector.ask("tools/list")["tools"]}
        added = inspector.call("submit_task", description=job(7)["description"], key="job-7")["structuredContent"]
        again = inspector.call("submit_task", description=job(7)["description"], key="job-7")["structuredContent"]
        task_id, state = added["task_id"], dict[str, Any](ended=False)
        while not state["ended"]:
            state = inspector.call("wait_task", task_id=task_id, timeout_s=20)["structuredContent"]
        listed = inspector.call("list_tasks")["structuredContent"]
        change = inspector.call("get_diff", task_id=task_id)["structuredContent"]
        refused = inspector.call("cancel", task_id=task_id)
        unknown = inspector.call("get_task", task_id=99)
        wrong = inspector.call("get_task", task_id="nobody")
        templates = inspector.ask("resources/templates/list")["resourceTemplates"]
        address = next(each["uriTemplate"] for each in templates if "diff" in each["uriTemplate"])
        read = inspector.ask("resources/read", "--uri", address.replace("{task_id}", str(task_id)))
        nothing = inspector.run("resources/read", "--uri", "nightshift://nowhere")
    assert tools.keys() == TOOLS
    assert all(each["inputSchema"]["type"] == each["outputSchema"]["type"] == "object" for each in tools.values())
    assert (added["new"], again["new"], again["task_id"]) == (True, False, task_id)
    assert (state["status"], state["ending"]) == ("done", "committed"), state
    assert [each["task_id"] for each in listed["tasks"]] == [task_id]
    assert "+++ b/job_7.py" in change["text"]
    assert "+++ b/job_7.py" in read["contents"][0]["text"]
    assert [each["isError"] for each in (refused, unknown, wrong)] == [True] * 3, (refused, unknown, wrong)
    assert "99" in unknown["content"][0]["text"]
    assert (nothing.returncode, "nowhere" in nothing.stderr) == (1, True), nothing
