"""The newest part of the log, read once for all clients of the stream.

The table is the log (persist, then notify): a commit only wakes this reader, which fetches what is new by id in a
thread, serialises each event once and wakes all clients with one shared future. Nothing is queued for a client; it
holds a cursor, takes what it has not seen from the ring, and reads the database itself when it is further behind than
the ring reaches. So a slow client costs no memory, and events of other processes are found as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from nightshift.core.events import RANK, Event, Kind
from nightshift.server.schemas import log_line
from nightshift.storage.db.event_log import EventFilter, EventLog

PAGE = 500
EVERYTHING = EventFilter()

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An event as it goes over the wire, with what the filters ask for."""

    id: int
    rank: int
    task_id: int | None
    worker: str | None
    kind: Kind
    frame: bytes


def passes(line: Line, wanted: EventFilter) -> bool:
    """Tell whether a client wants this line, as the database would."""
    return (
        (wanted.level is None or line.rank >= RANK[wanted.level])
        and (wanted.task_id is None or line.task_id == wanted.task_id)
        and (wanted.worker is None or line.worker == wanted.worker)
        and (wanted.kind is None or line.kind is wanted.kind)
    )


def line_of(event: Event) -> Line:
    """Serialise the event as a server-sent event whose id is the event's."""
    data = log_line(event).model_dump_json()
    frame = f"id: {event.id}\ndata: {data}\n\n".encode()
    return Line(
        id=event.id, rank=RANK[event.level], task_id=event.task_id, worker=event.worker, kind=event.kind, frame=frame
    )  # fmt: skip


class Tail:
    """A reader of the log that runs while somebody follows it. Lives on one event loop.

    Args:
        events: the log.
        size: how many lines the ring keeps.
        look_s: seconds after which it looks even though no commit of this process woke it.
    """

    def __init__(self, events: EventLog, *, size: int = 2000, look_s: float = 15.0) -> None:
        self._events = events
        self._size = size
        self._look_s = look_s
        self._ring: deque[Line] = deque()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="stream")
        self._starting = asyncio.Lock()
        self._followers = 0
        self._reader: asyncio.Task[None] | None = None
        self._news: asyncio.Future[None] | None = None
        self.floor = 0
        self.newest = 0

    @contextlib.asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Keep the ring up to date while the block runs; several may."""
        self._followers += 1
        try:
            async with self._starting:
                if self._reader is None or self._reader.done():
                    await self._start()
            yield
        finally:
            self._followers -= 1
            if not self._followers and self._reader:
                self._reader.cancel()
                self._reader = None

    async def _start(self) -> None:
        self._ring.clear()
        self.newest = self.floor = await self.newest_stored()
        self._reader = asyncio.create_task(self._read_on(), name="stream-tail")

    @property
    def failed(self) -> bool:
        """Tell whether reading the log ended with an error."""
        return self._reader is not None and self._reader.done()

    @property
    def news(self) -> asyncio.Future[None]:
        """Done at the next news; never cancel it, all clients share it."""
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        return self._news

    def wake_all(self) -> None:
        """Wake every client that waits for news."""
        if self._news is not None:
            self._news.set_result(None)
            self._news = None

    def after(self, cursor: int, limit: int) -> list[Line]:
        """At most `limit` lines of the ring with a greater id, oldest first."""
        assert cursor >= self.floor, "the ring does not reach that far back"
        found = 0
        for line in reversed(self._ring):
            if line.id <= cursor:
                break
            found += 1
        start = len(self._ring) - found
        return [self._ring[i] for i in range(start, start + min(found, limit))]

    async def newest_stored(self) -> int:
        """The id of the newest event; the ring may not have it yet."""
        return await self._in_thread(self._events.newest_id)

    async def older(self, cursor: int, wanted: EventFilter) -> tuple[int, list[Line]]:
        """A page of stored lines with a greater id that pass the filters, and the cursor behind them."""
        reached = self.newest
        page = await self._in_thread(lambda: self._page(cursor, wanted))
        if len(page) == PAGE:
            return page[-1].id, page
        return max(reached, page[-1].id if page else 0), page

    def _page(self, cursor: int, wanted: EventFilter) -> list[Line]:
        found = self._events.after(
            cursor, limit=PAGE, level=wanted.level, task_id=wanted.task_id, worker=wanted.worker, kind=wanted.kind
        )
        return [line_of(event) for event in found]

    async def _read_on(self) -> None:
        woken = asyncio.Event()
        unsubscribe = self._events.subscribe(_waker(woken))
        try:
            while True:
                while lines := await self._in_thread(lambda: self._page(self.newest, EVERYTHING)):
                    self._keep(lines)
                    self.wake_all()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), self._look_s)
                woken.clear()
        except Exception:  # noqa: BLE001  whatever it is, the clients must come again
            _log.exception("the live stream cannot read the log; its clients will reconnect")
        finally:
            unsubscribe()
            self.wake_all()

    def _keep(self, lines: Iterable[Line]) -> None:
        self._ring.extend(lines)
        self.newest = self._ring[-1].id
        while len(self._ring) > self._size:
            self.floor = self._ring.popleft().id

    async def _in_thread(self, read: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, read)

    def close(self) -> None:
        """End the threads; nobody follows any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _waker(woken: asyncio.Event) -> Callable[[Sequence[Event]], None]:
    """A callback for the writer's thread. What was committed is not looked at: it is read by id."""
    loop = asyncio.get_running_loop()

    def wake(_: Sequence[Event]) -> None:
        # The loop may close between the last commit and the end of the subscription.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(woken.set)

    return wake
