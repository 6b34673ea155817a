"""Results of the queue, the pauses, and the delays between attempts."""

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
    """The answer to a submission. `created` is False if a task with the same key exists already.

    `differs` names the fields in which the existing task differs from the submission. `replaces` is the ended task that
    the new task replaces.
    """

    task_id: int
    status: Status
    created: bool
    differs: tuple[str, ...] = ()
    replaces: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The queue's report to a worker pool.

    It contains the ids of tasks that the pool lost, and of tasks that the owner wants cancelled. `newest_messages` maps
    each task with an interrupting message of the owner to the id of the newest such message.
    """

    lost: frozenset[int]
    cancelled: frozenset[int]
    newest_messages: Mapping[int, int] = field(default_factory=dict)


# Beginning of the reason of a task that waits for a resource outside the task.
WAITING_FOR = "waiting for: "
# Part of the reason of a task whose commit exists only locally; the cause follows.
NOT_PUSHED = "; not pushed: "


class PauseSource(StrEnum):
    """Causes of a pause. The owner ends the first two (`resume`); the others end with their cause.

    `lifted_by` describes to people what ends each pause.
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
        """Condition under which tasks are started again, worded to follow “It goes on”."""
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
"""Sources of the pauses that `resume` ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseReason:
    """One reason why no task is started. `label` is its display name, and `lifted_by` says what ends it.

    `until` is the time at which the reason ends, if that is known.
    """

    source: PauseSource
    reason: str
    since: Moment
    lifted_by: str
    label: str = ""
    until: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseState:
    """The reasons why no task is started, in the order of `PauseSource`; if there are none, tasks are started."""

    reasons: tuple[PauseReason, ...] = ()

    @property
    def paused(self) -> bool:
        """True if there is a reason why no task is started."""
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
        """Return True if this source keeps tasks from being claimed."""
        return any(each.source is source for each in self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a task is tried, and how long it waits between tries (“full jitter”).

    The wait after try n is uniform in [0, min(cap_s, base_s · 2^(n - 1))] seconds, after Marc Brooker, “Exponential
    Backoff And Jitter”, AWS Architecture Blog, 2015.
    """

    attempts: int = 3
    base_s: float = 10.0
    cap_s: float = 600.0
    rng: random.Random = field(default_factory=random.Random)

    def rest_s(self, tries: int) -> float:
        """Return the wait in seconds after this number of tries."""
        return self.rng.uniform(0.0, min(self.cap_s, self.base_s * 2.0 ** min(tries - 1, 60)))
