"""The process that speaks to MCP servers. It may hang, grow or die without harm to the daemon.

The process reads one line of JSON with the servers and the requested tools, and answers with one line about the
available tools. After that, each line of input is a call, and is answered with one line. The memory of this process is
limited, but not that of the servers. The servers end with the process, and the process ends when its input closes.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from nightshift.models.stream_watch import limit_responses
from nightshift.remote.mcp_client.bounded_stdio import open_bounded_stdio

MEMORY_BYTES = 1536 << 20
ANSWER_BYTES = 4 << 20
MAX_CHARS, MAX_DESCRIPTION_CHARS, MAX_SCHEMA_CHARS = 16_000, 800, 6_000
MAX_PAGES = 20


class Link:
    """The connection to one server, with an asyncio task of its own.

    The SDK's context managers must be entered and left in the same task.

    Args:
        about: `command`, or `url` and `token`; and also `cwd`.
        start_s: timeout for the start, in seconds.
        call_s: timeout of a call, in seconds.
    """

    def __init__(self, about: Mapping[str, Any], start_s: float, call_s: float) -> None:
        self._about, self._start_s, self._call_s = about, start_s, call_s
        self._task: asyncio.Task[None] | None = None
        self._client: Client
        self._ended = asyncio.Event()

    async def start(self) -> list[Any]:
        """Connect to the server and list its tools. A failure raises `ConnectionError`."""
        self._ended = asyncio.Event()
        ready: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(ready))
        waited: set[asyncio.Future[Any]] = {ready, self._task}
        await asyncio.wait(waited, timeout=self._start_s, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            return ready.result()
        why = f"it did not answer within {self._start_s:g} s" if not self._task.done() else _why(self._task)
        self._task.cancel()
        raise ConnectionError(why)

    async def _run(self, ready: asyncio.Future[list[Any]]) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(await self._transport(stack)))
            tools, cursor = list[Any](), None
            for _ in range(MAX_PAGES):
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                cursor = page.next_cursor
                if not cursor:
                    break
            self._client = client
            ready.set_result(tools)
            await self._ended.wait()

    async def _transport(self, stack: AsyncExitStack) -> Any:
        if command := self._about["command"]:
            return open_bounded_stdio(command, self._about["cwd"], self._ended)
        token = self._about["token"]
        http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=self._call_s,
            event_hooks={"response": [limit_responses(httpx2, ANSWER_BYTES)]},
        )
        await stack.enter_async_context(http)
        return streamable_http_client(self._about["url"], http_client=http)

    async def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Call a tool; return the result, and whether the call succeeded."""
        try:
            if self._task is None or self._task.done() or self._ended.is_set():
                await self.start()
            assert self._task
            calling = asyncio.create_task(self._client.call_tool(tool, arguments))
            done, _ = await asyncio.wait(
                {calling, self._task}, timeout=self._call_s, return_when=asyncio.FIRST_COMPLETED
            )  # fmt: skip
            if calling in done:
                result = calling.result()
                return _text(result), not result.is_error
            calling.cancel()
            ended = self._task in done
            return ("The server ended." if ended else f"It did not answer within {self._call_s:g} s."), False
        except Exception as error:  # noqa: BLE001  whatever a server brings about is told to the model
            return f"It failed: {type(error).__name__}: {error}"[:1000], False


def _why(task: asyncio.Task[None]) -> str:
    error: BaseException | None = None if task.cancelled() else task.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300] if error else "it ended"


def _text(result: Any) -> str:
    """Return the text of a tool's result, cut off after `MAX_CHARS` characters."""
    parts, left = list[str](), MAX_CHARS
    for block in result.content:
        text = getattr(block, "text", None) or getattr(getattr(block, "resource", None), "text", None)
        shown = text if isinstance(text, str) else f"({block.type}, left out)"
        parts.append(shown[: max(0, left)])
        left -= len(shown)
    if not parts and result.structured_content is not None:
        shown = json.dumps(result.structured_content, ensure_ascii=False)
        parts, left = [shown[:MAX_CHARS]], MAX_CHARS - len(shown)
    cut = f"\n… (left out: {-left:,} characters)" if left < 0 else ""
    return "\n".join(parts) + cut or "(It said nothing.)"


def _describe(server: str, tool: Any) -> dict[str, Any]:
    schema = tool.input_schema if len(json.dumps(tool.input_schema)) <= MAX_SCHEMA_CHARS else {"type": "object"}
    description = (tool.description or tool.title or "")[:MAX_DESCRIPTION_CHARS]
    return {"server": server, "name": tool.name, "description": description, "schema": schema}


async def _begin(links: Mapping[str, Link], wanted: Sequence[str]) -> dict[str, Any]:
    tools, faults = list[dict[str, Any]](), dict[str, str]()
    results = await asyncio.gather(*(link.start() for link in links.values()), return_exceptions=True)
    for name, result in zip(links, results, strict=True):
        if isinstance(result, BaseException):
            faults[name] = str(result)[:300]
            continue
        there = {f"{name}.{tool.name}": tool for tool in result}
        tools += [_describe(name, there[each]) for each in wanted if each in there]
        missing = [each for each in wanted if each.partition(".")[0] == name and each not in there]
        faults |= dict.fromkeys(missing, "the server has no such tool")
    return {"tools": tools, "faults": faults}


async def _serve(out: Any) -> None:
    loop = asyncio.get_running_loop()

    def tell(answer: Mapping[str, Any]) -> None:
        out.write(json.dumps(answer).encode() + b"\n")
        out.flush()

    asked = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    links = {name: Link(about, asked["start_s"], asked["call_s"]) for name, about in asked["servers"].items()}
    tell(await _begin(links, asked["tools"]))
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        call = json.loads(line)
        text, ok = await links[call["server"]].call(call["tool"], call["arguments"])
        tell({"text": text, "ok": ok})


def main() -> None:
    """Serve calls until the input closes, then exit together with all servers."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep a library's own output out of the protocol
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        asyncio.run(_serve(out))
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
