"""Connects the MCP tools to the API: sends a request and returns the response, over the network or in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flask import Flask


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the API. `path` does not include the query."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Response of the API. `content` is its body, not yet parsed."""

    status: int
    content: bytes


Api = Callable[[Request], Reply]
"""Sends one request to the API, in a thread of its own. It fails with `NightshiftError` if the API does not respond."""


def connect_app(app: Flask) -> Api:
    """Return the API of this process, whose application is called directly, without a socket."""

    def send(request: Request) -> Reply:
        with app.test_client(use_cookies=False) as client:
            answer = client.open(request.path, method=request.method, query_string=request.query, json=request.body)
            return Reply(status=answer.status_code, content=answer.data)

    return send
