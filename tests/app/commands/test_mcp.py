"""`nightshift mcp` as an assistant starts it: a process on pipes, called by the client of the MCP SDK."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from nightshift.core.tasks.states import Status
from nightshift.server.context import AppContext
from tests.support.home import ROOT, Home

Use = Callable[[Client], Awaitable[Any]]


def list_used(home: Home, use: Use) -> Any:
    """Start `nightshift mcp`, connect a client, and return the result of `use` with that client."""
    env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path)}
    command = StdioServerParameters(command=sys.executable, args=[str(ROOT / "cli.py"), "mcp"], env=env, cwd=home.path)

    async def connected() -> Any:
        with (home.path / "mcp.err").open("w") as errors:
            async with Client(stdio_client(command, errlog=errors)) as client:
                return await use(client)

    return asyncio.run(connected())


def test_tasks_are_added_with_a_daemon_and_without_one(home: Home, context: AppContext) -> None:
    async def use(client: Client) -> list[Any]:
        calls = (
            ("submit_task", {"description": "Tell the moon", "key": "moon"}),
            ("get_task", {"task_id": 1}),
            ("cancel", {"task_id": 1}),
            ("get_log", {"task_id": 1}),
        )
        return [(await client.call_tool(name, given)).structured_content for name, given in calls]

    added, state, cancelled, log = list_used(home, use)
    assert (added["task_id"], added["new"], state["status"], cancelled["status"]) == (1, True, "queued", "cancelled")
    assert any("Tell the moon" in line for line in log["lines"])
    assert context.queue.get(1).status is Status.CANCELLED
    assert not (home.path / "mcp.err").read_text()


def test_a_daemon_that_starts_and_ends_meanwhile_is_found_by_the_next_call(home: Home) -> None:
    async def use(client: Client) -> list[str]:
        heard = list[str]()

        async def ask() -> None:
            result = await client.call_tool("search_lessons", {"text": "off by one"})
            heard.append(str(result.content))

        await client.call_tool("submit_task", {"description": "Tell the moon"})
        await ask()
        with home.daemon():
            await ask()
        await ask()
        return heard

    down, up, again = list_used(home, use)
    assert "the daemon is not running, and this command needs it" in down
    assert "this server runs without a daemon" in up, "the server of these tests has no memory"
    assert again == down
