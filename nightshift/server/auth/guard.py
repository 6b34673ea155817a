"""Guards API, pages and stream: decides which requests are answered at all.

Any page in the owner's browser can send requests to 127.0.0.1, and a page whose host name is rebound to that address
can even read the answers. The `Host` must therefore be one that an attacker cannot rebind: an IP address, `localhost`,
a name that the owner lists, or, if a token is required as well, a name that only the owner's network resolves. Vite and
Jupyter do the same.

A request that a browser sends must come from one of our own pages. If it has an `Origin`, that must equal the `Host`
including the port, or be an origin that the owner lists. If it has the Fetch-Metadata header `Sec-Fetch-Site`, that
must be `same-origin` or, for a request that only reads, `none` (the user typed the address). A page on another port of
the same host is `same-site`, and its requests are refused. Only a top-level navigation that only reads may come from
elsewhere. Programs send neither `Origin` nor Fetch-Metadata headers, so these checks do not affect them.

If a token is set, every request needs the token, whoever sends it. The exceptions are the login, static files,
`/healthz`, and the endpoint for webhooks of forges, which checks a signature.

The guard is ASGI middleware in front of everything, since a check inside Flask would not cover the routes outside
Flask, such as the live stream.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import re
from dataclasses import dataclass
from email.utils import formatdate

from nightshift.server.auth.access import Access
from nightshift.server.auth.asgi import (
    App,
    Message,
    Receive,
    Refused,
    Scope,
    Send,
    header,
    header_values,
    refuse,
    way_to_root,
)
from nightshift.server.auth.limits import drain, read_body

_log = logging.getLogger(__name__)

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/login", "/healthz", "/favicon.ico", "/api/forges/hook"})
LOCAL_ENDS = (".local", ".lan", ".home.arpa", ".internal")
"""Suffixes of host names that only the owner's network resolves (RFC 6762, RFC 8375).

Names without a dot are treated in the same way.
"""
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[a-z0-9._-]*[a-z0-9])?))(?::[0-9]{1,5})?")
MAX_OPEN_BODY_BYTES = 64 * 1024

CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # Pico's stylesheet draws the marks of form elements as images
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types nightshift-turns",  # static/app/live.js uses this policy for a single address
    )
)
SECURITY_HEADERS = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",  # with `no-referrer`, forms of our own pages would send `Origin: null`
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    b"cache-control": b"no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Rules for the requests that the guard lets in.

    Attributes:
        names: hosts that the owner lists, in lower case and without a port.
        origins: exact origins that the owner lists, in lower case.
        below: prefix that is removed from paths, because a proxy may forward its sub-path.
        max_body_bytes: maximum size of a body.
    """

    names: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    below: str = ""
    max_body_bytes: int = 20_000_000


class Guard:
    """ASGI middleware that checks requests, as the module's docstring describes.

    Args:
        app: the application behind the guard.
        policy: rules for the requests that are let in.
        access: checks the token; None if no token is required.
    """

    def __init__(self, app: App, policy: Policy, access: Access | None = None) -> None:
        self._app = app
        self._policy = policy
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            return
        hardened = _harden(send)
        try:
            scope = self._without_sub_path(scope)
            self._check(scope)
            most_bytes = MAX_OPEN_BODY_BYTES if _is_open(scope) else self._policy.max_body_bytes
            if body := await read_body(scope, receive, max_bytes=most_bytes):
                await self._answer(scope, body, hardened)
        except Refused as refused:
            await drain(scope, receive)
            await refuse(hardened, refused)

    def _without_sub_path(self, scope: Scope) -> Scope:
        """Return the request without the proxy's sub-path.

        Raises:
            Refused: the path is the sub-path without a trailing slash. The response redirects to the first page.
        """
        below, path = self._policy.below, scope["path"]
        if not below or not (path == below or path.startswith(f"{below}/")):
            return scope
        if path == below:
            raise Refused(308, "the pages are below", headers=[(b"location", f"{below.rpartition('/')[2]}/".encode())])
        return {**scope, "path": path.removeprefix(below), "raw_path": None}

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Refused as refused:
            await refuse(send, refused)
        except Exception:
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if begun:
                raise
            await refuse(send, Refused(500, "something went wrong inside Nightshift; its log says what"))

    def _check(self, scope: Scope) -> None:
        self._check_host(scope)
        self._check_origin(scope)
        self._check_token(scope)

    def _check_host(self, scope: Scope) -> None:
        sent = header_values(scope, b"host")
        if len(sent) != 1:
            raise Refused(400, "send exactly one Host header")
        host = sent[0].lower()
        match = _HOST.fullmatch(host)
        name = (match[1] or match[2]) if match else ""
        if not name or not (name in self._policy.names or self._is_fixed(name)):
            raise Refused(403, "this Host is not served here; use the address that the daemon printed at its start, "
                               "or list the name in DASHBOARD_NAMES")  # fmt: skip

    def _is_fixed(self, name: str) -> bool:
        """Check whether a host name is one that an attacker cannot point at this machine."""
        with contextlib.suppress(ValueError):
            return not ipaddress.ip_address(name).is_unspecified
        return name == "localhost" or (self._access is not None and ("." not in name or name.endswith(LOCAL_ENDS)))

    def _check_origin(self, scope: Scope) -> None:
        """Refuse requests that a foreign page sent. A program sends none of the examined headers and passes."""
        safe = scope["method"] in SAFE_METHODS
        origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
        own_origins = {f"{scheme}://{header(scope, b'host')}".lower() for scheme in ("http", "https")}
        if origin is not None and origin not in own_origins | self._policy.origins:
            raise Refused(403, "this Origin may not use the API; behind a proxy, set DASHBOARD_URL to its address")
        own = {None, "same-origin", "none"} if safe else {None, "same-origin"}
        if site not in own and not (safe and _is_navigation(scope)):
            raise Refused(403, f"requests from another page are refused ({site})")

    def _check_token(self, scope: Scope) -> None:
        if self._access and not _is_open(scope) and not self._access.admits(scope):
            raise _token_needed(scope)


def _is_open(scope: Scope) -> bool:
    """Check whether a request is accepted without a token even if a token is set."""
    return scope["path"] in OPEN_PATHS or scope["path"].startswith("/static/")


def _is_navigation(scope: Scope) -> bool:
    """Check whether the browser loads the address as a page of its own, not as a frame or an embedded object."""
    return header(scope, b"sec-fetch-mode") == "navigate" and header(scope, b"sec-fetch-dest") == "document"


def _token_needed(scope: Scope) -> Refused:
    if scope["method"] == "GET" and "text/html" in (header(scope, b"accept") or ""):
        return Refused(303, "log in first", headers=[(b"location", f"{way_to_root(scope['path'])}login".encode())])
    how = "send `Authorization: Bearer <API_TOKEN>`, or log in at /login"
    return Refused(401, f"this needs the token: {how}", headers=[(b"www-authenticate", b"Bearer")])


def _harden(send: Send) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            added = [(name, value) for name, value in SECURITY_HEADERS.items() if name not in present]
            added.append((b"date", formatdate(usegmt=True).encode()))
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sender
