"""Serves the Model Context Protocol as streamable HTTP at `/mcp`, an ASGI route beside the API.

The route is behind the same guard and token as the API, and calls the API's application in this process. The SDK is an
optional package: the first request starts its installation, and the client is told to retry. No sessions are kept, so a
restart of the daemon does not affect clients.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from nightshift.core.errors import ExtraMissing
from nightshift.server.auth.asgi import App, Receive, Refused, Scope, Send
from nightshift.server.mcp.api import connect_app

if TYPE_CHECKING:
    from flask import Flask

MCP_PATH = "/mcp"
EXTRA = "mcp"
_SOON = [(b"retry-after", b"10")]
_log = logging.getLogger(__name__)


class McpRoute:
    """The ASGI application for `/mcp`. Belongs to the server's event loop.

    Args:
        app: the API.
        ensure: blocks until an optional package is installed, or raises `ExtraMissing`.
    """

    def __init__(self, app: Flask, ensure: Callable[[str], None]) -> None:
        self._app, self._ensure = app, ensure
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=EXTRA)
        self._installing: asyncio.Future[None] | None = None
        self._handler: App | None = None
        self._running: asyncio.Task[None] | None = None
        self._starting, self._closing = asyncio.Lock(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            Refused: the packages for MCP are not installed.
        """
        handler = self._handler or await self._start()
        await handler(scope, receive, send)

    async def close(self) -> None:
        """Stop the SDK's session manager, and end all requests."""
        self._closing.set()
        if self._running:
            await asyncio.wait({self._running}, timeout=1)
            self._running.cancel()
        if self._installing:
            self._installing.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _start(self) -> App:
        if find_spec(EXTRA) is None:
            self._install()
            raise Refused(503, "the packages for MCP are being installed; try again in a minute", headers=_SOON)
        async with self._starting:
            if self._handler is None:
                ready: asyncio.Future[App] = asyncio.get_running_loop().create_future()
                self._running = asyncio.create_task(self._run(ready))
                self._handler = await ready
            return self._handler

    def _install(self) -> None:
        if self._installing and self._installing.done() and (error := self._installing.exception()):
            self._installing = None
            why = str(error) if isinstance(error, ExtraMissing) else "the packages for MCP could not be installed"
            raise Refused(503, why, headers=_SOON)
        if self._installing is None:
            self._installing = asyncio.get_running_loop().run_in_executor(self._threads, self._ensure, EXTRA)

    async def _run(self, ready: asyncio.Future[App]) -> None:
        """Run the SDK's session manager, which must be entered and left in the same asyncio task."""
        try:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415  an extra
            from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415  as above

            from nightshift.server.mcp.tools import make_server  # noqa: PLC0415  as above

            server = make_server(connect_app(self._app))
            open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard checks the Host
            server.streamable_http_app(stateless_http=True, transport_security=open_to_all)
            manager: StreamableHTTPSessionManager = server.session_manager
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(manager.run())
                ready.set_result(cast("App", manager.handle_request))
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001  passed to the thread that waits for the start, or logged
            if ready.done():
                _log.exception("the MCP server ended with an error")
            else:
                ready.set_exception(error)
        finally:
            self._handler = None
