"""Verifies commits on request, one at a time, with progress, cancellation and stored results.

A verification is a task on the workers' event loop. There is one slot for it, so that however many requests come, it
needs only one sandbox in addition to those of the workers. The server's threads read its progress. Its result is stored
as an event of the commit's task, so the result survives a restart, and pages receive it over the stream.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nightshift.attempt.verify import Check, Judgement, Report, Standing, Verification, report_unchecked
from nightshift.core.clock import Clock, Moment
from nightshift.core.errors import NightshiftError, NotVerified
from nightshift.core.events import Event, Kind, Level, VerifiedData
from nightshift.storage.db.event_log import EventFilter, EventLog
from nightshift.storage.db.state_store import Commit

KEPT_CHECKS = 24
KEPT_CHARS = 200
"""Maximum number of characters of a check's detail. Many checks must fit into one event, which holds 8 KB."""
_LOOKED_AT = 50

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """A running verification, with its current activity (`doing`) and the checks so far."""

    commit: str
    task_id: int
    since: Moment
    doing: str = "waits for the workers' loop"
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result of a verification: the judgement, its reason, and the seconds since the request (`took_s`)."""

    commit: str
    judgement: Judgement
    sentence: str
    at: Moment
    took_s: float
    checks: tuple[Check, ...]


class Verifying:
    """The slot for the one verification that may run; its methods may be called from any thread.

    Args:
        opened: returns the verification of a repository, given the repository's path in the ledger.
        events: receives the beginning and the end of each verification.
        loop: the workers' event loop.
        clock: gives the times of the verifications.
    """

    def __init__(
        self,
        opened: Callable[[str], Verification],
        events: EventLog,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
    ) -> None:
        self._opened, self._events, self._loop, self._clock = opened, events, loop, clock
        self._lock = threading.Lock()
        self._now: UnderWay | None = None
        self._ended: Verified | None = None
        self._task: asyncio.Task[Report] | None = None

    def begin(self, entry: Commit) -> None:
        """Begin to verify a commit; does nothing if that commit is already being verified.

        Raises:
            NotVerified: another commit is being verified.
        """
        with self._lock:
            if self._now is not None:
                if self._now.commit == entry.commit:
                    return
                busy = f"commit {self._now.commit[:10]} of task {self._now.task_id}"
                raise NotVerified(f"{busy} is being verified, and only one can be at a time; wait, or cancel that")
            self._now = UnderWay(commit=entry.commit, task_id=entry.task_id, since=self._clock())
        self._tell(Kind.VERIFY_STARTED, f"verifies commit {entry.commit[:10]} again", entry, {"commit": entry.commit})
        self._loop.call_soon_threadsafe(self._start, entry)

    def cancel(self, entry: Commit) -> None:
        """Cancel the verification of a commit; the result of an earlier verification is kept.

        Raises:
            NotVerified: the commit is not being verified.
        """
        with self._lock:
            if self._now is None or self._now.commit != entry.commit:
                raise NotVerified(f"commit {entry.commit[:10]} is not being verified, so there is nothing to cancel")
        self._loop.call_soon_threadsafe(self._stop, entry.commit)

    def standing(self, entry: Commit) -> tuple[UnderWay | None, Verified | None]:
        """Return the running verification, whatever its commit, and this commit's last result; each is None if missing.

        A cancelled verification does not replace the previous result.
        """
        return self._now, self._last(entry)

    def stop(self) -> None:
        """Cancel the verification that runs or is about to start, because the daemon ends."""
        self._loop.call_soon_threadsafe(self._stop, None)

    def _last(self, entry: Commit) -> Verified | None:
        ended = self._ended
        if ended is not None and ended.commit == entry.commit:
            return ended
        events = self._events.last(_LOOKED_AT, EventFilter(task_id=entry.task_id, kind=Kind.VERIFIED))
        matching = (event for event in reversed(events) if event.data.get("commit") == entry.commit)
        return next(map(_read_verified, matching), None)

    def _start(self, entry: Commit) -> None:
        self._task = self._loop.create_task(self._opened(entry.repo).verify(entry.commit, self._progress))
        self._task.add_done_callback(lambda task: self._conclude(task, entry))

    def _stop(self, commit: str | None) -> None:
        """Cancel the running verification if it is of this commit; of any commit if `commit` is None."""
        if self._task is not None and self._now is not None and commit in {None, self._now.commit}:
            self._task.cancel()

    def _progress(self, doing: str, checks: tuple[Check, ...]) -> None:
        with self._lock:
            if self._now is not None:
                self._now = replace(self._now, doing=doing, checks=checks)

    def _conclude(self, task: asyncio.Task[Report], entry: Commit) -> None:
        assert self._now is not None
        self._task = None
        if task.cancelled():
            self._now = None
            text = f"the verification of commit {entry.commit[:10]} was cancelled"
            self._tell(Kind.VERIFY_CANCELLED, text, entry, {"commit": entry.commit})
            return
        ended = self._outcome(task, entry, self._now.since)
        with self._lock:
            self._now, self._ended = None, ended
        level = Level.WARNING if ended.judgement is Judgement.BROKEN else Level.INFO
        self._tell(
            Kind.VERIFIED, f"commit {entry.commit[:10]} verified again: {ended.sentence}", entry, _data(ended), level
        )

    def _outcome(self, task: asyncio.Task[Report], entry: Commit, since: datetime) -> Verified:
        at = self._clock()
        took_s = (at - since).total_seconds()
        error = task.exception()
        if error is None:
            report = task.result()
            return Verified(
                commit=entry.commit, judgement=report.judgement, sentence=report.sentence, at=at, took_s=took_s,
                checks=tuple(map(_shorten, report.checks[:KEPT_CHECKS])),
            )  # fmt: skip
        if not isinstance(error, NightshiftError | OSError):
            log.error("a verification failed", exc_info=error)
        check = report_unchecked("commit", str(error) or type(error).__name__)
        return Verified(
            commit=entry.commit, judgement=Judgement.UNKNOWN, sentence=f"{Judgement.UNKNOWN}: {check.detail}", at=at,
            took_s=took_s, checks=(_shorten(check),),
        )  # fmt: skip

    def _tell(
        self, kind: Kind, message: str, entry: Commit, data: Mapping[str, Any], level: Level = Level.INFO
    ) -> None:
        self._events.emit(Event(kind=kind, level=level, message=message, task_id=entry.task_id, data=data))


def _shorten(check: Check) -> Check:
    return replace(check, detail=_short(check.detail))


def _data(ended: Verified) -> VerifiedData:
    """Return the event data of a result, which `_read_verified` reads again."""
    return {
        "commit": ended.commit,
        "judgement": ended.judgement,
        "sentence": _short(ended.sentence),
        "took_s": round(ended.took_s, 3),
        "checks": [[check.what, check.standing, check.detail] for check in ended.checks],
    }


def _short(text: str) -> str:
    return text if len(text) <= KEPT_CHARS else f"{text[: KEPT_CHARS - 1]}…"


def _read_verified(event: Event) -> Verified:
    assert event.at is not None
    data = event.data
    return Verified(
        commit=data["commit"],
        judgement=Judgement(data["judgement"]),
        sentence=data["sentence"],
        at=event.at,
        took_s=data["took_s"],
        checks=tuple(Check(what=a, standing=Standing(b), detail=c) for a, b, c in data["checks"]),
    )
