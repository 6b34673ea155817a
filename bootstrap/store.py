"""Everything that stands on the database, opened once and closed in the right order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypedDict

from config import Settings
from core.clock import Clock, utc_now
from core.events import Event, Kind, Level
from core.masking import Masker
from db.database import Database
from db.event_log import EventLog
from db.file_log import FileLog
from db.integrity import stopped_cleanly
from db.opening import ensure_sound
from db.state_store import StateStore
from db.step_store import StepStore
from queue_manager import QueueManager, RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The database and the rooms that speak to it."""

    db: Database
    events: EventLog
    mask: Masker
    steps: StepStore
    state: StateStore
    queue: QueueManager
    file_log: FileLog

    def take(self, settings: Settings) -> Callable[[], None]:
        """Go on under other settings (an `bootstrap.reload.Taker`)."""

        def put() -> None:
            self.mask.learn(settings.secrets)
            self.queue.policy = _retries(settings)
            self.file_log.renew(**_limits(settings))

        return put


def open_store(settings: Settings, stack: ExitStack, clock: Clock = utc_now) -> Store:
    """Open the database of a home, restored where it is damaged; `stack` closes it. Only under the instance lock.

    Raises:
        StoreError: it is newer than this version, cannot be opened, or can neither be used nor restored.
    """
    looked = ensure_sound(settings.db_path, settings.backups_dir, settings.log_file, clock())

    def note_a_clean_stop(error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            stopped_cleanly(settings.db_path, looked.looked_at)

    stack.push(note_a_clean_stop)
    db = stack.enter_context(Database(settings.db_path))
    mask = Masker(settings.secrets)
    events = EventLog(db, clock, mask)
    file_log = _file_log(settings, events, clock)
    stack.callback(file_log.close)
    stack.callback(events.subscribe(file_log))
    return Store(
        db=db,
        events=events,
        mask=mask,
        steps=StepStore(db, events, clock=clock, mask=mask),
        state=StateStore(db, clock=clock),
        queue=QueueManager(
            db,
            events,
            clock=clock,
            mask=mask,
            retry=_retries(settings),
            lease_s=settings.lease_s,
            max_crashes=5,
        ),
        file_log=file_log,
    )


def _file_log(settings: Settings, events: EventLog, clock: Clock) -> FileLog:
    def tell(text: str) -> None:
        events.emit(Event(kind=Kind.WORKER_ERROR, level=Level.ERROR, message=text))

    return FileLog(
        settings.log_file,
        **_limits(settings),
        clock=clock,
        tell=tell,
    )


class _Limits(TypedDict):
    """The arguments of a file log that may change while it is open."""

    level: Level
    max_bytes: int
    backups: int
    days: float


def _limits(settings: Settings) -> _Limits:
    return _Limits(
        level=Level(settings.log_level),
        max_bytes=settings.log_max_mb << 20,
        backups=settings.log_keep,
        days=settings.log_days,
    )


def _retries(settings: Settings) -> RetryPolicy:
    return RetryPolicy(attempts=settings.max_retries, base_s=settings.retry_base_s)
