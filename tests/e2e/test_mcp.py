"""An assistant's task from its description to its commit, through a real daemon that is killed and restarted."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path

from mcp.client import Client

from tests.support.answers import Answers, job
from tests.support.daemon import ROOT, Daemon, settings_for
from tests.support.wire_server import WireServer


async def until_it_ended(url: str, task_id: int) -> tuple[dict[str, object], str]:
    """Return the final state of a task, and its diff."""
    async with Client(url) as client:
        state: dict[str, object] = {"ended": False}
        while not state["ended"]:
            result = await client.call_tool("wait_task", {"task_id": task_id, "timeout_s": 5})
            assert result.structured_content, result
            state = result.structured_content
        diff = await client.call_tool("get_diff", {"task_id": task_id})
        assert diff.structured_content
        return state, str(diff.structured_content["text"])


async def submit(url: str) -> int:
    async with Client(url) as client:
        result = await client.call_tool("submit_task", {"description": job(7)["description"], "key": "job-7"})
        assert result.structured_content, result
        return int(result.structured_content["task_id"])


MAKEFILE = "test:\n\tgrep -q right answer.txt\n"
LOOKUP, RIGHT_FILE = "```books__lookup word=right\n```", "```write_file path=answer.txt\nright\n```"


def test_a_task_asks_the_owners_server_while_it_writes_and_the_result_is_kept(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    command = shlex.join([sys.executable, str(ROOT / "tests" / "support" / "mcp_server.py"), str(calls)])

    def reply(phase: str, messages: list[dict[str, str]]) -> str:
        text = "\n".join(message["content"] for message in messages)
        if phase != "CODING":
            return "1. Look the word up."
        return LOOKUP if "means right" not in text else RIGHT_FILE if "Wrote" not in text else "```done\nAnswer\n```"

    with WireServer(reply) as models:
        settings = settings_for(models, MCP_SERVERS=json.dumps({"books": command}))
        with Daemon(tmp_path / "home", settings) as daemon:
            body = {
                "description": "Write what the book says into answer.txt", "files": {"Makefile": MAKEFILE},
                "test_command": ["make", "test"], "mcp": ["books.lookup"],
            }  # fmt: skip
            refused = daemon.cli("add", "--mcp", "nobody.lookup", "x")
            task_id = daemon.submit(**body)
            (ended,) = daemon.wait(task_id)
            log = daemon.get(f"/api/logs?task={task_id}&limit=500")
    assert "no server 'nobody'" in refused.stderr
    assert (ended["status"], ended["ending"]) == ("done", "committed"), ended
    assert [json.loads(line)[:2] for line in calls.read_text().splitlines()] == [
        ["started", {}], ["lookup", {"word": "right", "times": 1, "exact": False}],
    ]  # fmt: skip
    assert "books__lookup right" in [each["message"] for each in log["events"] if each["event"] == "tool_called"]
    asked = [request for request in models.requests if request.phase == "CODING"]
    assert "data from outside of the repository" in str(asked[1].messages)


def test_an_assistants_task_outlives_the_daemon_that_took_it(tmp_path: Path) -> None:
    with WireServer(Answers(wrong_first=1)) as models, Daemon(tmp_path, settings_for(models)) as daemon:
        task_id = asyncio.run(submit(f"{daemon.url}/mcp"))
        daemon.kill()
        daemon.start()
        assert asyncio.run(submit(f"{daemon.url}/mcp")) == task_id
        state, text = asyncio.run(until_it_ended(f"{daemon.url}/mcp", task_id))
    assert (state["status"], state["ending"], state["iteration"]) == ("done", "committed", 2)
    assert "+++ b/job_7.py" in text
    assert state["commit"]
