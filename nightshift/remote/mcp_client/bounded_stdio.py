"""A transport of the MCP SDK that uses a server's standard streams, and limits the length of their lines.

The SDK's own transport buffers lines of any length, and its running time grows with the square of the length.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

MAX_LINE_BYTES = 4 << 20
_STARTER = (
    "import ctypes, os, resource, sys; hard = resource.getrlimit(resource.RLIMIT_AS)[1]; "
    "resource.setrlimit(resource.RLIMIT_AS, (hard, hard)); ctypes.CDLL(None).prctl(1, 9); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
"""Python code that starts a server without our memory limit, and has it killed when this process ends
(`PR_SET_PDEATHSIG`).
"""


@asynccontextmanager
async def open_bounded_stdio(command: Sequence[str], cwd: str | None, ended: asyncio.Event) -> AsyncIterator[Any]:
    """Start a server and provide its streams.

    The event `ended` is set when the server closes its output or sends a line that is too long.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _STARTER, *command, cwd=cwd, limit=MAX_LINE_BYTES,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, to_session, ended)
            group.start_soon(_write, process, from_session)
            try:
                yield from_server, to_server
            finally:
                group.cancel_scope.cancel()
    finally:
        for stream in (to_session, from_server, to_server, from_session):
            stream.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _read(process: asyncio.subprocess.Process, to_session: Any, ended: asyncio.Event) -> None:
    assert process.stdout is not None
    try:
        async with to_session:
            while line := await process.stdout.readline():
                with contextlib.suppress(ValueError):  # ignore lines that are not protocol messages
                    await to_session.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
    except (ValueError, anyio.BrokenResourceError):  # the line is too long, or the session is closed
        process.kill()
    finally:
        ended.set()


async def _write(process: asyncio.subprocess.Process, from_session: Any) -> None:
    assert process.stdin is not None
    async for each in from_session:
        process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # the server ended, which `_read` notices
            await process.stdin.drain()
