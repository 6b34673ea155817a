"""The live log as server-sent events: `GET /api/logs/stream`, a native ASGI route.

A stream inside Flask would hold a thread for each client and would notice neither a closed tab nor a shutdown. The
cursor is the event's id: `Last-Event-ID` (or `?after=` on the first connection) resumes exactly behind it. Without
either, the stream begins with what happens next.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import nullcontext
from typing import Any
from urllib.parse import urlencode

from nightshift.models.live import LiveCalls
from nightshift.server.auth.asgi import Receive, Refused, Scope, Send, gone, header, refuse
from nightshift.server.formatting import Mask
from nightshift.server.log.live import Live
from nightshift.server.log.log_query import FollowQuery
from nightshift.server.log.tail import Line, Tail, passes
from nightshift.server.query import BadQuery, read_query
from nightshift.storage.db.event_log import EventFilter, EventLog

_log = logging.getLogger(__name__)

STREAM_PATH = "/api/logs/stream"
BATCH = 250
GRACE_S = 0.2

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
BEAT = b"event: beat\ndata: {}\n\n"
"""Not a comment: a page receives it as an event, and so notices a connection that died without a sign."""
END = b"event: end\ndata: {}\n\n"
"""The server stops; a browser reconnects by itself and resumes."""


class Stream:
    """All live clients of the log.

    Args:
        events: the log.
        live: what models write just now, for those who ask for it.
        mask: takes secrets out of that.
        heartbeat_s: a beat is sent after so many silent seconds, so that dead connections are found.
        retry_ms: how long a browser waits before it reconnects.
        max_clients: more are refused with 503.
        send_wall_s: a client that takes nothing for so many seconds is dropped.
    """

    def __init__(
        self,
        events: EventLog,
        live: LiveCalls,
        mask: Mask,
        *,
        heartbeat_s: float = 15.0,
        retry_ms: int = 2000,
        max_clients: int = 500,
        send_wall_s: float = 60.0,
    ) -> None:
        self._tail = Tail(events, look_s=heartbeat_s)
        self._live = Live(live, mask)
        self._heartbeat_s = heartbeat_s
        self._hello = f"retry: {retry_ms}\n\n".encode()
        self._max_clients = max_clients
        self._send_wall_s = send_wall_s
        self._feeds: set[asyncio.Task[None]] = set()
        self._requests: set[asyncio.Task[Any]] = set()
        self._closing = False

    @property
    def clients(self) -> int:
        """How many follow."""
        return len(self._feeds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client until it leaves or the server stops."""
        try:
            if scope["method"] not in {"GET", "HEAD"}:
                raise Refused(405, f"{scope['method']} is not possible here", headers=[(b"allow", b"GET, HEAD")])
            query = _read(scope)
            if len(self._feeds) >= self._max_clients or self._closing:
                raise Refused(503, "too many live streams; close one", headers=[(b"retry-after", b"5")])
        except Refused as refused:
            await refuse(send, refused)
            return
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._serve(query, receive, send)

    async def _serve(self, query: FollowQuery, receive: Receive, send: Send) -> None:
        feed = asyncio.create_task(self._feed(query, _Writer(send, self._send_wall_s)))
        left = asyncio.create_task(gone(receive))
        self._feeds.add(feed)
        if request := asyncio.current_task():
            self._requests.add(request)
            request.add_done_callback(self._requests.discard)
        try:
            await asyncio.wait({feed, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feeds.discard(feed)
            feed.cancel()
            left.cancel()
            await asyncio.wait({feed, left})
        if not feed.cancelled() and isinstance(error := feed.exception(), TimeoutError):
            _log.info("a client of the live stream took nothing for %g s and is dropped", self._send_wall_s)
        elif not feed.cancelled() and error:
            raise error

    async def _feed(self, query: FollowQuery, writer: _Writer) -> None:
        wanted = query.wanted
        async with self._tail.followed(), self._live.followed() if query.live else nullcontext() as live:
            cursor = self._tail.newest if query.after is None else query.after
            await writer.begin(self._hello)
            if cursor > self._tail.newest and cursor > (newest := await self._tail.newest_stored()):
                # Ids of a database that was since restored from a backup.
                cursor = newest
                await writer.write(f"event: resync\nid: {cursor}\ndata: {{}}\n\n".encode())
            while not (self._closing or self._tail.failed):
                news = {self._tail.news, live.news} if live else {self._tail.news}
                reached, lines = await self._next(cursor, wanted)
                frames = [line.frame for line in lines]
                if live:
                    frames += live.take(wanted.task_id)
                if frames:
                    await writer.write(b"".join(frames))
                if reached == cursor:
                    await self._rest(news, writer)
                cursor = reached
        await writer.end(END)

    async def _next(self, cursor: int, wanted: EventFilter) -> tuple[int, list[Line]]:
        """Return the lines behind the cursor that pass the filters, and the cursor behind them."""
        if cursor < self._tail.floor:
            return await self._tail.older(cursor, wanted)
        lines = self._tail.after(cursor, BATCH)
        return (lines[-1].id if lines else cursor), [line for line in lines if passes(line, wanted)]

    async def _rest(self, news: set[asyncio.Future[None]], writer: _Writer) -> None:
        """Wait for news; send a heartbeat when nothing was sent for long."""
        due_s = writer.sent_at + self._heartbeat_s - time.monotonic()
        await asyncio.wait(news, return_when=asyncio.FIRST_COMPLETED, timeout=max(0.0, due_s))
        if time.monotonic() - writer.sent_at >= self._heartbeat_s:
            await writer.write(BEAT)

    async def close(self) -> None:
        """Send every client the end; those that do not take it in time are cut off."""
        self._closing = True
        self._tail.wake_all()
        if feeds := set(self._feeds):
            _, late = await asyncio.wait(feeds, timeout=GRACE_S)
            for feed in late:
                feed.cancel()
            if late:
                await asyncio.wait(set(self._requests), timeout=GRACE_S)
        self._tail.close()


class _Writer:
    """The body of one response."""

    def __init__(self, send: Send, wall_s: float) -> None:
        self._send = send
        self._wall_s = wall_s
        self.sent_at = time.monotonic()

    async def begin(self, data: bytes) -> None:
        """Send the head and the first part. Whoever has read the head misses nothing that happens from then on."""
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await self.write(data)

    async def write(self, data: bytes) -> None:
        """Send, and wait while the client's buffers are full.

        Raises:
            TimeoutError: they stayed full.
        """
        async with asyncio.timeout(self._wall_s):
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self.sent_at = time.monotonic()

    async def end(self, data: bytes) -> None:
        """Send the last part."""
        await self._send({"type": "http.response.body", "body": data, "more_body": False})


def _read(scope: Scope) -> FollowQuery:
    """The query; a browser that reconnects sends the old address and the newer `Last-Event-ID`."""
    try:
        query = read_query(FollowQuery, scope["query_string"].decode("latin-1"))
        last = header(scope, b"last-event-id")
        if not last:
            return query
        resumed = read_query(FollowQuery, urlencode({"after": last}))
    except BadQuery as bad:
        raise Refused(400, str(bad), fields=bad.fields) from None
    return query.model_copy(update={"after": resumed.after})
