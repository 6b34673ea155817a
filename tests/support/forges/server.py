"""A real HTTP server that speaks one forge's API over a `World`, with pages, ETags, rate limits and outages.

    with ForgeServer(GitHubApi(World())) as server:
        server.fail_next(429, {"Retry-After": "7"})     # the next request is refused, and does nothing

Every request and every response is validated against the forge's published description (`description.py`), and every
request needs the token. Errors are raised when the `with` block ends.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, Self
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.support.forges.description import Description, Operation
from tests.support.forges.world import World

TOKEN = "forge-token-for-tests"
Answer = tuple[int, Any]
"""The status and the body of a response. A list is paginated if the operation has a parameter for the page size."""
Handler = Callable[["Request"], Answer]


@dataclass
class Request:
    """One request: the captured parts of its path, its query and its body."""

    parts: tuple[str, ...]
    query: Mapping[str, str]
    body: dict[str, Any]


class Api(Protocol):
    """One forge's API."""

    world: World
    prefix: str
    description: Description
    rows: Collection[str]
    """The fields that hold the rows when a response is an object instead of a list."""
    page_size: str
    """The name of the query parameter for the page size."""

    def routes(self) -> list[tuple[str, str, Handler]]:
        """List method, path pattern (below the prefix) and handler of each route."""
        ...

    def admits(self, headers: Mapping[str, str], token: str) -> bool:
        """Check whether the request carries the token in the form that this forge requires."""
        ...


@dataclass
class Seen:
    """A request that the server received, with the status of its response."""

    method: str
    path: str
    query: Mapping[str, str]
    status: int = 0


@dataclass
class _Fault:
    status: int
    headers: Mapping[str, str]
    body: bytes
    only: str = ""


@dataclass
class ForgeServer:
    """The server; see the module's docstring. `most` is the maximum page size, whatever a request asks for."""

    api: Api
    token: str = TOKEN
    most: int = 2
    seen: list[Seen] = field(default_factory=list)
    before: Callable[[Seen], None] = lambda _: None
    after: Callable[[Seen], None] = lambda _: None
    """Hooks on the server's thread: `before` runs for every request, `after` for each request that the API has handled.
    """

    def __post_init__(self) -> None:
        self._faults: list[_Fault] = []
        self.errors: list[Exception] = []
        self._lock = threading.RLock()
        owner = self

        class Handle(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                owner._handle(self)

            do_GET = do_POST = do_PATCH = do_PUT = _any  # noqa: N815  # the names of the library

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """Ignore connections that a killed client left broken."""

        self._server = Server(("127.0.0.1", 0), Handle)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.stop()
        if self.errors and kind is None:
            raise self.errors[0]

    @property
    def world(self) -> World:
        return self.api.world

    @property
    def site(self) -> str:
        """The server's base URL, as a browser would show it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def writes(self) -> list[Seen]:
        """The requests that changed something."""
        return [each for each in self.seen if each.method != "GET" and each.status in {200, 201}]

    def fail_next(
        self, status: int, headers: Mapping[str, str] | None = None, body: object = None, *, only: str = ""
    ) -> None:
        """Refuse the next request (with the method `only`, if given) without doing anything."""
        text = b"<html>" if body is None else json.dumps(body).encode()
        self._faults.append(_Fault(status, headers or {}, text, only))

    def raw_next(self, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Answer the next request with status 200 and this content."""
        self._faults.append(_Fault(200, headers or {}, content))

    def stop(self) -> None:
        """Stop the server."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        raw = handler.rfile.read(length) if length else b""
        url = urlsplit(handler.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        seen = Seen(handler.command, url.path.removeprefix(self.api.prefix), query)
        self.before(seen)
        try:
            with self._lock:
                self.seen.append(seen)
                fault = next((each for each in self._faults if each.only in {"", seen.method}), None)
                if fault:
                    self._faults.remove(fault)
                    seen.status = fault.status
                    self._send(handler, fault.status, fault.body, dict(fault.headers))
                    return
                status, content, headers = self._answer(seen, handler, json.loads(raw) if raw else None)
                seen.status = status
        except Exception as error:  # noqa: BLE001  # raised at the end of the test
            self.errors.append(error)
            self._send(handler, 500, b"{}", {})
            return
        self.after(seen)
        self._send(handler, status, content, headers)

    def _answer(
        self, seen: Seen, handler: BaseHTTPRequestHandler, body: dict[str, Any] | None
    ) -> tuple[int, bytes, dict[str, str]]:
        sent = {name.lower(): value for name, value in handler.headers.items()}
        if not self.api.admits(sent, self.token):
            return 401, b'{"message": "Bad credentials"}', {}
        description = self.api.description
        operation = description.operation(seen.method, seen.path)
        description.check_request(operation, seen.query, body)
        for method, pattern, answer in self.api.routes():
            match = re.fullmatch(pattern, seen.path)
            if method == seen.method and match:
                parts = tuple(unquote(each) for each in match.groups())
                status, result = answer(Request(parts, seen.query, body or {}))
                break
        else:
            raise AssertionError(f"no such request: {seen.method} {seen.path}")
        result = description.answer(operation, status, result)
        result, headers = self._page(seen, result, operation)
        content = b"" if result is None else json.dumps(result).encode()
        if seen.method == "GET" and status == 200:
            tag = f'W/"{hashlib.sha256(content).hexdigest()}"'
            headers["ETag"] = tag
            if sent.get("if-none-match") == tag:
                return 304, b"", headers
        return status, content, headers

    def _page(self, seen: Seen, result: Any, operation: Operation) -> tuple[Any, dict[str, str]]:
        """Return one page of a list, and the `Link` header that forges send with the address of the next page."""
        key = next((each for each in self.api.rows if isinstance(result, dict) and each in result), "")
        rows = result[key] if key else result
        if not isinstance(rows, list) or self.api.page_size not in operation.query:
            return result, {}
        size, page = min(self.most, int(seen.query.get(self.api.page_size, 30))), int(seen.query.get("page", 1))
        part = rows[(page - 1) * size : page * size]
        headers = {}
        if len(rows) > page * size:
            query = urlencode({**seen.query, "page": page + 1})
            headers["Link"] = (
                f'<{self.site}{self.api.prefix}{seen.path}?{query}>; rel="next", <{self.site}>; rel="last"'
            )
        return ({**result, key: part} if key else part), headers

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
