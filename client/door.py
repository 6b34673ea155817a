"""What the command line needs from Nightshift: one protocol with two doors behind it.

`client.remote` speaks to a running daemon over its API, `client.local` works on the database when none runs. Both
answer with the API's own values, so what is shown and what `--json` prints is the same through either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from core.errors import NightshiftError
from core.events import Level

if TYPE_CHECKING:
    from server.approvals import ApprovalRow, Approvals
    from server.commits import Commits, Reviewed, Taken
    from server.course.forking import Forked, ForkIn
    from server.lists.bulk import BulkDone, BulkIn, Prioritised
    from server.pausing import CheckpointAsked
    from server.renewal import Renewed
    from server.schemas import DaemonReport, Logs, Moved, Paused, TaskDetail, Tasks
    from server.submitted import Submitted


class DaemonGone(NightshiftError):
    """No daemon answers."""


class Stranger(DaemonGone):
    """Something answers at the daemon's address that is not Nightshift."""


class NotAllowed(NightshiftError):
    """The daemon refused the request."""


class Verb(StrEnum):
    """What a person does to a task; the value is the last part of the API's path."""

    CANCEL = "cancel"
    RETRY = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """Which events: the newest `limit`, or from `after` on the oldest `limit`."""

    after: int | None = None
    limit: int = 50
    level: Level | None = None
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of a task that was sent; `new` is false where its key was known."""

    task: Submitted
    new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """Which commits were read: those of a task, the one whose id begins so, or with neither all."""

    task_id: int | None = None
    commit: str = ""


class Door(Protocol):
    """The daemon as a person at a terminal knows it; each method is one request of the API.

    Every method raises `DaemonGone` where the daemon went away, `NotAllowed` where it refuses, and those that name a
    task `UnknownTask` or `IllegalMove`.
    """

    live: bool
    """Whether a daemon is behind it."""

    def report(self) -> DaemonReport:
        """The daemon as a whole."""
        ...

    def logs(self, query: LogQuery) -> Logs:
        """Events, oldest first."""
        ...

    def tasks(self, limit: int) -> Tasks:
        """The newest tasks, newest first."""
        ...

    def task(self, task_id: int) -> TaskDetail:
        """One task in full."""
        ...

    def submit(self, data: Mapping[str, Any]) -> Added:
        """Add a task, given as the API's body.

        Raises:
            InvalidTask: names what is wrong with it.
        """
        ...

    def act(self, verb: Verb, task_id: int) -> Moved:
        """Cancel or retry a task."""
        ...

    def prioritise(self, task_id: int, priority: int) -> Prioritised:
        """Make a task more urgent (higher) or less."""
        ...

    def act_on_many(self, asked: BulkIn) -> BulkDone:
        """Do one thing to many tasks; those that refuse it are told, and take nothing from the others."""
        ...

    def fork(self, task_id: int, asked: ForkIn) -> Forked:
        """Add a task that begins where another one was.

        Raises:
            UnknownStep: that one has no such step, or no such task is there.
            InvalidTask: names what is wrong, such as a model that is not configured.
        """
        ...

    def pause(self, paused: bool) -> Paused:
        """Pause or resume the daemon."""
        ...

    def checkpoint(self) -> CheckpointAsked:
        """Hold a checkpoint now."""
        ...

    def approvals(self) -> Approvals:
        """What waits for the owner, oldest first."""
        ...

    def decide(self, approval_id: int, granted: bool, answer: str) -> ApprovalRow:
        """Grant or deny one ask.

        Raises:
            UnknownApproval: there is none with that id.
        """
        ...

    def answer(self, approval_id: int, text: str) -> ApprovalRow:
        """Answer a question.

        Raises:
            UnknownApproval: there is none with that id.
            IllegalMove: it is a decision, or was answered before.
        """
        ...

    def commits(self, *, unread: bool = False, standing: bool = False, limit: int = 50) -> Commits:
        """The newest commits: all, those that wait to be read, or those that were integrated and not taken back."""
        ...

    def review(self, which: Marking) -> Reviewed:
        """Mark commits as read.

        Raises:
            UnknownCommit: there is none.
        """
        ...

    def revert(self, task_id: int, force: bool, reapply: bool) -> Taken:
        """Have the daemon take back what a task integrated, or bring it back; where none runs it is `DaemonGone`."""
        ...

    def reload(self) -> Renewed:
        """Have the daemon read its settings again; where none runs it is `DaemonGone`.

        Raises:
            ConfigError: they have faults, and the old ones still hold.
        """
        ...

    def close(self) -> None:
        """Let go of connections and threads; the door may not be used again."""
        ...
