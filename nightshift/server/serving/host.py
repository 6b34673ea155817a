"""Runs the server: uvicorn on an event loop in its own thread, so that a busy worker never delays a response.

Flask is behind a WSGI bridge with a few threads. The live stream, the static files, the login and MCP are ASGI routes
beside it, and one guard is in front of all. The caller's thread binds the sockets first, so that a port in use is
reported where the daemon starts. Uvicorn handles no signals, because it does so only in a main thread; the daemon
handles them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from nightshift.server.auth.access import Access
from nightshift.server.auth.asgi import App, Receive, Scope, Send
from nightshift.server.auth.guard import Guard
from nightshift.server.auth.login import Login
from nightshift.server.context import AppContext
from nightshift.server.log.stream import STREAM_PATH, Stream
from nightshift.server.mcp.http import MCP_PATH, McpRoute
from nightshift.server.pages.assets import PREFIX, Assets
from nightshift.server.serving.listen import Listen
from nightshift.server.serving.sockets import bind_tcp

if TYPE_CHECKING:
    from nightshift.server.serving.engine import Engine

__all__ = ["Host", "Listen"]

START_WALL_S = 60.0
STOP_WALL_S = 5.0

_log = logging.getLogger(__name__)


class Host:
    """The running server.

    Args:
        context: the services of the daemon.
        listen: the address to listen on, and the requests to let in.

    Raises:
        ConfigError: the settings would let strangers in.
    """

    def __init__(self, context: AppContext, listen: Listen | None = None) -> None:
        self._context = context
        self._listen = listen or Listen()
        self._listen.check()
        self._access = Access(self._listen.token) if self._listen.token else None
        self._stream: Stream
        self._ready: Future[None]
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._engine: Engine
        self._mcp: McpRoute
        self._closing: asyncio.Future[None]
        self.port = self._listen.port

    @property
    def url(self) -> str:
        """The address of the first page; valid after the start."""
        return self._listen.url(self.port)

    def start(self) -> None:
        """Start to listen, and return when requests are answered.

        Raises:
            ConfigError: the address cannot be used. The message names the setting to change.
        """
        self._ready = Future()
        self._stream = Stream(self._context.events, self._context.live, self._context.mask)
        sockets = [bind_tcp(self._listen.address, self.port)]
        self.port = sockets[0].getsockname()[1]
        try:
            self._thread = threading.Thread(target=self._run, args=(sockets,), name="server", daemon=True)
            self._thread.start()
            self._ready.result(START_WALL_S)
        except BaseException:
            for bound in sockets:
                bound.close()
            raise

    @property
    def is_alive(self) -> bool:
        """True unless the server thread has died. After it has died, `start` may be called again.

        The value is also true before `start` and after `stop`.
        """
        return self._stopping or self._thread is None or self._thread.is_alive()

    def stop(self) -> None:
        """End the live streams, finish running requests, and close.

        This method may be called repeatedly, but not from the server's thread.
        """
        self._stopping = True
        if self._thread is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._begin_to_close)
        self._thread.join(STOP_WALL_S)
        if self._thread.is_alive():
            _log.warning("the server did not end within %g s", STOP_WALL_S)

    def _run(self, sockets: list[socket.socket]) -> None:
        try:
            asyncio.run(self._serve(sockets))
        except BaseException as error:  # noqa: BLE001  passed to the thread that waits for the start, or logged
            if self._ready.done():
                _log.exception("the server ended with an error")
            else:
                self._ready.set_exception(error)
        finally:
            for bound in sockets:
                bound.close()

    async def _serve(self, sockets: list[socket.socket]) -> None:
        from a2wsgi import WSGIMiddleware  # noqa: PLC0415  imported on first use, like those below

        from nightshift.server.app import create_app  # noqa: PLC0415  Flask
        from nightshift.server.metrics import Metrics  # noqa: PLC0415  prometheus_client
        from nightshift.server.serving.engine import Engine  # noqa: PLC0415  uvicorn

        assets, metrics = Assets(), Metrics(self._context, lambda: self._stream.clients)
        context = replace(self._context, metrics=metrics.text)
        app = create_app(context, assets, asks_token=self._access is not None)
        bridge = WSGIMiddleware(cast("Any", app), workers=self._listen.threads)
        self._mcp = McpRoute(app, context.ensure_extra)
        routes = self._routes(assets, cast("App", bridge))
        guard = Guard(routes, self._listen.policy(), self._access)
        self._loop = asyncio.get_running_loop()
        self._engine = Engine(guard, lambda: self._ready.set_result(None), self._listen.max_requests)
        try:
            await self._engine.serve(sockets)
        finally:
            metrics.close()
            bridge.executor.shutdown(wait=False, cancel_futures=True)

    def _begin_to_close(self) -> None:
        self._closing = asyncio.ensure_future(self._close())  # the loop itself keeps no strong reference to its tasks

    async def _close(self) -> None:
        await self._mcp.close()
        await self._stream.close()
        self._engine.stop()

    def _routes(self, assets: Assets, rest: App) -> App:
        any_method: dict[str, App] = {STREAM_PATH: self._stream, MCP_PATH: self._mcp}
        native: dict[tuple[str, str], App] = {}
        if self._access:
            login = Login(self._access)
            native = {("POST", "/login"): login.enter, ("POST", "/logout"): login.leave}

        async def route(scope: Scope, receive: Receive, send: Send) -> None:
            method, path = scope["method"], scope["path"]
            app = any_method.get(path) or native.get((method, path), rest)
            await (assets if path.startswith(PREFIX) else app)(scope, receive, send)

        return route
