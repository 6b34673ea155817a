"""The outermost guard around API, pages and stream: decides who may speak to the daemon at all.

Every page in the owner's browser can send requests to 127.0.0.1, and a page whose name is rebound to that address can
even read the answers. So the `Host` must be one that nobody can rebind: an address, `localhost`, a name that the owner
lists, or, where a token is asked for as well, one that only a network of his resolves; Vite and Jupyter do it like
this. A request that shows signs of a browser must come from one of our own pages: its `Origin` is that `Host`, port
included, or one that the owner lists, and Fetch-Metadata agrees (another port of the same host is `same-site` and
refused). Only a top-level navigation may come from elsewhere. Programs send neither header and pass.

Where a token is set nothing is shown or done without it, whoever asks and wherever from; only the login, what its page
is drawn with and `/healthz` are open, and the door for webhooks of forges, which asks for a signature.

The guard is ASGI and stands before everything, since a check inside Flask would not cover the native stream.
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
"""Of names that only a network of the owner's resolves (RFC 6762, RFC 8375); those without a dot are such too."""
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[a-z0-9._-]*[a-z0-9])?))(?::[0-9]{1,5})?")
MAX_OPEN_BODY_BYTES = 64 * 1024

CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # the signs in form elements are images in Pico's stylesheet
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types nightshift-turns",  # of static/app/live.js: it gives one address
    )
)
SECURITY_HEADERS = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",  # with `no-referrer` the forms of our own pages would send `Origin: null`
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    b"cache-control": b"no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Whom the guard lets in.

    `names` are hosts that the owner lists, without ports, `origins` exact origins of his; all in lower case. A path
    that begins with `below` is served without that: a proxy may leave its sub-path on.
    A token is asked for wherever there is one, by reads as by writes.
    """

    names: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    below: str = ""
    max_body_bytes: int = 20_000_000


class Guard:
    """ASGI middleware; see the module.

    Args:
        app: what stands behind it.
        policy: whom it lets in.
        access: knows the token; None where none is asked for.
    """

    def __init__(self, app: App, policy: Policy, access: Access | None = None) -> None:
        self._app = app
        self._policy = policy
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
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
        """The request as the pages know it; raises `Refused` with the address of the first page where a slash lacks."""
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
        """Tell whether no stranger can let a name lead here."""
        with contextlib.suppress(ValueError):
            return not ipaddress.ip_address(name).is_unspecified
        return name == "localhost" or (self._access is not None and ("." not in name or name.endswith(LOCAL_ENDS)))

    def _check_origin(self, scope: Scope) -> None:
        """Refuse what another page sent; a program sends none of these headers."""
        safe = scope["method"] in SAFE_METHODS
        origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
        own_origins = {f"{scheme}://{header(scope, b'host')}".lower() for scheme in ("http", "https")}
        if origin is not None and origin not in own_origins | self._policy.origins:
            raise Refused(403, "this Origin may not use the API; a proxy's address belongs in DASHBOARD_URL")
        own = {None, "same-origin", "none"} if safe else {None, "same-origin"}
        if site not in own and not (safe and _is_navigation(scope)):
            raise Refused(403, f"requests from another page are refused ({site})")

    def _check_token(self, scope: Scope) -> None:
        if self._access and not _is_open(scope) and not self._access.admits(scope):
            raise _token_needed(scope)


def _is_open(scope: Scope) -> bool:
    """Tell whether a request needs no token, where there is one."""
    return scope["path"] in OPEN_PATHS or scope["path"].startswith("/static/")


def _is_navigation(scope: Scope) -> bool:
    """Tell whether a link or a typed address is opened in a tab of its own, not in a frame or as an object."""
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
