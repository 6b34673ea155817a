"""HTTP of backends: a small JSON request with the standard library alone, and a limit on how much of a reply is read.

Looking whether a model is there must not load a vendor's package, half a second and tens of megabytes, into a daemon
that idles.

The vendors' packages gather a line until it ends, so a server that never ends one would fill the memory. Responses are
asked for uncompressed, so that what is counted is what has to be held.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

PROBE_S = 3.0
WHOLE_S = 8.0
MAX_PROBE_BYTES = 8 << 20
CODERS = (r"coder", r"devstral|codestral|starcoder", r"code")
"""Names of models made for code, best first; see `choose`."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What came back: `status` 0 means that nobody answered, `fault` says why in a few words."""

    status: int
    data: Any = None
    fault: str = ""

    @property
    def is_unusable(self) -> bool:
        """Whether nobody spoke, or something that is no API: a login page, a proxy, a server that is down."""
        return (
            self.status < 200
            or 300 <= self.status < 400
            or self.status >= 500
            or (self.status == 200 and bool(self.fault))
        )

    def rows(self, key: str) -> list[Mapping[str, Any]]:
        """The list of objects under `key`, whatever else the server may have sent."""
        found = self.data.get(key) if isinstance(self.data, Mapping) else None
        return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


class _Sockets:
    """Connections that are cut when the whole time is over: a time-out of theirs begins anew with each byte."""

    def __init__(self) -> None:
        self._open: list[socket.socket] = []

    def over(self, kind: type[HTTPConnection]) -> Callable[..., HTTPConnection]:
        """Such a class of connections, to be made as the standard library makes its own."""
        opened = self._open

        class Watched(kind):  # type: ignore[misc,valid-type]  # plain or over TLS
            def connect(self) -> None:
                super().connect()
                opened.append(self.sock)

        return Watched

    def cut(self) -> None:
        """End what is still read."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, sockets: _Sockets) -> None:
        super().__init__()
        self._sockets = sockets

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._sockets.over(HTTPConnection), req)


class _Tls(urllib.request.HTTPSHandler):
    def __init__(self, sockets: _Sockets) -> None:
        super().__init__()
        self._sockets = sockets

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._sockets.over(HTTPSConnection), req)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def is_loopback(url: str) -> bool:
    """Whether the address is this machine, which is never reached through a proxy."""
    return urlsplit(url).hostname in LOOPBACK


def fetch_json(url: str, headers: Mapping[str, str], timeout_s: float = PROBE_S, whole_s: float = WHOLE_S) -> Probe:
    """Get a page. Never raises; blocks for `timeout_s` at a time and `whole_s` in all, both at most."""
    if urlsplit(url).scheme not in {"http", "https"}:
        return Probe(status=0, fault="is no http address")
    proxy = [urllib.request.ProxyHandler({})] if is_loopback(url) else []
    sockets = _Sockets()
    opener = urllib.request.build_opener(_NoRedirect, _Plain(sockets), _Tls(sockets), *proxy)
    end = threading.Timer(whole_s, sockets.cut)
    end.daemon = True
    end.start()
    try:
        request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - the scheme was checked
        with opener.open(request, timeout=timeout_s) as answer:
            return Probe(status=answer.status, data=json.loads(answer.read(MAX_PROBE_BYTES)))
    except urllib.error.HTTPError as error:
        with error:
            return Probe(status=error.code, fault=f"answers {error.code}")
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        return Probe(status=0, fault=f"does not answer ({' '.join(str(reason).split())[:200]})")
    except ValueError:
        return Probe(status=200, fault="answers something that is not JSON: is a login page or a proxy in between?")
    finally:
        end.cancel()


def choose(names: Sequence[str], preferred: Iterable[str], unfit: str) -> str | None:
    """The model to use when none was named.

    Args:
        names: what the server offers, best first.
        preferred: regular expressions, best first; the first offered name that one of them finds is taken.
        unfit: what names of models that cannot chat look like.
    """
    fit = [name for name in names if not re.search(unfit, name, re.IGNORECASE)]
    for pattern in preferred:
        for name in fit:
            if re.search(pattern, name, re.IGNORECASE):
                return name
    return fit[0] if fit else None


MAX_RESPONSE_BYTES = 64 << 20
"""Far more than the longest reply, each of whose words comes in a few hundred bytes of JSON."""
HEAD_BYTES = 300
UNCOMPRESSED = {"Accept-Encoding": "identity"}

Hook = Callable[[Any], Awaitable[None]]


def bounded(package: Any, max_bytes: int = MAX_RESPONSE_BYTES) -> Hook:
    """A hook for responses of an `httpx` client.

    Args:
        package: `httpx`, or what is made after it.
        max_bytes: how much of a response may be read; beyond that the package's `RemoteProtocolError` is raised.
    """

    class Counted(package.AsyncByteStream):  # type: ignore[misc]  # known at run time only
        """A response's bytes, and how they began."""

        def __init__(self, inner: Any) -> None:
            self.inner, self.head = inner, b""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            read = 0
            async for part in self.inner:
                self.head += part[: HEAD_BYTES - len(self.head)]
                if (read := read + len(part)) > max_bytes:
                    raise package.RemoteProtocolError(f"the answer is longer than {max_bytes:,} bytes")
                yield part

        async def aclose(self) -> None:
            await self.inner.aclose()

    async def hook(response: Any) -> None:
        response.stream = Counted(response.stream)

    return hook


def beginning(response: Any) -> str:
    """How a response began that was bounded, where that is no stream of events; else nothing."""
    head = getattr(response.stream, "head", b"").decode("utf-8", "replace").strip()
    return "" if head.startswith(("data:", "event:", ":", "id:", "retry:")) else head
