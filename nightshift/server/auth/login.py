"""Handles login and logout with the token: `POST /login` and `POST /logout`, as ASGI routes outside Flask.

They are outside Flask because they share the count of wrong tokens with the guard. Flask serves the page with the form.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from nightshift.server.auth.access import SESSION_S, Access
from nightshift.server.auth.asgi import Header, Receive, Scope, Send


class Login:
    """Gives a session cookie to a browser that sends the token."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token that the form sent and, if it is right, set the session cookie.

        Raises:
            Refused: this address sent too many wrong tokens.
        """
        form = parse_qs((await receive()).get("body", b"").decode("utf-8", "replace"))
        if self._access.admits_token(scope, form.get("token", [""])[0].strip()):
            await _go(send, b"./", self._cookie(self._access.session, SESSION_S))
        else:
            await _go(send, b"login?wrong=1")

    async def leave(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Delete the session cookie."""
        await _go(send, b"login", self._cookie("", 0))

    def _cookie(self, value: str, age_s: int) -> Header:
        cookie = f"{self._access.cookie_name}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Strict"
        return b"set-cookie", cookie.encode()


async def _go(send: Send, where: bytes, *headers: Header) -> None:
    """Redirect to one of our pages; `where` is relative to `/login`."""
    await send({"type": "http.response.start", "status": 303, "headers": [(b"location", where), *headers]})
    await send({"type": "http.response.body", "body": b""})
