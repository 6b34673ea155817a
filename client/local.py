"""The door to the database, for when no daemon runs.

Reading opens the file read-only and creates nothing. What is written goes through the same queue manager as in the
daemon, so the tasks wait there until it starts; several processes may write, each through its own `Database`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from client.door import Added, DaemonGone, LogQuery, Marking, Verb
from core import status
from core.clock import utc_now
from core.errors import NightshiftError, StoreMissing, UnknownApproval, UnknownCommit, UnknownTask
from core.masking import Masker
from core.queueing import PauseState
from core.states import DaemonState, Status
from core.submission import parse_spec
from db import pruning
from db.database import Database
from db.event_log import EventFilter, EventLog
from db.state_store import StateStore
from db.step_store import StepStore
from queue_manager import QueueManager
from server.approvals import ApprovalRow, Approvals, approval_row
from server.commits import Commits, CommitsQuery, Reviewed, ReviewIn, Taken
from server.course.forking import Forked, ForkIn, Forking
from server.desk import CLARIFY_WAIT_S
from server.lists.bulk import BulkDone, BulkIn, Prioritised, act_on_many
from server.lists.task_answers import task_detail
from server.lists.task_list import TasksQuery, list_of_tasks
from server.pausing import CheckpointAsked, ask
from server.renewal import Renewed
from server.reviewing import Reviewing
from server.schemas import (
    DaemonReport,
    Held,
    Logs,
    Moved,
    Paused,
    SavedReplies,
    TaskDetail,
    Tasks,
    logs_of,
)
from server.submitted import Submitted

WRITE_WALL_S = 30.0
T = TypeVar("T")


class LocalDoor:
    """Works on a database that no daemon is serving.

    Args:
        path: the database file; created by the first write.
        version: told in the report.
        secrets: texts that must not reach the log.
        clarify_wait_s: how long a question waits before its default is assumed.
    """

    live = False

    def __init__(
        self, path: Path, version: str, secrets: tuple[str, ...] = (), *, clarify_wait_s: float = CLARIFY_WAIT_S
    ) -> None:
        self._wait_s = clarify_wait_s
        self._path, self._version, self._mask = path, version, Masker(secrets)
        self._open = ExitStack()

    @functools.cached_property
    def _reading(self) -> Database | None:
        """The database for reading; None before the first task."""
        try:
            return self._open.enter_context(Database(self._path, readonly=True))
        except StoreMissing:
            return None

    @functools.cached_property
    def _database(self) -> Database:
        return self._open.enter_context(Database(self._path))

    @functools.cached_property
    def _writing(self) -> QueueManager:
        return QueueManager(self._database, EventLog(self._database, mask=self._mask), mask=self._mask)

    def report(self) -> DaemonReport:
        """See `Door.report`: what the database alone can tell."""
        counts: Mapping[Status, int] = {}
        asked, unread, saved, pause = 0, 0, status.SavedReplies(), PauseState()
        notices = ["no database yet: nothing was ever submitted"]
        if self._reading:
            events = EventLog(self._reading)
            queue = QueueManager(self._reading, events)
            state = StateStore(self._reading)
            saved, unread = state.saved_replies(), state.unread_count()
            counts, pause, asked = queue.counts(), queue.pause_state(), queue.open_approvals()
            last = events.last(1)
            notices = [f"daemon stopped, as of {last[0].at:%Y-%m-%d %H:%M:%S} UTC" if last else "daemon stopped"]
        return DaemonReport(
            state=DaemonState.STOPPED,
            uptime_s=0.0,
            version=self._version,
            workers=[],
            queue={status: counts.get(status, 0) for status in Status},
            models=[],
            next_checkpoint_at=None,
            sandbox="",
            sandbox_detail="",
            embedder="",
            workspace="",
            notices=notices,
            pid=0,
            approvals=asked,
            saved=SavedReplies.model_validate(saved),
            holds=[Held.model_validate(hold) for hold in pause.reasons],
            unread=unread,
        )

    def logs(self, query: LogQuery) -> Logs:
        """See `Door.logs`."""
        if not self._reading:
            return Logs(events=[], first_id=1, last_id=query.after or 0)
        pages = EventLog(self._reading).pages(EventFilter(level=query.level, task_id=query.task_id))
        return logs_of(
            pages.before(None, query.limit) if query.after is None else pages.after(query.after, query.limit)
        )

    def tasks(self, limit: int) -> Tasks:
        """See `Door.tasks`."""
        if not self._reading:
            return Tasks(tasks=[], next_after=None, next=None, total=0, counts=dict.fromkeys(Status, 0))
        queue = QueueManager(self._reading, EventLog(self._reading))
        return list_of_tasks(queue, TasksQuery.model_validate({"limit": limit}))

    def task(self, task_id: int) -> TaskDetail:
        """See `Door.task`."""
        if not self._reading:
            raise UnknownTask(task_id)
        events = EventLog(self._reading)
        queue = QueueManager(self._reading, events)
        task = queue.get(task_id)
        pruned = pruning.notes(self._reading.reader(), task.id, task.ended_at)
        iterations = StepStore(self._reading, events).iterations(task.id)
        detail = task_detail(task, iterations, queue.family(task), pruned)
        reverted_by = Reviewing(self._reading, queue, events, self._mask).reverted_by(task.id)
        return detail.model_copy(update={"reverted_by": reverted_by})

    def submit(self, data: Mapping[str, Any]) -> Added:
        """See `Door.submit`."""
        sent = _settled(self._writing.submit(parse_spec(data)))
        return Added(task=Submitted(task_id=sent.task_id, status=sent.status, differs=sent.differs), new=sent.created)

    def act(self, verb: Verb, task_id: int) -> Moved:
        """See `Door.act`."""
        if not self._reading:
            raise UnknownTask(task_id)
        act = self._writing.cancel if verb is Verb.CANCEL else self._writing.retry
        task = _settled(act(task_id))
        return Moved(task_id=task.id, status=task.status, cancel_requested=task.cancel_requested)

    def prioritise(self, task_id: int, priority: int) -> Prioritised:
        """See `Door.prioritise`."""
        if not self._reading:
            raise UnknownTask(task_id)
        task = _settled(self._writing.prioritise(task_id, priority))
        return Prioritised(task_id=task.id, status=task.status, priority=task.spec.priority)

    def act_on_many(self, asked: BulkIn) -> BulkDone:
        """See `Door.act_on_many`."""
        if not self._reading:
            return BulkDone(matched=0, fitting=0, results=[], next_after=None)
        return act_on_many(self._writing, asked)

    def fork(self, task_id: int, asked: ForkIn) -> Forked:
        """See `Door.fork`."""
        if not self._reading:
            raise UnknownTask(task_id)
        steps = StepStore(self._database, EventLog(self._database, mask=self._mask), mask=self._mask)
        return Forking(self._database, self._writing, steps, None).fork(task_id, asked)

    def pause(self, paused: bool) -> Paused:
        """See `Door.pause`: it holds for the daemon's next start."""
        pause = _settled(self._writing.pause() if paused else self._writing.resume())
        return Paused.model_validate({"state": DaemonState.STOPPED, "holds": pause.reasons})

    def checkpoint(self) -> CheckpointAsked:
        """See `Door.checkpoint`: the daemon's next start holds it."""
        return CheckpointAsked(asked=_settled(ask(self._database, utc_now)), state=DaemonState.STOPPED)

    def approvals(self) -> Approvals:
        """See `Door.approvals`."""
        found = QueueManager(self._reading, EventLog(self._reading)).approvals() if self._reading else []
        return Approvals(approvals=[approval_row(each, self._wait_s) for each in found])

    def decide(self, approval_id: int, granted: bool, answer: str) -> ApprovalRow:
        """See `Door.decide`: the task goes on when the daemon starts."""
        if not self._reading:
            raise UnknownApproval(approval_id)
        return approval_row(_settled(self._writing.decide(approval_id, granted, answer)), self._wait_s)

    def answer(self, approval_id: int, text: str) -> ApprovalRow:
        """See `Door.answer`: the task goes on when the daemon starts."""
        if not self._reading:
            raise UnknownApproval(approval_id)
        return approval_row(_settled(self._writing.answer(approval_id, text)), self._wait_s)

    def commits(self, *, unread: bool = False, standing: bool = False, limit: int = 50) -> Commits:
        """See `Door.commits`."""
        if not self._reading:
            return Commits(commits=[], next_after=None, unread=0)
        asked = CommitsQuery(unread=unread, standing=standing, limit=limit, task=None, after=None)
        events = EventLog(self._reading)
        return Reviewing(self._reading, QueueManager(self._reading, events), events, self._mask).commits(asked)

    def review(self, which: Marking) -> Reviewed:
        """See `Door.review`."""
        if not self._reading:
            raise UnknownCommit("nothing was ever committed here")
        events = EventLog(self._database, mask=self._mask)
        ledger = Reviewing(self._database, self._writing, events, self._mask)
        if which.task_id is not None:
            return ledger.review_task(which.task_id)
        return ledger.review(ReviewIn(commit=which.commit) if which.commit else ReviewIn(all=True))

    def revert(self, task_id: int, force: bool, reapply: bool) -> Taken:  # noqa: ARG002  # the protocol's
        """See `Door.revert`: git is not this door's."""
        raise DaemonGone(f"no daemon runs that could take back task {task_id}")

    def reload(self) -> Renewed:
        """See `Door.reload`."""
        raise DaemonGone("the daemon is not running; it reads its settings when it starts")

    def close(self) -> None:
        """See `Door.close`."""
        self._open.close()


def _settled(write: Future[T]) -> T:
    try:
        return write.result(WRITE_WALL_S)
    except TimeoutError:
        raise NightshiftError("the database is busy; look before you send it again, or send a key") from None
