"""Serves the live log as server-sent events: `GET /api/logs/stream`, an ASGI route outside Flask.

A stream inside Flask would occupy a thread for each client and would notice neither a closed tab nor a shutdown. Events
are first stored in the database, and a commit only wakes the clients. Each client has a cursor and reads from the
database the events that it has not seen. A slow client therefore costs no memory, and events of other processes are
found as well. The cursor is the id of an event: `Last-Event-ID` (or `?after=` on the first connection) resumes exactly
after that event. Without either, the stream starts with the next event.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode

from nightshift.core.events import Event
from nightshift.models.live import LiveCalls
from nightshift.server.auth.asgi import Receive, Refused, Scope, Send, header, wait_until_gone
from nightshift.server.formatting import Mask
from nightshift.server.log.live import Live, Take
from nightshift.server.log.log_query import FollowQuery
from nightshift.server.query import BadQuery, read_query
from nightshift.server.schemas import log_line
from nightshift.storage.db.event_log import EventFilter, EventLog

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

STREAM_PATH = "/api/logs/stream"
BATCH = 500
GRACE_S = 0.2

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
BEAT = b"event: beat\ndata: {}\n\n"
"""Heartbeat. It is an event and not a comment, so that a page can detect a connection that died silently."""
END = b"event: end\ndata: {}\n\n"
"""Last event, sent when the server stops. A browser reconnects automatically and resumes."""


class Stream:
    """The live stream of the log, with all its clients.

    Args:
        events: the log.
        live: the running model calls, for clients that ask for live text.
        mask: removes secrets from live text.
        heartbeat_s: seconds of silence after which a heartbeat is sent, to find dead connections.
        retry_ms: milliseconds a browser waits before it reconnects.
        max_clients: maximum number of clients; further clients are refused with status 503.
        send_wall_s: seconds after which a client that accepts no data is dropped.
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
        self._events = events
        self._live = Live(live, mask)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="stream")
        self._heartbeat_s = heartbeat_s
        self._hello = f"retry: {retry_ms}\n\n".encode()
        self._max_clients = max_clients
        self._send_wall_s = send_wall_s
        self._feeds: dict[asyncio.Task[None], asyncio.Event] = {}
        self._requests: set[asyncio.Task[Any]] = set()
        self._closing = False

    @property
    def clients(self) -> int:
        """Number of clients that follow the log."""
        return len(self._feeds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client until it leaves or the server stops.

        Raises:
            Refused: the query is wrong, or there are too many clients.
        """
        if scope["method"] not in {"GET", "HEAD"}:
            raise Refused(405, f"{scope['method']} is not possible here", headers=[(b"allow", b"GET, HEAD")])
        query = _read(scope)
        if len(self._feeds) >= self._max_clients or self._closing:
            raise Refused(503, "too many live streams; close one", headers=[(b"retry-after", b"5")])
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._serve(query, receive, send)

    async def _serve(self, query: FollowQuery, receive: Receive, send: Send) -> None:
        woken = asyncio.Event()
        feed = asyncio.create_task(self._feed(query, _Writer(send, self._send_wall_s), woken))
        left = asyncio.create_task(wait_until_gone(receive))
        self._feeds[feed] = woken
        if request := asyncio.current_task():
            self._requests.add(request)
            request.add_done_callback(self._requests.discard)
        try:
            await asyncio.wait({feed, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._feeds[feed]
            feed.cancel()
            left.cancel()
            await asyncio.wait({feed, left})
        if not feed.cancelled() and isinstance(error := feed.exception(), TimeoutError):
            _log.info("dropped a client of the live stream that read nothing for %g s", self._send_wall_s)
        elif not feed.cancelled() and error:
            raise error

    async def _feed(self, query: FollowQuery, writer: _Writer, woken: asyncio.Event) -> None:
        with self._woken_by_commits(woken), contextlib.ExitStack() as stack:
            take = stack.enter_context(self._live.watch(woken)) if query.live else None
            try:
                await self._follow(query, writer, woken, take)
            except TimeoutError:
                raise
            except Exception:  # noqa: BLE001  on any error, the client must reconnect
                _log.exception("the live stream cannot read the log; its client will reconnect")
        await writer.end(END)

    async def _follow(self, query: FollowQuery, writer: _Writer, woken: asyncio.Event, take: Take | None) -> None:
        newest = await self._in_thread(self._events.newest_id)
        cursor = newest if query.after is None else min(query.after, newest)
        await writer.begin(self._hello)
        if query.after is not None and query.after > newest:  # the database was restored from a backup
            await writer.write(f"event: resync\nid: {cursor}\ndata: {{}}\n\n".encode())
        while not self._closing:
            woken.clear()
            reached, frames = await self._in_thread(partial(self._read_page, cursor, query.wanted))
            frames += take(query.task) if take else []
            if frames:
                await writer.write(b"".join(frames))
            if reached == cursor:
                await self._rest(woken, writer)
            cursor = reached

    def _read_page(self, cursor: int, wanted: EventFilter) -> tuple[int, list[bytes]]:
        """Read a page of events after the cursor, and return the new cursor and the frames of the events.

        Events that the filter excludes have no frame, but the cursor moves past them.
        """
        newest = self._events.newest_id()
        if newest <= cursor:
            return cursor, []
        events = self._events.after(cursor, limit=BATCH, wanted=wanted)
        last = events[-1].id if events else cursor
        return (last if len(events) == BATCH else max(last, newest)), [frame_of(event) for event in events]

    async def _rest(self, woken: asyncio.Event, writer: _Writer) -> None:
        """Wait for new events; send a heartbeat if nothing was sent for `heartbeat_s` seconds."""
        due_s = writer.sent_at + self._heartbeat_s - time.monotonic()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(woken.wait(), max(0.0, due_s))
        if time.monotonic() - writer.sent_at >= self._heartbeat_s:
            await writer.write(BEAT)

    @contextlib.contextmanager
    def _woken_by_commits(self, woken: asyncio.Event) -> Iterator[None]:
        """Set `woken` from the writer's thread whenever the log has grown."""
        loop = asyncio.get_running_loop()

        def wake(_: Sequence[Event]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(woken.set)

        unsubscribe = self._events.subscribe(wake)
        try:
            yield
        finally:
            unsubscribe()

    async def _in_thread(self, read: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, read)

    async def close(self) -> None:
        """Send the end event to all clients. Clients that do not accept it within `GRACE_S` seconds are cut off."""
        self._closing = True
        for woken in self._feeds.values():
            woken.set()
        if feeds := set(self._feeds):
            _, late = await asyncio.wait(feeds, timeout=GRACE_S)
            for feed in late:
                feed.cancel()
            if late:
                await asyncio.wait(set(self._requests), timeout=GRACE_S)
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Writer:
    """Writes the body of one streaming response, and remembers when data was last sent."""

    def __init__(self, send: Send, wall_s: float) -> None:
        self._send = send
        self._wall_s = wall_s
        self.sent_at = time.monotonic()

    async def begin(self, data: bytes) -> None:
        """Send the headers and the first data.

        The caller must set the cursor before this call. A client that has received the headers then misses no later
        event.
        """
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await self.write(data)

    async def write(self, data: bytes) -> None:
        """Send data, and wait while the client's buffers are full.

        Raises:
            TimeoutError: the buffers stayed full.
        """
        async with asyncio.timeout(self._wall_s):
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self.sent_at = time.monotonic()

    async def end(self, data: bytes) -> None:
        """Send the last data and end the response."""
        await self._send({"type": "http.response.body", "body": data, "more_body": False})


def frame_of(event: Event) -> bytes:
    """Serialise an event as a server-sent event; its id is the id of the event."""
    return f"id: {event.id}\ndata: {log_line(event).model_dump_json()}\n\n".encode()


def _read(scope: Scope) -> FollowQuery:
    """Read the query of a request.

    `Last-Event-ID` overrides `after`, because a browser that reconnects sends the original address.
    """
    try:
        query = read_query(FollowQuery, scope["query_string"].decode("latin-1"))
        last = header(scope, b"last-event-id")
        if not last:
            return query
        resumed = read_query(FollowQuery, urlencode({"after": last}))
    except BadQuery as bad:
        raise Refused(400, str(bad), fields=bad.fields) from None
    return query.model_copy(update={"after": resumed.after})
