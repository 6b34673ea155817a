"""Limits what a client may send: the size of a body, the time until it has arrived, and the rate of wrong tokens."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from nightshift.server.auth.asgi import Message, Receive, Refused, Scope, header

MAX_ADDRESSES = 1000
DRAINED_BYTES = 64 * 1024
BODY_WALL_S = 120.0
DRAIN_WALL_S = 1.0


class Attempts:
    """Counts wrong tokens by client address: each address may send `burst` at once, and then `rate_per_s`.

    Above `MAX_ADDRESSES` addresses, the one that failed least recently is dropped.
    """

    def __init__(self, rate_per_s: float = 0.5, burst: int = 20, now: Callable[[], float] = time.monotonic) -> None:
        self._rate_per_s, self._burst, self._now = rate_per_s, burst, now
        # For each address, the number of wrong tokens that it may still send, and the time of that number.
        self._allowed: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def failed(self, address: str) -> None:
        """Count a wrong token; raises `Refused` if this address sent too many."""
        now = self._now()
        left, at = self._allowed.get(address, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._rate_per_s)
        self._allowed[address] = (left - 1 if left >= 1 else left, now)
        self._allowed.move_to_end(address)
        if len(self._allowed) > MAX_ADDRESSES:
            self._allowed.popitem(last=False)
        if left < 1:
            seconds = math.ceil((1 - left) / self._rate_per_s)
            why = f"too many wrong tokens; try again in {seconds} s"
            raise Refused(429, why, headers=[(b"retry-after", str(seconds).encode())])


async def read_body(scope: Scope, receive: Receive, *, max_bytes: int, wall_s: float = BODY_WALL_S) -> Receive | None:
    """Read the whole body and return a `receive` that delivers it in one piece, or None if the client disconnected.

    If a client disconnects in the middle of a body, the WSGI bridge would treat the part that arrived as a complete
    body. WSGI also does not support chunked bodies. This function therefore never passes on an incomplete body, and
    sets the true length in `scope`.

    Raises:
        Refused: the body is larger or slower than allowed.
    """
    if not _has_body(scope):
        return receive
    if int(header(scope, b"content-length") or 0) > max_bytes:
        raise _too_big(max_bytes)
    try:
        async with asyncio.timeout(wall_s):
            body = await _collect(receive, max_bytes)
    except TimeoutError:
        why = f"the body did not arrive within {wall_s:g} s"
        raise Refused(408, why, headers=[(b"connection", b"close")]) from None
    if body is None:
        return None
    dropped = {b"transfer-encoding", b"content-length"}
    headers = [(name, value) for name, value in scope["headers"] if name not in dropped]
    scope["headers"] = [*headers, (b"content-length", str(len(body)).encode())]
    return _replay(body, receive)


async def drain(scope: Scope, receive: Receive) -> None:
    """Read the body of a refused request if the body is small.

    If the server closed the connection before the body has arrived, the connection would be reset, and the client could
    not read the reason of the refusal.
    """
    if not _has_body(scope) or header(scope, b"expect") or int(header(scope, b"content-length") or 0) > DRAINED_BYTES:
        return
    with contextlib.suppress(Refused):
        await read_body(scope, receive, max_bytes=DRAINED_BYTES, wall_s=DRAIN_WALL_S)


def _has_body(scope: Scope) -> bool:
    length = header(scope, b"content-length")
    return header(scope, b"transfer-encoding") is not None or length not in {None, "0"}


async def _collect(receive: Receive, max_bytes: int) -> bytes | None:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _too_big(max_bytes)
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def replayed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replayed


def _too_big(max_bytes: int) -> Refused:
    return Refused(413, f"the body is too big; at most {max_bytes} bytes are accepted")
