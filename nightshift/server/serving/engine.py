"""Uvicorn as this server uses it. Imported when the server starts, because uvicorn is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, cast

import uvicorn

from nightshift.server.auth.asgi import App


class Engine(uvicorn.Server):
    """An HTTP server that says when it serves, waits for its stop without polling, and leaves signals alone.

    Uvicorn's own loop wakes ten times a second, to renew the `Date` header (here the guard's business) and to look at
    `should_exit`; an idle daemon should not.
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
                log_level="critical",  # what goes wrong in the application is logged by the guard
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
        """Begin to serve."""
        await super().startup(sockets)
        self._started()

    async def main_loop(self) -> None:
        """Serve until it is stopped."""
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections; those that were closed already wait for a client that takes nothing, in vain."""
        for connection in list(self.server_state.connections):
            if connection.transport.is_closing():
                connection.transport.abort()
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:  # uvicorn would wait a tenth of a second for what is not there
            server.close()
        for bound in sockets or ():
            bound.close()
        for server in self.servers:
            await server.wait_closed()

    def stop(self) -> None:
        """Serve no more; call it on the server's loop."""
        self._stopping.set()
