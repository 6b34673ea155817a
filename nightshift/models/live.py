"""The replies that models are writing now: one entry for each running call, removed when the call ends.

Nothing is stored in this module; complete replies are stored by the gateway. Entries are written on the workers' loop
and may be read from any thread. Calls outside a task are not shown. Texts are exactly as the model wrote them. A viewer
must mask a text as a whole before display, since a secret may be split across pieces.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from nightshift.core.clock import Clock, utc_now
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.gauge import utf8_size
from nightshift.core.tasks.states import Phase
from nightshift.models.base import BaseModelHandler, CallName, CallText, ThoughtText
from nightshift.models.thought_tags import split_thoughts

SHOWN_CHARS = 16_000
"""Number of characters to which a longer reply is shortened. Its end is kept: at least this many, at most twice as
many.
"""
MOST_ENDED = 50
"""Number of ended calls that are kept for a slow reader."""
_KEY_BEGINS, _KEY_ENDS, _LONGEST_KEY = "-----BEGIN ", "-----END ", 8000
_SPACE = re.compile(r"\s")


class CallEnd(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePart:
    """A part of a reply: text, thoughts, or the arguments of a call of `tool` (possibly incomplete JSON)."""

    text: str = ""
    tool: str = ""
    is_thought: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCall:
    """A snapshot of one call.

    Attributes:
        call: unique number; another try of the same request gets another number.
        began_at: when the model was asked.
        thinks: True after the first sign of life, even if there is no text yet.
        parts: the parts written so far, in order.
        cut: True if the beginning of the reply is not shown.
        tokens: number of tokens written.
        estimated: True if `tokens` is an estimate. It is one until the backend has counted the tokens.
        writing_s: seconds from the first sign of life to the last one.
        end: how the call ended; None while it is running.
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
    """The reply of one call while it is written, used by the code that makes the call.

    Attributes:
        bytes: size so far in bytes, including calls and thoughts.
    """

    def __init__(self, calls: LiveCalls, first: LiveCall, bytes_per_token: float) -> None:
        self._calls, self._first, self._bytes_per_token = calls, first, bytes_per_token
        self._pieces: list[str] = []
        self.bytes = 0
        self._first_s: float | None = None
        self._last_s = 0.0

    def take(self, piece: str) -> None:
        """Add a piece of the reply, in the form of `models.base.OnText`."""
        self._last_s = time.monotonic()
        self._first_s = self._first_s or self._last_s
        if piece:
            self._pieces.append(piece)
            self.bytes += utf8_size(piece)
        self._calls.note_change(self._first.call)

    def text_of(self, kind: type[str]) -> str:
        """Return the text of one kind that was received so far: visible text (`str`) or thoughts (`ThoughtText`)."""
        return "".join(piece for piece in self._pieces if _kind(piece) is kind)

    def end(self, completion: Completion | None) -> None:
        """End the call. `completion` is its reply, or None if the call failed."""
        ended = replace(self.now(), end=CallEnd.BROKEN)
        if completion:
            is_estimated = bool(completion.extra.get("estimated"))
            ended = replace(ended, end=CallEnd.ANSWERED, tokens=completion.tokens_out, estimated=is_estimated)
        self._calls.remove(ended)

    def now(self) -> LiveCall:
        """Return a snapshot of the call; may be called from any thread."""
        first_s, parts = self._first_s, [shown for part in _join(self._pieces[:]) for shown in _split(part)]
        parts, is_cut = _cut(parts)
        return replace(
            self._first,
            thinks=first_s is not None,
            parts=tuple(parts),
            cut=is_cut,
            tokens=round(self.bytes / self._bytes_per_token),
            writing_s=0.0 if first_s is None else self._last_s - first_s,
        )


def _kind(piece: str) -> type[str]:
    return next(kind for kind in (CallText, ThoughtText, str) if isinstance(piece, kind))


def _join(pieces: Iterable[str]) -> list[LivePart]:
    """Join adjacent pieces of one kind; the name of a call begins a new part."""
    runs = list[list[str]]()
    for piece in pieces:
        if not runs or isinstance(piece, CallName) or _kind(piece) is not _kind(runs[-1][0]):
            runs.append([])
        runs[-1].append(piece)
    parts = list[LivePart]()
    for first, *rest in runs:
        name, text = (str(first), "".join(rest)) if isinstance(first, CallName) else ("tool", "".join([first, *rest]))
        kind = _kind(first)
        parts.append(LivePart(text=text, tool=name if kind is CallText else "", is_thought=kind is ThoughtText))
    return parts


def _cut(parts: list[LivePart]) -> tuple[list[LivePart], bool]:
    """Drop the beginning of a long reply. Text is dropped in large steps, so that the visible part rarely shifts."""
    chars = sum(len(part.text) + len(part.tool) for part in parts)
    dropped = max(0, chars // SHOWN_CHARS - 1) * SHOWN_CHARS
    is_cut = dropped > 0
    while parts and dropped >= (size := len(parts[0].text) + len(parts[0].tool)):
        dropped, parts = dropped - size, parts[1:]
    if is_cut and parts:
        first = parts[0]
        parts = [replace(first, text=first.text[_cut_at(first.text, dropped) :]), *parts[1:]]
    return parts, is_cut


def _split(part: LivePart) -> Iterator[LivePart]:
    """Split a part into the thoughts within its text and the remaining text."""
    thoughts, text = ("", part.text) if part.tool or part.is_thought else split_thoughts(part.text)
    if thoughts:
        yield LivePart(text=thoughts, is_thought=True)
    if text or not thoughts:
        yield replace(part, text=text)


def _cut_at(text: str, chars: int) -> int:
    """Return a position near `chars` where the text can be cut without separating a secret from its prefix."""
    key = text.rfind(_KEY_BEGINS, 0, chars)
    if key >= 0 and chars - key < _LONGEST_KEY and _KEY_ENDS not in text[key:chars]:
        return key
    space = _SPACE.search(text, chars, chars + SHOWN_CHARS // 2)
    return space.end() if space else chars


class LiveCalls:
    """All running calls.

    Args:
        clock: returns the time at which a call begins.
    """

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._lock, self._numbers = threading.Lock(), itertools.count(1)
        self._open: dict[int, LiveText] = {}
        self._changed: set[int] = set()
        self._ended: deque[LiveCall] = deque(maxlen=MOST_ENDED)
        self._watchers: tuple[Callable[[], None], ...] = ()

    def begin(self, request: ModelRequest, backend: BaseModelHandler) -> LiveText:
        """Begin a call, and show it to watchers if it belongs to a task."""
        first = LiveCall(
            call=next(self._numbers),
            task_id=request.task_id or 0,
            attempt=request.attempt,
            step_no=request.step_no,
            call_no=request.call_no,
            phase=request.phase,
            backend=backend.name,
            model=backend.model,
            began_at=self._clock(),
        )
        text = LiveText(self, first, backend.token_estimator.bytes_per_token)
        if request.task_id is not None:
            with self._lock:
                self._open[first.call] = text
            self.note_change(first.call)
        return text

    def note_change(self, call: int) -> None:
        """Record that a call has changed. Watchers are woken only once until they read the changes."""
        with self._lock:
            is_watched = bool(self._watchers) and call in self._open
            wakes = is_watched and not self._changed
            if is_watched:
                self._changed.add(call)
        if wakes:
            self._wake()

    def remove(self, ended: LiveCall) -> None:
        """Remove a call that has ended. Watchers get its last snapshot, which says how it ended."""
        with self._lock:
            if self._open.pop(ended.call, None) and self._watchers:
                self._ended.append(ended)
        self._wake()

    def _wake(self) -> None:
        for watcher in self._watchers:
            watcher()

    def open(self) -> list[LiveCall]:
        """List all running calls, the oldest first."""
        with self._lock:
            return [text.now() for text in self._open.values()]

    def news(self) -> list[LiveCall]:
        """Return the calls that changed or ended since the last call of this method.

        Only one watcher may use the method.
        """
        with self._lock:
            changed = [text.now() for call, text in self._open.items() if call in self._changed]
            news = [*self._ended, *changed]
            self._changed.clear()
            self._ended.clear()
        return news

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake`, from any thread, whenever there are changes; return a function that stops this."""
        with self._lock:
            self._watchers += (wake,)

        def end() -> None:
            with self._lock:
                self._watchers = tuple(each for each in self._watchers if each is not wake)
                if not self._watchers:
                    self._changed.clear()
                    self._ended.clear()

        return end
