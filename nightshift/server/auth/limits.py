"""How much a client may send: the size of a body, its pace, the memory of all bodies, and the rate of writes."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nightshift.server.auth.asgi import Message, Receive, Refused, Scope, header

MAX_ADDRESSES = 1000
DRAINED_BYTES = 64 * 1024
FREE_BYTES = 64 * 1024
DRAIN_WALL_S = 1.0


class Bucket:
    """A token bucket: `burst` takes at once, refilled at `rate_per_s`."""

    def __init__(self, rate_per_s: float, burst: int, now: Callable[[], float] = time.monotonic) -> None:
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._now = now
        self._left = float(burst)
        self._at = now()

    def wait_s(self) -> float:
        """Seconds until the next take is allowed; 0 when it is now."""
        at = self._now()
        self._left = min(self._burst, self._left + (at - self._at) * self._rate_per_s)
        self._at = at
        return 0.0 if self._left >= 1 else (1 - self._left) / self._rate_per_s

    def take(self) -> None:
        """Use one up."""
        self._left -= 1


class Attempts:
    """Wrong tokens by client address; the least recent addresses are forgotten when there are too many."""

    def __init__(self, rate_per_s: float = 0.5, burst: int = 20) -> None:
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def failed(self, address: str) -> None:
        """Count a wrong token; raises `Refused` when this address presented too many."""
        bucket = self._buckets.setdefault(address, Bucket(self._rate_per_s, self._burst))
        self._buckets.move_to_end(address)
        if wait_s := bucket.wait_s():
            raise too_many("too many wrong tokens", wait_s)
        bucket.take()
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)


def too_many(what: str, wait_s: float) -> Refused:
    """Make a 429 that says when to come back."""
    seconds = math.ceil(wait_s)
    return Refused(429, f"{what}; try again in {seconds} s", headers=[(b"retry-after", str(seconds).encode())])


class Space:
    """The memory that bodies under way may take up together."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    @contextlib.contextmanager
    def share(self) -> Iterator[Share]:
        """Lend a share of the space, which is given back at the end."""
        share = Share(self)
        try:
            yield share
        finally:
            self._left += share.taken

    def take(self, count: int) -> None:
        """Take so many bytes of it; raises `Refused` where they are not left."""
        if count > self._left:
            raise Refused(503, "too many large requests at a time; send it again", headers=[(b"retry-after", b"2")])
        self._left -= count


class Share:
    """Share of the space for one request; its first bytes are not counted, so that a small one is never refused."""

    def __init__(self, space: Space) -> None:
        self._space, self.taken = space, 0

    def grown_to(self, size: int) -> None:
        """Take what a body of that size needs; raises as `Space.take`."""
        more = size - FREE_BYTES - self.taken
        if more > 0:
            self._space.take(more)
            self.taken += more


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a body has to come: within `wall_s`, and a second more for each `bytes_per_s` that have come."""

    wall_s: float = 60.0
    bytes_per_s: float = 10_000.0

    def due_s(self, received: int) -> float:
        """Seconds from the beginning until more must have come than was received."""
        return self.wall_s + received / self.bytes_per_s


async def read_body(
    scope: Scope, receive: Receive, *, max_bytes: int, pace: Pace, share: Share | None = None
) -> Receive | None:
    """Read the whole body and return a `receive` that hands it over in one piece, or None when the client left.

    The WSGI bridge would hand a body that was cut by a disconnect to the application as if it were whole, and WSGI
    knows no chunked bodies: so `scope` is given the true length, and a cut body never arrives.

    Raises:
        Refused: the body is larger or slower than allowed, or there is no memory for it now.
    """
    if not _has_body(scope):
        return receive
    if int(header(scope, b"content-length") or 0) > max_bytes:
        raise _too_big(max_bytes)
    body = await _collect(receive, max_bytes, pace, share)
    if body is None:
        return None
    dropped = {b"transfer-encoding", b"content-length"}
    kept = [(name, value) for name, value in scope["headers"] if name not in dropped]
    scope["headers"] = [*kept, (b"content-length", str(len(body)).encode())]
    return _replay(body, receive)


async def drain(scope: Scope, receive: Receive) -> None:
    """Take in what little body a refused request has.

    Closing before it has arrived would reset the connection, and the client would never read why.
    """
    if not _has_body(scope) or header(scope, b"expect") or int(header(scope, b"content-length") or 0) > DRAINED_BYTES:
        return
    with contextlib.suppress(Refused):
        await read_body(scope, receive, max_bytes=DRAINED_BYTES, pace=Pace(wall_s=DRAIN_WALL_S, bytes_per_s=math.inf))


def _has_body(scope: Scope) -> bool:
    length = header(scope, b"content-length")
    return header(scope, b"transfer-encoding") is not None or length not in {None, "0"}


async def _collect(receive: Receive, max_bytes: int, pace: Pace, share: Share | None) -> bytes | None:
    body, begun = bytearray(), asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(None) as wall:
            while True:
                wall.reschedule(begun + pace.due_s(len(body)))
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                if len(body) > max_bytes:
                    raise _too_big(max_bytes)
                if share:
                    share.grown_to(len(body))
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        late = f"only {len(body):,} bytes of the body arrived within {pace.due_s(len(body)):.3g} s"
        raise Refused(408, late, headers=[(b"connection", b"close")]) from None


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def replayed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replayed


def _too_big(max_bytes: int) -> Refused:
    return Refused(413, f"the body is too big; at most {max_bytes} bytes are taken")
