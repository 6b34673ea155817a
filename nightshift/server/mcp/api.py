"""Connects the MCP tools to the API: sends a request and returns the response, over the network or in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

if TYPE_CHECKING:
    from flask import Flask


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the API. `path` does not include the query."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] | None = None

    @property
    def address(self) -> str:
        """The path with the query string."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Response of the API. `content` is its body, not yet parsed."""

    status: int
    content: bytes


class Api(Protocol):
    """Port through which the MCP tools reach the API."""

    async def send(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            NightshiftError: the API does not respond.
        """


class OwnApi:
    """The API of this process. Its application is called directly, without a socket.

    Args:
        app: the application.
        threads: threads in which the application runs, so that it does not block the server's event loop.
    """

    def __init__(self, app: Flask, threads: Executor) -> None:
        self._app, self._threads = app, threads

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._send, request)

    def _send(self, request: Request) -> Reply:
        sent = None if request.body is None else json.dumps(request.body)
        kind = None if sent is None else "application/json"
        with self._app.test_client(use_cookies=False) as client:
            answer = client.open(request.address, method=request.method, data=sent, content_type=kind)
            return Reply(status=answer.status_code, content=answer.data)
