"""Live text of models, as server-sent events: ephemeral, without an id, and no part of what a client resumes.

One reader looks at what changed a few times a second, masks it, and makes one frame for all who watch. A frame tells
how much of what was shown before still holds, and what follows it, so little is sent however long a reply grows. Who
joins gets all calls as they were last shown; so does who fell behind, for the frames that are kept are few.

A secret may come in pieces. So the text is masked anew from where its part begins each time, and its last word, which
may be the beginning of a secret that no mask knows yet, is held back until it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from nightshift.core.clock import Moment
from nightshift.core.tasks.states import Phase
from nightshift.models.live import LiveCall, LiveCalls, LivePart
from nightshift.server.formatting import Mask, whole
from nightshift.server.schemas import Answer

PAUSE_S = 0.15
"""Least time between two frames of a call."""
MOST_FRAMES = 100
LONGEST_WORD = 400
"""A word that is longer is shown but for its end: more is no secret but data."""
_WORD = re.compile(r"\S*")

_log = logging.getLogger(__name__)


class WrittenPart(Answer):
    """A stretch of a reply: its text, thoughts, or the arguments (JSON, as far as it goes) of a call of `tool`."""

    tool: str
    text: str
    is_thought: bool = False


class Writing(Answer):
    """New text of a model's call under way.

    Of what was told of this `call` before, the first `keep` parts still hold; `parts` follow them, and with `appends`
    the first of these goes on where the last one of them ended. `end` is null while the call goes on. `tokens` are
    estimated until the backend has counted; they were written in `writing_s` seconds. `thinks` tells that the model
    gave a sign of life, `cut` that the beginning of the reply is not shown any more.
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
    keep: int
    appends: bool
    parts: tuple[WrittenPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A call as it was last told: what it was made of, and its parts without secrets."""

    of: LiveCall
    parts: tuple[WrittenPart, ...] = ()

    @property
    def snapshot(self) -> bytes:
        return _frame(self.of, 0, False, self.parts)


class Live:
    """All that is written now, for those who watch. Lives on one event loop.

    Args:
        calls: what is written.
        mask: takes secrets out of it.
        pause_s: least time between two looks.
    """

    def __init__(self, calls: LiveCalls, mask: Mask, *, pause_s: float = PAUSE_S) -> None:
        self._calls, self._mask, self._pause_s = calls, mask, pause_s
        self._shown: dict[int, _Shown] = {}
        self._frames: deque[tuple[int, int, bytes]] = deque(maxlen=MOST_FRAMES)
        self._count = self._followers = 0
        self._reader: asyncio.Task[None] | None = None
        self._end: Callable[[], None] | None = None
        self._news: asyncio.Future[None] | None = None

    @contextlib.asynccontextmanager
    async def followed(self) -> AsyncIterator[Watcher]:
        """Read what is written while the block runs; several may."""
        self._followers += 1
        if self._reader is None or self._reader.done():
            self._start()
        try:
            yield Watcher(self)
        finally:
            self._followers -= 1
            if not self._followers:
                self._stop()

    def _start(self) -> None:
        self._stop()
        woken = asyncio.Event()
        self._end = self._calls.watch(_waker(woken))
        self._show(self._calls.open())
        self._reader = asyncio.create_task(self._read_on(woken), name="live")

    def _stop(self) -> None:
        if self._reader:
            self._reader.cancel()
        if self._end:
            self._end()
        self._reader = self._end = None
        self._shown.clear()
        self._frames.clear()

    @property
    def news(self) -> asyncio.Future[None]:
        """Done at the next news; never cancel it, all watchers share it."""
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        return self._news

    def since(self, count: int | None) -> tuple[int, list[tuple[int, bytes]]]:
        """The frames behind a count, each with its task, and the count behind them; None and what is old: snapshots."""
        oldest = self._frames[0][0] if self._frames else self._count + 1
        if count is None or count + 1 < oldest:
            return self._count, [(each.of.task_id, each.snapshot) for each in self._shown.values()]
        return self._count, [(task_id, frame) for number, task_id, frame in self._frames if number > count]

    async def _read_on(self, woken: asyncio.Event) -> None:
        try:
            while True:
                await woken.wait()
                woken.clear()
                self._show(self._calls.news())
                await asyncio.sleep(self._pause_s)
        except Exception:  # noqa: BLE001  whatever it is, the log must go on; the next who joins tries again
            _log.exception("what models write cannot be shown")

    def _show(self, calls: Sequence[LiveCall]) -> None:
        for call in calls:
            before = self._shown.get(call.call)
            parts = _parts(call, before, self._mask)
            keep, appends, more = _difference(before.parts if before else (), parts)
            self._shown[call.call] = _Shown(of=call, parts=parts)
            self._count += 1
            self._frames.append((self._count, call.task_id, _frame(call, keep, appends, more)))
            if call.end is not None:
                del self._shown[call.call]
        if calls and self._news is not None:
            self._news.set_result(None)
            self._news = None


class Watcher:
    """One client's place in what is written."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._count: int | None = None

    @property
    def news(self) -> asyncio.Future[None]:
        """See `Live.news`."""
        return self._live.news

    def take(self, task_id: int | None) -> list[bytes]:
        """The frames that this client was not sent yet, of one task or of all."""
        self._count, found = self._live.since(self._count)
        return [frame for task, frame in found if task_id in (None, task)]


def _frame(call: LiveCall, keep: int, appends: bool, parts: tuple[WrittenPart, ...]) -> bytes:
    end = str(call.end) if call.end else None
    told = Writing.from_values(call, end=end, keep=keep, appends=appends, parts=parts)
    return f"event: writing\ndata: {told.model_dump_json()}\n\n".encode()


def _parts(call: LiveCall, before: _Shown | None, mask: Mask) -> tuple[WrittenPart, ...]:
    """Return the parts of a call that may be shown; what was masked already and did not grow is not masked again."""
    whole_before = list(zip(before.of.parts, before.parts, strict=True))[:-1] if before else []
    last = len(call.parts) - 1 if call.end is None else None
    shown = list[WrittenPart]()
    for number, part in enumerate(call.parts):
        known = whole_before[number] if number < len(whole_before) else None
        shown.append(known[1] if known and known[0] == part else _written(part, mask, open=number == last))
    return tuple(shown)


def _written(part: LivePart, mask: Mask, *, open: bool) -> WrittenPart:  # noqa: A002 - the word for it
    text = whole(part.text, mask)
    if open and (word := _WORD.match(text[: -LONGEST_WORD - 1 : -1])):  # backwards, for that takes linear time
        text = text[: len(text) - word.end()]
    return WrittenPart(tool=whole(part.tool, mask), text=text, is_thought=part.is_thought)


def _difference(
    before: tuple[WrittenPart, ...], now: tuple[WrittenPart, ...]
) -> tuple[int, bool, tuple[WrittenPart, ...]]:
    """Compare parts: the number that still holds, whether the last of them goes on, and the new parts."""
    keep = next((n for n, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), None)
    if keep is None:
        keep = min(len(before), len(now))
        return keep, False, now[keep:]
    old, new = before[keep], now[keep]
    if keep == len(before) - 1 and new.model_copy(update={"text": old.text}) == old and new.text.startswith(old.text):
        more = new.model_copy(update={"text": new.text[len(old.text) :]})
        return keep + 1, True, (more, *now[keep + 1 :])
    return keep, False, now[keep:]


def _waker(woken: asyncio.Event) -> Callable[[], None]:
    """A callback for the workers' thread."""
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed
            loop.call_soon_threadsafe(woken.set)

    return wake
