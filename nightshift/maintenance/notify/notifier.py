"""Reads new events from the log and notifies the owner; notices are stored before they are sent.

A turn (`Notifier.turn`) is short and runs as a periodic job, so no worker ever waits for it. A notice is stored before
it is first sent, and removed after it arrived; a daemon that dies in between sends it again, under the same id. Many
notices at once become a digest. A failed delivery is only logged, and never makes a notice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nightshift.core.clock import Clock
from nightshift.core.errors import StoreError
from nightshift.core.events import Emitter, Event, Kind, Level
from nightshift.maintenance.notify.channels import WAYS, Channels
from nightshift.maintenance.notify.notices import Notice, NoticeKind, notice_of
from nightshift.maintenance.notify.outbox import MAX_TRIES, ChannelQueue, Outbox, read_outbox
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import StateStore

NOTICES_JOB = "notices"
KEY = "notify_outbox"
BATCH = 500
BURST, WINDOW_S = 5, 300.0
"""Rate limit: number of single notices within this number of seconds; further notices wait and are sent as one."""
KEEP_S = 60.0
"""Minimum seconds between two writes that store only a new position in the log, without a new notice."""

_log = logging.getLogger(__name__)


class Notifier:
    """Makes notices from events and delivers them.

    Args:
        events: the log; gets an event for each notice that arrived and for each channel that begins to fail.
        state: stores the undelivered notices.
        channels: returns the current channels; called in each turn.
        name_of: returns a task's title in one line.
        clock: the time.
        monotonic: seconds, for the rate limit.
    """

    def __init__(
        self,
        *,
        events: EventLog,
        state: StateStore,
        channels: Callable[[], Channels],
        name_of: Callable[[int], str],
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events, self._state, self._channels = events, state, channels
        self._name_of, self._clock, self._monotonic = name_of, clock, monotonic
        self._box: Outbox | None = None
        self._fresh, self._kept_at = True, monotonic()
        self._sent: dict[str, deque[float]] = {name: deque() for name in WAYS}
        events.subscribe(self._on_events)

    def _on_events(self, _events: Sequence[Event]) -> None:
        self._fresh = True  # runs on the writer's thread; the next turn reads the events from the table

    async def turn(self) -> None:
        """Collect new notices and try to deliver the due ones."""
        channels = self._channels()
        if not channels.names:
            await self._forget()
            return
        box = await self._collect(channels)
        await asyncio.gather(*(self._serve(name, channels) for name in box.queues))

    async def _forget(self) -> None:
        """Drop the outbox when no channel is configured, so that a channel that is added later gets no old events."""
        if self._box is not None or self._state.get(KEY) is not None:
            self._box = None
            await asyncio.wrap_future(self._state.set(KEY, None))

    async def _collect(self, channels: Channels) -> Outbox:
        box: Outbox = self._box if self._box is not None else await asyncio.to_thread(self._read_stored)
        queues = {name: box.queues.get(name, ChannelQueue()) for name in channels.names}
        # The queue of a new channel is stored at once, so that even after a restart the channel gets all notices from
        # now on.
        cursor, is_changed = box.cursor, queues.keys() != box.queues.keys()
        while self._fresh:
            self._fresh = False
            events = await asyncio.to_thread(self._events.after, cursor, limit=BATCH)
            for notice in await asyncio.to_thread(self._notices, events, channels.on):
                queues, is_changed = {name: queue.with_notice(notice) for name, queue in queues.items()}, True
            cursor = events[-1].id if events else cursor
            self._fresh |= len(events) == BATCH
        self._box = Outbox(cursor=cursor, queues=queues)
        if is_changed or (cursor != box.cursor and self._monotonic() - self._kept_at > KEEP_S):
            await self._keep()
        return self._box

    def _read_stored(self) -> Outbox:
        row = self._state.get(KEY)
        return Outbox(cursor=self._events.newest_id()) if row is None else read_outbox(row)

    def _notices(self, events: Sequence[Event], wanted: frozenset[NoticeKind]) -> list[Notice]:
        notices = (notice_of(event, self._name_of) for event in events if event.data.get("chore") != NOTICES_JOB)
        return [notice for notice in notices if notice and notice.kind in wanted]

    async def _serve(self, name: str, channels: Channels) -> None:
        """Deliver the notices of a queue, up to the first failure and within the rate limit."""
        while (queue := self._queue(name)).waiting and not queue.rests(self._clock()):
            free = self._free_slots(name)
            if not free:
                return
            if (merged := queue.merge(free)) is not queue:
                queue = self._put(name, merged)
                await self._keep()
            head = queue.waiting[0]
            fault = await channels.send(name, head.notice, self._clock)
            self._put(name, queue.postpone_failed(self._clock()) if fault else queue.remove_delivered())
            self._report(name, head.notice, fault, first=not queue.failures, last=head.tries + 1 >= MAX_TRIES)
            await self._keep()

    def _free_slots(self, name: str) -> int:
        """Return how many notices may be sent now."""
        now, sent = self._monotonic(), self._sent[name]
        while sent and now - sent[0] >= WINDOW_S:
            sent.popleft()
        return BURST - len(sent)

    def _report(self, name: str, notice: Notice, fault: str, *, first: bool, last: bool) -> None:
        emitter = Emitter(self._events.emit)
        data: dict[str, Any] = {"way": name, "notice": notice.id, "kind": notice.kind}
        if not fault:
            self._sent[name].append(self._monotonic())
            emitter.emit(Kind.NOTIFIED, f"sent by {name}: {notice.title}", **data)
        elif first or last:
            given_up = "; given up" if last else ""
            text = f"{name}: {fault} ({notice.title}){given_up}"
            emitter.emit(Kind.NOTIFY_FAILED, text, level=Level.WARNING, **data)

    def _queue(self, name: str) -> ChannelQueue:
        assert self._box is not None
        return self._box.queues[name]

    def _put(self, name: str, queue: ChannelQueue) -> ChannelQueue:
        assert self._box is not None
        self._box = replace(self._box, queues={**self._box.queues, name: queue})
        return queue

    async def _keep(self) -> None:
        """Store the undelivered notices. If the database cannot be written, the notices are sent nevertheless."""
        assert self._box is not None
        self._kept_at = self._monotonic()
        try:
            await asyncio.wrap_future(self._state.set(KEY, self._box))
        except StoreError as error:
            _log.warning("notices are not stored, and may come twice: %s", error)
