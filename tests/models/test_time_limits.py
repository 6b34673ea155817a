"""Every request to a server has its own timeout, even if the server answers one byte at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.errors import ModelUnavailable
from nightshift.core.tasks.states import Phase
from nightshift.models import http_access, ollama_api
from nightshift.models.ollama_api import OllamaBackend
from nightshift.remote.forges.client import Client
from nightshift.remote.forges.port import ForgeAway

LIMIT_S, PATIENCE_S = 0.3, 30.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextlib.asynccontextmanager
async def endless() -> AsyncIterator[str]:
    """Start a server whose answers never end: it repeats the same chunk."""

    serving = set[asyncio.Task[None] | None]()

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            writer.write(HEAD)
            while True:
                writer.write(b"1\r\n \r\n")
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in filter(None, serving):
            task.cancel()
        await asyncio.gather(*filter(None, serving))


async def ask_ollama(url: str) -> None:
    backend = OllamaBackend(model="m", base_url=url, num_ctx=2048)
    try:
        await backend.generate(ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="Hello"),)))
    finally:
        await backend.aclose()


async def ask_forge(url: str) -> None:
    client = Client(url, {}, utc_now, request_s=LIMIT_S)
    try:
        await client.get("/issues")
    finally:
        await client.aclose()


async def list_models(url: str) -> None:
    probe = await asyncio.to_thread(http_access.fetch_json, url, {}, LIMIT_S, LIMIT_S)
    if probe.fault:
        raise ModelUnavailable(probe.fault)


@pytest.mark.parametrize("ask", [ask_ollama, ask_forge, list_models])
async def test_a_server_that_never_ends_its_answer_is_given_up(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], Awaitable[None]]
) -> None:
    monkeypatch.setattr(ollama_api, "WHOLE_S", LIMIT_S)
    async with endless() as url, asyncio.timeout(PATIENCE_S):
        with pytest.raises((ModelUnavailable, ForgeAway)):
            await ask(url)
