"""Sends the text that models are writing as server-sent events. These events have no id and cannot be resumed.

One reader checks for changes a few times a second, masks the text, and builds one frame for each changed call, with the
call's current state. All watchers get the same frames. A new watcher first gets the frames of all running calls.

A secret may arrive in pieces. The text is therefore masked again each time from the start of its part. Its last word
may be the beginning of a secret that no mask recognises yet, so it is held back until the word ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from nightshift.core.clock import Moment
from nightshift.core.tasks.states import Phase
from nightshift.models.live import LiveCall, LiveCalls, LivePart
from nightshift.server.formatting import Mask, full_text
from nightshift.server.schemas import Answer

PAUSE_S = 0.15
"""Minimum seconds between two frames of a call."""
MOST_ENDED = 50
"""Number of ended calls whose last frame is kept, so that slow clients still receive it."""
LONGEST_WORD = 400
"""Maximum number of characters of an unfinished word that are held back. A longer word is data and not a secret."""
_WORD = re.compile(r"\S*")

Take = Callable[[int | None], list[bytes]]
"""Function that returns the frames that a client has not received yet, for one task or (None) for all tasks."""
_log = logging.getLogger(__name__)


class WrittenPart(Answer):
    """A part of a model's reply: its answer, its thoughts, or a call of a tool.

    If `tool` is set, `text` is the JSON of the call's arguments, possibly incomplete.
    """

    tool: str
    text: str
    is_thought: bool = False


class Writing(Answer):
    """Current state of a model call.

    `end` is null while the call runs. `tokens` counts the tokens written so far; it is an estimate until the backend
    has counted them. `writing_s` is the number of seconds in which they were written. `thinks` is true as soon as the
    model has begun to work on the reply, even if it has sent no text yet. `cut` is true if the beginning of the reply
    is no longer included.
    """

    call: int
    task_id: int
    attempt: int
    step_no: int
    call_no: int
    phase: Phase
    backend: str
    model: str
    began_at: Moment
    thinks: bool
    cut: bool
    tokens: int
    estimated: bool
    writing_s: float
    end: str | None
    parts: tuple[WrittenPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The last frame of a call. Frames are numbered in the order in which they were built."""

    number: int
    task_id: int
    has_ended: bool
    data: bytes


class Live:
    """All running model calls, as frames for the clients that watch. Belongs to one event loop.

    Args:
        calls: the running calls.
        mask: removes secrets from the text of the calls.
        pause_s: minimum seconds between two reads of the calls.
    """

    def __init__(self, calls: LiveCalls, mask: Mask, *, pause_s: float = PAUSE_S) -> None:
        self._calls, self._mask, self._pause_s = calls, mask, pause_s
        self._frames: dict[int, _Frame] = {}
        self._count = 0
        self._watchers: set[asyncio.Event] = set()
        self._reader: asyncio.Task[None] | None = None
        self._end: Callable[[], None] | None = None

    @contextlib.contextmanager
    def watch(self, woken: asyncio.Event) -> Iterator[Take]:
        """Yield a function that returns new frames, and set the event whenever there are new frames.

        Several watchers may watch at the same time.
        """
        self._watchers.add(woken)
        if self._reader is None or self._reader.done():
            self._start()
        seen: int | None = None

        def take(task_id: int | None) -> list[bytes]:
            nonlocal seen
            before, seen = seen, self._count
            return [
                frame.data
                for frame in self._frames.values()
                if (not frame.has_ended if before is None else frame.number > before)
                and task_id in {None, frame.task_id}
            ]

        try:
            yield take
        finally:
            self._watchers.discard(woken)
            if not self._watchers:
                self._stop()

    def _start(self) -> None:
        self._stop()
        news, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(news.set)

        self._end = self._calls.watch(wake)
        self._show(self._calls.open())
        self._reader = asyncio.create_task(self._read_on(news), name="live")

    def _stop(self) -> None:
        if self._reader:
            self._reader.cancel()
        if self._end:
            self._end()
        self._reader = self._end = None
        self._frames.clear()

    async def _read_on(self, news: asyncio.Event) -> None:
        try:
            while True:
                await news.wait()
                news.clear()
                self._show(self._calls.news())
                await asyncio.sleep(self._pause_s)
        except Exception:  # noqa: BLE001  on any error, the log must continue; the next client tries again
            _log.exception("the replies that models are writing cannot be shown")

    def _show(self, calls: Sequence[LiveCall]) -> None:
        for call in calls:
            self._count += 1
            has_ended = call.end is not None
            self._frames.pop(call.call, None)
            self._frames[call.call] = _Frame(
                number=self._count, task_id=call.task_id, has_ended=has_ended, data=_serialise(call, self._mask)
            )
        for number in [number for number, frame in self._frames.items() if frame.has_ended][:-MOST_ENDED]:
            del self._frames[number]
        for woken in self._watchers if calls else ():
            woken.set()


def _serialise(call: LiveCall, mask: Mask) -> bytes:
    open_part = len(call.parts) - 1 if call.end is None else None
    parts = tuple(_mask_part(part, mask, is_open=number == open_part) for number, part in enumerate(call.parts))
    shown = Writing.from_values(call, end=str(call.end) if call.end else None, parts=parts)
    return f"event: writing\ndata: {shown.model_dump_json()}\n\n".encode()


def _mask_part(part: LivePart, mask: Mask, *, is_open: bool) -> WrittenPart:
    text = full_text(part.text, mask)
    if is_open and (word := _WORD.match(text[: -LONGEST_WORD - 1 : -1])):  # matched backwards, which takes linear time
        text = text[: len(text) - word.end()]
    return WrittenPart(tool=full_text(part.tool, mask), text=text, is_thought=part.is_thought)
