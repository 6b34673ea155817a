"""What models write just now: one entry for each call under way, for whoever watches; it is gone with the call.

Nothing of it is stored: the reply is, once it is whole. So what is kept of a call is bounded, and where nobody watches
it costs a few bytes a call. Calls are written to on the workers' loop and read from any thread. Texts are as the model
wrote them: whoever shows them masks them first, and does that over all that was kept, for a secret may come in pieces.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from nightshift.core.clock import Clock, utc_now
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.gauge import utf8_size
from nightshift.core.tasks.states import Phase
from nightshift.models.base import BaseModelHandler, CallName, CallText, ThoughtText
from nightshift.models.thought_tags import open_tag, split_thoughts

KEPT_CHARS = 16_000
"""Of a longer reply at least so much of its end is kept, and at most twice as much."""
MOST_ENDED = 50
"""So many calls that ended are kept for a reader that is slow."""
_KEY_BEGINS, _KEY_ENDS, _LONGEST_KEY = "-----BEGIN ", "-----END ", 8000
_SPACE = re.compile(r"\s")


class CallEnd(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePart:
    """A stretch of a reply: its text, thoughts, or the arguments of a call of `tool`, JSON as far as it was written."""

    text: str = ""
    tool: str = ""
    is_thought: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCall:
    """One call as it stands.

    Attributes:
        call: a number of its own; the next try of the same request has another one.
        began_at: when the model was asked.
        thinks: it gave a sign of life, though it may have written nothing yet.
        parts: what was written, in order.
        cut: the beginning is not kept any more.
        tokens: how many it wrote.
        estimated: `tokens` are an estimate, as they are until the backend has counted.
        writing_s: seconds from the first sign of life to the last one.
        end: None while it goes on.
    """

    call: int
    task_id: int
    attempt: int
    step_no: int
    call_no: int
    phase: Phase
    backend: str
    model: str
    began_at: datetime
    thinks: bool = False
    parts: tuple[LivePart, ...] = ()
    cut: bool = False
    tokens: int = 0
    estimated: bool = True
    writing_s: float = 0.0
    end: CallEnd | None = None


class LiveText:
    """One call while it lasts, for the one who makes it."""

    def __init__(self, calls: LiveCalls, first: LiveCall, bytes_per_token: float) -> None:
        self._calls, self._known, self._bytes_per_token = calls, first, bytes_per_token
        self._parts: list[LivePart] = []
        self._bytes = self._chars = 0
        self._first_s: float | None = None
        self._last_s = 0.0

    def take(self, piece: str) -> None:
        """Add a piece, as it comes to `models.base.OnText`."""
        self._last_s = time.monotonic()
        if self._first_s is None:
            self._first_s = self._last_s
        if piece:
            self._add(piece)
            self._bytes += utf8_size(piece)
        self._calls.changed(self._known.call)

    def _add(self, piece: str) -> None:
        last = self._parts[-1] if self._parts else None
        kind = (isinstance(piece, CallText), isinstance(piece, ThoughtText))
        if isinstance(piece, CallName):
            self._parts.append(LivePart(tool=str(piece)))
        elif last is not None and (bool(last.tool), last.is_thought) == kind:
            self._parts[-1] = replace(last, text=last.text + piece)
        else:
            self._parts.append(LivePart(text=str(piece), tool="tool" if kind[0] else "", is_thought=kind[1]))
        self._chars += len(piece)
        if self._chars > 2 * KEPT_CHARS:
            self._drop(self._chars - KEPT_CHARS)

    def _drop(self, chars: int) -> None:
        """Drop so much of the beginning."""
        self._known, self._chars = replace(self._known, cut=True), self._chars - chars
        while self._parts and chars >= (size := len(self._parts[0].text) + len(self._parts[0].tool)):
            chars -= size
            self._parts.pop(0)
        if self._parts:
            text, cut = self._parts[0].text, _cut_at(self._parts[0].text, chars)
            self._parts[0] = replace(self._parts[0], text=open_tag(text[:cut]) + text[cut:])

    def end(self, completion: Completion | None) -> None:
        """End it, with the reply or without one."""
        self._calls.remove(self._ended(completion))

    def _ended(self, completion: Completion | None) -> LiveCall:
        if completion is None:
            return replace(self.now(), end=CallEnd.BROKEN)
        estimated = bool(completion.extra.get("estimated"))
        return replace(self.now(), end=CallEnd.ANSWERED, tokens=completion.tokens_out, estimated=estimated)

    def now(self) -> LiveCall:
        """The call as it stands; may be called from any thread."""
        first_s = self._first_s
        return replace(
            self._known,
            thinks=first_s is not None,
            parts=tuple(shown for part in self._parts for shown in _split(part)),
            tokens=round(self._bytes / self._bytes_per_token),
            writing_s=0.0 if first_s is None else self._last_s - first_s,
        )


def _split(part: LivePart) -> Iterator[LivePart]:
    """A part with the thoughts that stand in its text apart."""
    thoughts, text = ("", part.text) if part.tool or part.is_thought else split_thoughts(part.text)
    if thoughts:
        yield LivePart(text=thoughts, is_thought=True)
    if text or not thoughts:
        yield replace(part, text=text)


def _cut_at(text: str, chars: int) -> int:
    """Where a beginning of about so many characters can be dropped so that no secret loses what tells it as one."""
    key = text.rfind(_KEY_BEGINS, 0, chars)
    if key >= 0 and chars - key < _LONGEST_KEY and _KEY_ENDS not in text[key:chars]:
        return key
    space = _SPACE.search(text, chars, chars + KEPT_CHARS // 2)
    return space.end() if space else chars


class LiveCalls:
    """All calls under way.

    Args:
        clock: dates them.
    """

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._lock, self._numbers = threading.Lock(), itertools.count(1)
        self._open: dict[int, LiveText] = {}
        self._changed: set[int] = set()
        self._ended: deque[LiveCall] = deque(maxlen=MOST_ENDED)
        self._watchers: tuple[Callable[[], None], ...] = ()

    def begin(self, request: ModelRequest, backend: BaseModelHandler) -> LiveText | None:
        """A call that begins; None for one outside of any task, which nobody watches."""
        if request.task_id is None:
            return None
        first = LiveCall(
            call=next(self._numbers),
            task_id=request.task_id,
            attempt=request.attempt,
            step_no=request.step_no,
            call_no=request.call_no,
            phase=request.phase,
            backend=backend.name,
            model=backend.model,
            began_at=self._clock(),
        )
        text = LiveText(self, first, backend.token_estimator.bytes_per_token)
        with self._lock:
            self._open[first.call] = text
        self.changed(first.call)
        return text

    def changed(self, call: int) -> None:
        """Note that a call has news, and wake who watches once for all that come until he looks."""
        with self._lock:
            wakes = not self._changed and bool(self._watchers)
            if self._watchers:
                self._changed.add(call)
        if wakes:
            self._wake()

    def remove(self, ended: LiveCall) -> None:
        """Forget a call that ended; who watches is told how it ended."""
        with self._lock:
            self._open.pop(ended.call, None)
            if self._watchers:
                self._ended.append(ended)
        self._wake()

    def _wake(self) -> None:
        for watcher in self._watchers:
            watcher()

    def open(self) -> list[LiveCall]:
        """All calls under way, the oldest first."""
        with self._lock:
            return [text.now() for text in self._open.values()]

    def news(self) -> list[LiveCall]:
        """The calls that changed or ended since this was asked last; for the one who watches."""
        with self._lock:
            changed = [text.now() for call, text in self._open.items() if call in self._changed]
            found = [*self._ended, *changed]
            self._changed.clear()
            self._ended.clear()
        return found

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake`, in whatever thread, when there is news; what is returned ends that."""
        with self._lock:
            self._watchers += (wake,)

        def end() -> None:
            with self._lock:
                self._watchers = tuple(each for each in self._watchers if each is not wake)
                if not self._watchers:
                    self._changed.clear()
                    self._ended.clear()

        return end
