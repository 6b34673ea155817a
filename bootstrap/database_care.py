"""What an owner is told of the database: that it takes no writes, that it does again, that it was restored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from bootstrap.store import Store
from core.clock import from_text
from core.errors import StoreFull
from core.events import Event, Kind, Level
from db.restore import KEY
from db.write_failures import WriteFailure

NOTICE_DAYS = 7.0
"""For how long the status tells of a restore; the log tells of it for ever."""

log = logging.getLogger("nightshift")


def watch_database(store: Store, damaged: Callable[[], object]) -> None:
    """Report write failures, on standard error while they last, and call `damaged` for one that will not pass.

    `damaged` is called on the writer's thread.
    """

    def tell(failure: WriteFailure) -> None:
        if failure.damage:
            log.error("%s; the daemon stops, and restores the database when it starts again", failure.error)
            damaged()
        elif not failure.over:
            log.error(
                "%s; nothing is begun, and nothing is lost: everything waits until it can be written", failure.error
            )
        else:
            kind = Kind.DISK_LOW if isinstance(failure.error, StoreFull) else Kind.WORKER_ERROR
            text = f"for {failure.lasted_s:.0f} s nothing could be written, now it goes on: {failure.error}"
            store.events.emit(Event(kind=kind, level=Level.WARNING, message=text))
            log.warning("%s", text)

    store.db.on_write_failure(tell)


def notices(store: Store, now: datetime) -> tuple[str, ...]:
    """Sentences for the status."""
    return tuple(_notices(store, now))


def _notices(store: Store, now: datetime) -> Iterator[str]:
    if failure := store.db.write_failure:
        yield f"For {failure.lasted_s:.0f} s nothing can be written: {failure.error}. Tasks wait, and go on then."
    restored = store.state.get(KEY)
    if restored and abs(now - from_text(restored["at"])) < timedelta(days=NOTICE_DAYS):
        yield restored["told"]
