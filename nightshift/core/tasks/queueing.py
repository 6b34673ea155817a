"""Results of the queue, pauses, and the delays between attempts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nightshift.core.clock import Moment
from nightshift.core.program import format_command
from nightshift.core.tasks.states import DaemonState, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The answer to a submission. `created` is False if a task with its key exists already.

    `differs` names the fields in which that task differs from the submission; `replaces` is the ended task that this
    one replaces.
    """

    task_id: int
    status: Status
    created: bool
    differs: tuple[str, ...] = ()
    replaces: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """News for a worker pool: the ids of tasks that it lost, and of tasks that the owner wants cancelled.

    `newest_messages` maps each task with an interrupting message of the owner to the id of the newest one.
    """

    lost: frozenset[int]
    cancelled: frozenset[int]
    newest_messages: Mapping[int, int] = field(default_factory=dict)


# Prefix of the reason of a task that waits for something outside it.
WAITING_FOR = "waiting for: "
# Text before the cause, in the reason of a task whose commit exists only locally.
NOT_PUSHED = "; not pushed: "


class PauseSource(StrEnum):
    """Sources of pauses. The owner ends the first two (`resume`); the others end with their cause.

    `lifted_by` describes for people what ends each pause.
    """

    OWNER = "owner"
    CHECKPOINT = "checkpoint"
    REVIEW = "review"
    QUIET = "quiet"
    BATTERY = "battery"
    DISK = "disk"
    PROGRAM = "program"

    @property
    def lifted_by(self) -> str:
        """Condition under which tasks are started again, in the form that follows “It goes on”."""
        if self in BY_OWNER:
            return f"when you resume: `{format_command('resume')}`, or Resume on the dashboard"
        if self is PauseSource.REVIEW:
            listed, read = format_command("review"), format_command("review ID --read")
            return f"by itself, once you have read some: `{listed}`, then `{read}`, or `all`"
        return _LIFTED_BY[self]

    @property
    def label(self) -> str:
        """Display name of the pause."""
        return _LABELS[self]


_LIFTED_BY = {
    PauseSource.QUIET: "by itself, when the quiet hours are over",
    PauseSource.BATTERY: "by itself, when the machine is plugged in",
    PauseSource.DISK: "by itself, when there is room on the disk again",
    PauseSource.PROGRAM: "when the daemon is restarted",
}
_LABELS = {
    PauseSource.OWNER: "Paused by you",
    PauseSource.CHECKPOINT: "Paused: checkpoint",
    PauseSource.REVIEW: "Paused: commits to read",
    PauseSource.QUIET: "Paused: quiet hours",
    PauseSource.BATTERY: "Paused: on battery",
    PauseSource.DISK: "Paused: disk full",
    PauseSource.PROGRAM: "Paused: restart needed",
}
BY_OWNER = (PauseSource.OWNER, PauseSource.CHECKPOINT)
"""Pauses that `resume` ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseReason:
    """One reason why no task is started, with its display name `label`. `lifted_by` says what ends it.

    `until` is the time at which it ends, if that is known.
    """

    source: PauseSource
    reason: str
    since: Moment
    lifted_by: str
    label: str = ""
    until: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseState:
    """The reasons why no task is started, in the order of `PauseSource`; tasks are started if there are none."""

    reasons: tuple[PauseReason, ...] = ()

    @property
    def paused(self) -> bool:
        """True if no task is started."""
        return bool(self.reasons)

    @property
    def reason(self) -> str:
        """All reasons in one line."""
        return "; ".join(each.reason for each in self.reasons if each.reason)

    @property
    def since(self) -> Moment | None:
        """The time since which no task is started."""
        return min((each.since for each in self.reasons), default=None)

    @property
    def state(self) -> DaemonState:
        """State of a running daemon with these pauses."""
        if not self.reasons:
            return DaemonState.RUNNING
        return DaemonState.CHECKPOINT if self.has(PauseSource.CHECKPOINT) else DaemonState.PAUSED

    def has(self, source: PauseSource) -> bool:
        """Return True if this source pauses claims."""
        return any(each.source is source for each in self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Number of tries of a task, and the wait between them: “full jitter”.

    The wait after try n is uniform in [0, min(cap_s, base_s · 2^(n - 1))] seconds, after Marc Brooker, “Exponential
    Backoff And Jitter”, AWS Architecture Blog, 2015.
    """

    attempts: int = 3
    base_s: float = 10.0
    cap_s: float = 600.0
    rng: random.Random = field(default_factory=random.Random)

    def rest_s(self, tries: int) -> float:
        """Return the wait after `tries` tries, in seconds."""
        return self.rng.uniform(0.0, min(self.cap_s, self.base_s * 2.0 ** min(tries - 1, 60)))
