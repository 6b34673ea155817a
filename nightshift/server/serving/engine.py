"""Adapts uvicorn to this server. Imported only when the server starts, because importing uvicorn takes time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, cast

import uvicorn

from nightshift.server.auth.asgi import App


class Engine(uvicorn.Server):
    """An HTTP server that reports when it serves, waits for its stop without polling, and installs no signal handlers.

    Uvicorn's own main loop wakes ten times a second, to renew the `Date` header and to check `should_exit`. An idle
    daemon should not wake that often. In this program, the guard sets the `Date` header instead.
    """

    def __init__(self, app: App, started: Callable[[], None], max_connections: int | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                cast("Any", app),
                loop="asyncio",
                http="h11",
                limit_concurrency=max_connections,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",  # the guard logs errors of the application
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._started = started
        self._stopping = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve, then call `started`."""
        await super().startup(sockets)
        self._started()

    async def main_loop(self) -> None:
        """Wait until the server is stopped."""
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections.

        Connections that are already closing are aborted, because their client may never read the rest.
        """
        for connection in list(self.server_state.connections):
            if connection.transport.is_closing():
                connection.transport.abort()
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:  # uvicorn would wait 0.1 s although nothing is open
            server.close()
        for bound in sockets or ():
            bound.close()
        for server in self.servers:
            await server.wait_closed()

    def stop(self) -> None:
        """Stop serving. Must be called on the server's event loop."""
        self._stopping.set()
