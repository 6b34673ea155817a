"""An assistant's task from its words to its commit, through a real daemon that is killed and started meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mcp.client import Client

from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, settings_for
from tests.support.wire_server import WireServer


async def until_it_ended(url: str, task_id: int) -> tuple[dict[str, object], str]:
    """How a task ended, and what it changed."""
    async with Client(url) as client:
        state: dict[str, object] = {"ended": False}
        while not state["ended"]:
            result = await client.call_tool("wait_task", {"task_id": task_id, "timeout_s": 5})
            assert result.structured_content, result
            state = result.structured_content
        found = await client.call_tool("get_diff", {"task_id": task_id})
        assert found.structured_content
        return state, str(found.structured_content["text"])


async def submitted(url: str) -> int:
    async with Client(url) as client:
        result = await client.call_tool("submit_task", {"description": job(7)["description"], "key": "job-7"})
        assert result.structured_content, result
        return int(result.structured_content["task_id"])


def test_an_assistants_task_outlives_the_daemon_that_took_it(tmp_path: Path) -> None:
    with WireServer(Answers(wrong_first=1)) as models, Daemon(tmp_path, settings_for(models)) as daemon:
        task_id = asyncio.run(submitted(f"{daemon.url}/mcp"))
        daemon.kill()
        daemon.start()
        assert asyncio.run(submitted(f"{daemon.url}/mcp")) == task_id
        state, text = asyncio.run(until_it_ended(f"{daemon.url}/mcp", task_id))
    assert (state["status"], state["ending"], state["iteration"]) == ("done", "committed", 2)
    assert "+++ b/job_7.py" in text
    assert state["commit"]
