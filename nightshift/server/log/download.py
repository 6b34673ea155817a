"""The log as a file: `GET /api/logs/download`, a native ASGI route.

A page is read, sent and forgotten before the next one is read, so the size of the log does not matter; a client that
takes its time holds no thread, and one that leaves is noticed. What is sent ends with the event that was the newest
when it was asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from nightshift.core.clock import Clock, to_text, utc_now
from nightshift.core.events import Event
from nightshift.core.text.masking import Masker
from nightshift.server.auth.asgi import Header, Receive, Refused, Scope, Send, gone, refuse
from nightshift.server.log import ansi
from nightshift.server.log.log_query import DownloadQuery
from nightshift.server.query import BadQuery, read_query
from nightshift.server.schemas import log_line
from nightshift.storage.db.event_log import Accepts, EventLog

DOWNLOAD_PATH = "/api/logs/download"
PAGE = 500
_MEDIA = {"jsonl": b"application/x-ndjson", "text": b"text/plain; charset=utf-8"}
_ENDING = {"jsonl": "jsonl", "text": "log"}

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """Download that one client asked for."""

    query: DownloadQuery
    accepts: Accepts | None
    mask: Masker

    def headers(self, clock: Clock) -> list[Header]:
        """The head of the answer; the file is named by the time of asking."""
        name = f"nightshift-{clock():%Y%m%d-%H%M%S}.{_ENDING[self.query.format]}"
        return [
            (b"content-type", _MEDIA[self.query.format]),
            (b"content-disposition", f'attachment; filename="{name}"'.encode()),
            (b"cache-control", b"no-store"),
        ]

    def line(self, event: Event) -> str:
        """The event as a line, without secrets that became known since it was stored."""
        if self.query.format == "jsonl":
            text = log_line(event).model_dump_json(exclude={"runs"})
        else:
            text = _as_text(event, ansi.terminal if self.query.ansi == "keep" else ansi.plain)
        return self.mask(text) + "\n"


class Download:
    """All downloads.

    Args:
        events: the log.
        mask: takes secrets out of what is sent: some may have become known since it was logged.
        clock: names the file.
        most: more at a time are refused with 503.
        send_wall_s: a client that takes nothing for so many seconds is dropped.
    """

    def __init__(
        self, events: EventLog, mask: Masker, *, clock: Clock = utc_now, most: int = 20, send_wall_s: float = 60.0
    ) -> None:
        self._events, self._mask, self._clock, self._most, self._send_wall_s = events, mask, clock, most, send_wall_s
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="download")
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        try:
            job = self._job(scope)
        except Refused as refused:
            await refuse(send, refused)
            return
        await send({"type": "http.response.start", "status": 200, "headers": job.headers(self._clock)})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        await self._until_gone(asyncio.create_task(self._send_all(job, send)), receive)

    def _job(self, scope: Scope) -> _Job:
        if scope["method"] not in {"GET", "HEAD"}:
            raise Refused(405, f"{scope['method']} is not possible here", headers=[(b"allow", b"GET, HEAD")])
        if len(self._running) >= self._most:
            raise Refused(503, "too many downloads at a time", headers=[(b"retry-after", b"5")])
        try:
            query = read_query(DownloadQuery, scope["query_string"].decode("latin-1"))
            return _Job(query=query, accepts=query.accepts(), mask=self._mask)
        except BadQuery as bad:
            raise Refused(400, str(bad), fields=bad.fields) from None

    async def _until_gone(self, sending: asyncio.Task[None], receive: Receive) -> None:
        left = asyncio.create_task(gone(receive))
        self._running.add(sending)
        try:
            await asyncio.wait({sending, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._running.discard(sending)
            sending.cancel()
            left.cancel()
            await asyncio.wait({sending, left})
        if not sending.cancelled() and (error := sending.exception()):
            raise error

    async def _send_all(self, job: _Job, send: Send) -> None:
        newest = await self._in_thread(self._events.newest_id)
        end = min(newest, (job.query.before or newest + 1) - 1)
        reached = job.query.after or 0
        while reached < end:
            reached, body = await self._in_thread(partial(self._page, job, reached, end))
            if body:
                async with asyncio.timeout(self._send_wall_s):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _page(self, job: _Job, after: int, end: int) -> tuple[int, bytes]:
        page = self._events.pages(job.query.wanted, job.accepts).after(after, PAGE)
        lines = [job.line(event) for event in page.events if event.id <= end]
        return page.last_id, "".join(lines).encode("utf-8", "backslashreplace")

    async def _in_thread(self, read: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, read)

    def close(self) -> None:
        """End all downloads; a client sees by the missing end that its file is not whole."""
        for sending in self._running:
            sending.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _as_text(event: Event, text: Callable[[str], str]) -> str:
    """The event for people: time, level, task, worker, kind and message; further lines of a message are indented."""
    assert event.at is not None, "only stored events are shown"
    about = [f"#{event.task_id}" if event.task_id else "", event.worker or ""]
    head = " ".join(filter(None, [to_text(event.at), f"{event.level:7}", *about, event.kind]))
    return f"{head}: {text(event.message)}".rstrip().replace("\n", "\n    ")
