"""The few ASGI types that the native half of the server speaks, and its one way to refuse."""

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
    """The request ends here with this status; the text says why and what to do instead."""

    def __init__(
        self, status: int, why: str, *, headers: Iterable[Header] = (), fields: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.headers = tuple(headers)
        self.fields = dict(fields or {})

    def answer(self) -> tuple[list[Header], bytes]:
        """The headers and the body of the answer, in the API's one error shape."""
        body = json.dumps({"error": self.why, "fields": self.fields}).encode()
        own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        return [*own, *self.headers], body


async def refuse(send: Send, refused: Refused) -> None:
    """Answer in the API's one error shape."""
    headers, body = refused.answer()
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def header_values(scope: Scope, name: bytes) -> list[str]:
    """List all values sent under a header's lower-case name, in order."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def header(scope: Scope, name: bytes) -> str | None:
    """The header's value; several are joined by a comma, so that a list of exact values never matches them."""
    values = header_values(scope, name)
    return ",".join(values) if values else None


def way_to_root(path: str) -> str:
    """The first page's address as pages at a path write it: a proxy may have them all below a path of its own."""
    return "../" * (path.count("/") - 1) or "./"


async def wait_until_gone(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
