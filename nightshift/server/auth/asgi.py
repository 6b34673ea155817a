"""Defines the ASGI types of the routes outside Flask, and the response that refuses a request."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]


class Refused(Exception):
    """Refusal of a request with an HTTP status; `why` gives the reason and what to do instead."""

    def __init__(
        self, status: int, why: str, *, headers: Iterable[Header] = (), fields: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.headers = tuple(headers)
        self.fields = dict(fields or {})

    def answer(self) -> tuple[list[Header], bytes]:
        """Return headers and body of the response, in the error format of the API."""
        body = json.dumps({"error": self.why, "fields": self.fields}).encode()
        own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        return [*own, *self.headers], body


async def refuse(send: Send, refused: Refused) -> None:
    """Send the refusal in the error format of the API."""
    headers, body = refused.answer()
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def header_values(scope: Scope, name: bytes) -> list[str]:
    """List all values of a header, in order; `name` is in lower case."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header's value, None if the header is absent.

    Several values are joined by a comma. The result then never equals a value that a check allows.
    """
    values = header_values(scope, name)
    return ",".join(values) if values else None


def way_to_root(path: str) -> str:
    """Return the relative address that leads from a page to the first page.

    It is relative because a proxy may serve all pages below a path of its own.
    """
    return "../" * (path.count("/") - 1) or "./"


async def wait_until_gone(receive: Receive) -> None:
    """Wait until the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
