"""The undelivered notices, in one queue for each channel, kept over restarts.

After a failed delivery, all notices of the queue wait, longer after each failure. So a receiver that cannot be reached
is tried once, and not once for each notice. A failed notice goes to the end of the queue, so a notice that is always
refused does not block the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from nightshift.maintenance.notify.notices import Notice, digest
from nightshift.storage.db.codec import from_json_value

FIRST_REST_S, LONGEST_REST_S = 60.0, 3600.0
MAX_TRIES = 76
"""Number of tries after which a notice is dropped. With an hour between tries, this is three days."""
MAX_WAITING = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A notice, and the number of its failed tries."""

    notice: Notice
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelQueue:
    """The undelivered notices of one channel, the next one first.

    `rests_until` is None while the queue does not rest.
    """

    waiting: tuple[Waiting, ...] = ()
    failures: int = 0
    rests_until: datetime | None = None

    def rests(self, now: datetime) -> bool:
        """Check whether the queue still rests after a failed delivery.

        A rest that would last longer than `LONGEST_REST_S` counts as over, because the clock must have been set back.
        """
        until = self.rests_until
        return until is not None and now < until <= now + timedelta(seconds=LONGEST_REST_S)

    def with_notice(self, notice: Notice) -> ChannelQueue:
        """Add a notice. If more than `MAX_WAITING` are waiting, merge those never sent into one digest."""
        return replace(self, waiting=(*self.waiting, Waiting(notice=notice))).merge(MAX_WAITING)

    def merge(self, most: int) -> ChannelQueue:
        """Limit the notices to `most`: if there are more, all untried ones become one digest.

        A notice that was tried may have arrived, and keeps its id so that its receiver can recognise it.
        """
        untried = [each.notice for each in self.waiting if not each.tries]
        if len(self.waiting) <= most or len(untried) < 2:
            return self
        tried = tuple(each for each in self.waiting if each.tries)
        return replace(self, waiting=(*tried[-most:], Waiting(notice=digest(untried))))

    def remove_delivered(self) -> ChannelQueue:
        """Remove the next notice, which arrived."""
        return ChannelQueue(waiting=self.waiting[1:])

    def postpone_failed(self, now: datetime) -> ChannelQueue:
        """Move the next notice, whose delivery failed, to the end, and let the queue rest.

        After `MAX_TRIES` failures the notice is dropped instead.
        """
        head, *rest = self.waiting
        again = replace(head, tries=head.tries + 1)
        rest_s = min(LONGEST_REST_S, FIRST_REST_S * 2.0 ** min(self.failures, 30))
        return ChannelQueue(
            waiting=(*rest, *([again] if again.tries < MAX_TRIES else [])),
            failures=self.failures + 1,
            rests_until=now + timedelta(seconds=rest_s),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """All queues by channel, and the id of the last event that was read."""

    cursor: int
    queues: Mapping[str, ChannelQueue] = field(default_factory=dict)


def read_outbox(row: Mapping[str, Any]) -> Outbox:
    """Parse a stored outbox. Version 0.2.0 and earlier ones called the queues lanes."""
    return from_json_value(Outbox, {"queues": row.get("lanes", {}), **row})
