"""Opens the database and the services that use it, closes them in the right order, and reports database failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.config.load import Settings
from nightshift.core.clock import Clock, from_text, utc_now
from nightshift.core.errors import StoreDamaged, StoreFull
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.text.formats import duration
from nightshift.core.text.masking import Masker
from nightshift.queue.manager import QueueManager, RetryPolicy
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.file_log import FileLog
from nightshift.storage.db.recovery import KEY, doubt, ensure_sound, find_faults
from nightshift.storage.db.state_store import WORKSPACE, StateStore
from nightshift.storage.db.step_store import StepStore
from nightshift.storage.db.tool_store import ToolStore
from nightshift.storage.db.write_failures import WriteFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreServices:
    """The database and the services that use it.

    Attributes:
        db: the connections, and the only writer.
        events: the event log.
        mask: masks secrets in texts.
        steps: finished steps of attempts, with the replies of models.
        tools: results of the tool calls in those replies.
        state: small values that survive a restart.
        queue: tasks and their transitions.
        file_log: copies events into a rotating file.
        is_checked: True if the whole database was checked at the start; a large database is checked later.
    """

    db: Database
    events: EventLog
    mask: Masker
    steps: StepStore
    tools: ToolStore
    state: StateStore
    queue: QueueManager
    file_log: FileLog
    is_checked: bool

    def prepare_reload(self, settings: Settings) -> Callable[[], None]:
        """Prepare the change to new settings (an `app.reload.ReloadHook`)."""

        def apply() -> None:
            self.mask.learn(settings.secrets)
            self.queue.policy = _retries(settings)
            _renew_log(self.file_log, settings)

        return apply


def open_store(settings: Settings, stack: ExitStack, clock: Clock = utc_now) -> StoreServices:
    """Open the database of a home, and restore it from a backup if it is damaged; `stack` closes it.

    The caller must hold the instance lock.

    Raises:
        StoreError: the database is newer than this version, cannot be opened, or can neither be used nor restored.
    """
    checked = ensure_sound(settings.db_path, settings.backups_dir, settings.log_file, clock())
    db = stack.enter_context(Database(settings.db_path))
    mask = Masker(settings.secrets)
    events = EventLog(db, clock, mask)
    emitter = Emitter(events.emit)
    file_log = FileLog(
        settings.log_file,
        clock=clock,
        report=lambda text: emitter.emit(Kind.WORKER_ERROR, text, level=Level.ERROR),
    )
    _renew_log(file_log, settings)
    stack.callback(file_log.close)
    stack.callback(events.subscribe(file_log))
    state, workspace = StateStore(db, clock=clock, events=events), str(settings.workspace.resolve())
    if state.get(WORKSPACE) != workspace:
        state.set(WORKSPACE, workspace).result()
    return StoreServices(
        db=db,
        events=events,
        mask=mask,
        steps=StepStore(db, events, clock=clock, mask=mask),
        tools=ToolStore(db, events, clock=clock, mask=mask),
        state=state,
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
        is_checked=checked.is_complete,
    )


def _renew_log(file_log: FileLog, settings: Settings) -> None:
    file_log.renew(
        level=Level(settings.log_level),
        max_bytes=settings.log_max_mb << 20,
        backups=settings.log_keep,
        days=settings.log_days,
    )


def _retries(settings: Settings) -> RetryPolicy:
    return RetryPolicy(attempts=settings.max_retries, base_s=settings.retry_base_s)


NOTICE_DAYS = 7.0
"""Days for which the status mentions that the database was restored; the log mentions it permanently."""

log = logging.getLogger("nightshift")


def watch_database(store: StoreServices, damaged: Callable[[], object]) -> None:
    """Report write failures: to the log while the database cannot be written, and as an event when it can be again.

    If the database is damaged, `damaged` is called on the writer's thread.
    """

    def report(trouble: WriteFailure) -> None:
        if trouble.damage:
            doubt(store.db.path)
            log.error("%s; the daemon stops, and restores the database when it starts again", trouble.error)
            damaged()
        elif not trouble.over:
            log.error(
                "%s; nothing is started, and nothing is lost: everything waits until it can be written", trouble.error
            )
        else:
            kind = Kind.DISK_LOW if isinstance(trouble.error, StoreFull) else Kind.WORKER_ERROR
            text = f"for {duration(trouble.lasted_s)} nothing could be written, now it works again: {trouble.error}"
            Emitter(store.events.emit).emit(kind, text, level=Level.WARNING)
            log.warning("%s", text)

    store.db.on_write_failure(report)


async def check_all(store: StoreServices) -> None:
    """Check the whole database while it is in use; damage that is found here also ends the daemon."""
    if faults := await asyncio.to_thread(find_faults, store.db.path):
        store.db.note_damage(StoreDamaged(f"{store.db.path}: the database is damaged ({faults[0]})"))


def notices(store: StoreServices, now: datetime) -> tuple[str, ...]:
    """Return sentences about the database for the status."""
    return tuple(_notices(store, now))


def _notices(store: StoreServices, now: datetime) -> Iterator[str]:
    if trouble := store.db.write_failure:
        yield f"For {duration(trouble.lasted_s)} nothing can be written: {trouble.error}. Tasks wait until it works."
    restored = store.state.get(KEY)
    if restored and abs(now - from_text(restored["at"])) < timedelta(days=NOTICE_DAYS):
        yield restored["told"]
