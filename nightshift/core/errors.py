"""The tree of errors. The meaning of each branch determines the code that may catch it.

NightshiftError
├── ConfigError            settings are wrong; lists every fault at once
├── TaskError
│   ├── InvalidTask        a submission is not a task; names the fields
│   ├── UnknownTask
│   ├── UnknownApproval
│   ├── UnknownStep
│   ├── IllegalMove        a task may not go from this status to that one
│   └── StaleFence         another worker owns the task now
├── Interruption           ends an attempt from the inside; carries the reason
│   ├── BudgetSpent · TimeUp · CancelledByUser · CommandBlocked · ShuttingDown · WorkerRestarted · LeaseLost
│   ├── Split              the task waits for its parts
│   └── Parked             not now: wait until a stated time or for a model
│       └── NeedsSettings  nothing changes until the owner changes the settings
├── PlaceUnready           a place that a task works in lacks something; waiting may help
├── OwnerSpoke             a request was interrupted, to be repeated with the owner's new message
├── ModelError
│   ├── ModelUnavailable   retryable: connection, 5xx, 429, timeout, cut stream
│   ├── ModelRefused       not retryable: bad key, unknown model, bad request
│   │   └── PromptTooLong  retryable with a shorter prompt
│   └── BadReply           an answer came but is unusable
├── StoreError             the database could not be read or written
│   ├── StoreMissing · StoreTooNew · StoreTooOld · StoreDamaged
│   └── StoreUnready       nothing was written; the same write may succeed later
│       └── StoreFull · StoreLocked · StoreReadOnly
├── HubError               the database that several nodes share could not be used
│   ├── HubAway            waiting may help
│   └── HubRefused         only the owner can help
├── SandboxError           untrusted code could not be run safely
│   └── SandboxUnready     it did not start; waiting may help
├── UnknownLesson
├── ExtraMissing           optional packages are not installed; says what to do
├── UnknownExtra
├── UnusableFile           a person's file, such as tasks.yaml, cannot be read; names its faults
├── UnknownNode            no node of the hub has that name, or several do
├── NotLessons             a file to learn from is not a file of lessons; names each faulty line
├── BenchmarkError         an arm, an item or a run of the benchmark cannot be used; says what to do
├── HookRefused            a webhook has no proof that one of the owner's forges sent it
├── NoEvidence             a commit has no note about how it was judged
└── GitError
    ├── RemoteAway         the remote could not be reached, or rejected a push; waiting may help
    ├── UnknownCommit      a name matches no commit, or several
    ├── BaseGone           a commit that work depends on is not in the repository any more
    ├── ReferenceLocked    a reference was locked for as long as git waits
    ├── GitStopped         git was stopped with the daemon; the result is unknown
    │   └── GitKilled      another process killed git; waiting may help
    ├── NotReverted        nothing was reverted; says why, and what to do instead
    └── MergeConflict      the change no longer fits its target
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from nightshift.core.program import format_command
from nightshift.core.tasks.states import Ending
from nightshift.core.text import faults

if TYPE_CHECKING:
    from datetime import datetime

    from nightshift.core.tasks.change_checks import Ask
    from nightshift.core.tasks.subtasks import SubtaskSpec


class NightshiftError(Exception):
    """Something went wrong inside Nightshift."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class ConfigError(NightshiftError):
    """The settings cannot be used."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class TaskError(NightshiftError):
    """The task cannot do that."""


class InvalidTask(TaskError):
    """A submission that is not a task. `fields` has the reasons, limited in size; `more` counts the omitted ones."""

    def __init__(self, fields: Mapping[str, str], more: int = 0) -> None:
        self.fields = faults.limit_faults(fields)
        self.more = more + len(fields) - len(self.fields)
        lines = [f"{name}: {why}" for name, why in self.fields.items()]
        super().__init__("; ".join(filter(None, [*lines, faults.and_more(self.more)])))


class UnknownTask(TaskError):
    """There is no task with that id."""

    def __init__(self, task_id: int) -> None:
        self.task_id = task_id
        super().__init__(f"there is no task {task_id}")


class UnknownApproval(TaskError):
    """There is no approval with that id."""

    def __init__(self, approval_id: int) -> None:
        self.approval_id = approval_id
        super().__init__(
            f"there is no approval {approval_id}; `{format_command('approvals')}` lists those that are open"
        )


class UnknownStep(TaskError):
    """The task has no such step, or its data has been deleted."""


class UnknownWorker(NightshiftError):
    """There is no worker with that name."""

    def __init__(self, name: str, worker_names: Sequence[str]) -> None:
        super().__init__(f"there is no worker {name}; there are: {', '.join(worker_names) or 'none'}")


class UnknownNode(NightshiftError):
    """No node has that name, or several do."""

    def __init__(self, name: str, node_names: Sequence[str]) -> None:
        super().__init__(f"there is no node {name}, or more than one; there are: {', '.join(node_names) or 'none'}")


class IllegalMove(TaskError):
    """The task is in a status that does not allow this."""


class StaleFence(TaskError):
    """Another worker owns this task now; the result of this one is discarded."""


class Interruption(NightshiftError):
    """The attempt ends here."""

    ending: Ending | None = None


class BudgetSpent(Interruption):
    """A budget of this task is spent.

    Args:
        message: The budget, the use, and the limit.
        measure: The exceeded field of `core.tasks.task.Limits`, if the owner could grant more of it.
        short: The amount that is missing for the next call, in the unit of the measure.
    """

    ending = Ending.BUDGET

    def __init__(self, message: str = "", *, measure: str | None = None, short: float = 0.0) -> None:
        super().__init__(message)
        self.measure, self.short = measure, short


class TimeUp(Interruption):
    """The task's wall time is over."""

    ending = Ending.TIMEOUT


class CancelledByUser(Interruption):
    """The owner cancelled the task."""

    ending = Ending.USER


class CommandBlocked(Interruption):
    """The task's own test command is one that must never run."""

    ending = Ending.REFUSED


class ShuttingDown(Interruption):
    """The daemon stops; the task goes back to the queue at its last finished step."""


class WorkerRestarted(Interruption):
    """The owner restarted the task's worker; the task continues from its last finished step."""


class LeaseLost(Interruption):
    """The lease of this attempt ran out and another worker may own the task."""


class NeedsApproval(Interruption):
    """The task waits for a person's answer.

    Args:
        message: The question, in one line.
        asks: The single decisions.
    """

    def __init__(self, message: str, asks: Sequence[Ask] = ()) -> None:
        super().__init__(message)
        self.asks = tuple(asks)


class Parked(Interruption):
    """The task waits for something that will become available without the owner.

    Args:
        message: The reason, for the owner.
        until: The time of the next check, aware UTC; None means as soon as a model is available.
    """

    def __init__(self, message: str, until: datetime | None = None) -> None:
        super().__init__(message)
        self.until = until


class NeedsSettings(Parked):
    """The task waits until the owner changes the settings; waiting alone does not help.

    Args:
        message: The reason, for the owner.
        ending: The ending if settings cannot change while the task waits, such as for a task in the foreground.
    """

    ending: Ending

    def __init__(self, message: str, ending: Ending) -> None:
        super().__init__(message)
        self.ending = ending


class Split(Interruption):
    """The task waits for the subtasks that its plan split it into.

    Args:
        message: The parts, in one line.
        subtasks: The subtasks, each after those that it needs.
    """

    def __init__(self, message: str, subtasks: Sequence[SubtaskSpec]) -> None:
        super().__init__(message)
        self.subtasks = tuple(subtasks)


class PlaceUnready(NightshiftError):
    """A place that a task works in lacks something; the message names it in the form that follows “waiting for”."""


class OwnerSpoke(NightshiftError):
    """The owner sent a message while a model was asked; the request must be repeated with the message."""


class ModelError(NightshiftError):
    """A model could not answer."""


class ModelUnavailable(ModelError):
    """The model cannot be reached or is overloaded; trying again later may help.

    Args:
        message: The cause.
        retry_after_s: The wait that the provider asked for, in seconds.
    """

    def __init__(self, message: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelRefused(ModelError):
    """The backend refused the request and would refuse it again."""


class PromptTooLong(ModelRefused):
    """The prompt is longer than the model's context, whose size is known now; a shorter prompt may be answered."""


class BadReply(ModelError):
    """The model's answer cannot be used."""


class StoreError(NightshiftError):
    """The database could not be read or written."""


class StoreMissing(StoreError):
    """There is no database yet."""


class StoreTooNew(StoreError):
    """The database was written by a newer Nightshift."""


class StoreTooOld(StoreError):
    """The database was written by an older Nightshift and was opened for reading only."""


class StoreDamaged(StoreError):
    """The database file is damaged."""


class StoreUnready(StoreError):
    """The database cannot be written now; nothing was written, and the same write may succeed later."""


class StoreFull(StoreUnready):
    """The disk of the database is full; nothing was written."""


class StoreLocked(StoreUnready):
    """Another process keeps the database locked; nothing was written."""


class StoreReadOnly(StoreUnready):
    """You cannot write to the database or its disk; nothing was written."""


class HubError(NightshiftError):
    """The hub's database, which several nodes share, could not be used."""


class HubAway(HubError):
    """The hub cannot be reached or used now; waiting may help."""


class HubRefused(HubError):
    """The hub refuses permanently; the message says what its owner can do."""


class NodeRemoved(HubRefused):
    """The hub's owner has removed this node; its tasks of the hub now belong to other nodes."""


class SandboxError(NightshiftError):
    """Untrusted code could not be run safely, so it was not run."""


class SandboxUnready(SandboxError):
    """The sandbox did not start, or ended unexpectedly; the same job may succeed later."""


class ServiceFailed(SandboxError):
    """A service that tests need did not start, so no test was run."""


class UnknownLesson(NightshiftError):
    """The memory has no lesson with that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no lesson {name!r}; names look like failure-12 or pattern-3")


class ExtraMissing(NightshiftError):
    """The packages of an extra are not installed; the message says why, and what to do."""


class UnknownExtra(NightshiftError):
    """There are no optional packages with this name."""

    def __init__(self, name: str, extras: Iterable[str]) -> None:
        super().__init__(f"there is no extra {name!r}; known are {', '.join(extras)}")


class UnusableFile(NightshiftError):
    """A file that a person wrote cannot be read."""


class NotLessons(NightshiftError):
    """A file does not contain lessons; the message names each faulty line and field. No lesson was imported."""


class BenchmarkError(NightshiftError):
    """The benchmark cannot do that."""


class HookRefused(NightshiftError):
    """A webhook has no signature made with the owner's secret, or no secret is set."""


class NoEvidence(NightshiftError):
    """The commit has no evidence; the message says how to get it."""


class GitError(NightshiftError):
    """Git could not do it."""


class RemoteAway(GitError):
    """The remote could not be reached, or did not accept a push; waiting may help."""


class UnknownCommit(GitError):
    """There is no such commit, or its name is ambiguous."""


class BaseGone(GitError):
    """A commit that work depends on, or a part of it, is not in the repository any more; no reference was moved."""


class ReferenceLocked(GitError):
    """A reference stayed locked while git waited; no reference was moved. The message names the lock and its age."""


class GitStopped(GitError):
    """Git was stopped with the daemon; the result of the command is unknown."""


class GitKilled(GitStopped):
    """Git was ended by a signal that this daemon did not send, for example by the machine's OOM killer."""


class UnknownName(NightshiftError):
    """No task, commit or branch of Nightshift has this name."""


class AmbiguousName(NightshiftError):
    """Several tasks, commits or branches have this name; the message names them."""


class NotReverted(GitError):
    """Nothing was reverted; the message says why, and what to do instead."""


class BranchRefused(GitError):
    """A commit that waits on a branch was neither integrated nor discarded; the message says why, and how to do it.

    `is_forcible` is True if the commit can be integrated without a run.
    """

    def __init__(self, message: str, *, is_forcible: bool = False) -> None:
        self.is_forcible = is_forcible
        super().__init__(message)


class NotVerified(GitError):
    """A commit cannot be verified again now; the message says why."""


class MergeConflict(GitError):
    """The change conflicts with the current state of its target.

    `merged` is a commit on no branch that contains the merge of all files except `paths`; empty if there is none.
    """

    def __init__(self, paths: Sequence[str], message: str = "", *, merged: str = "") -> None:
        self.paths, self.merged = tuple(paths), merged
        super().__init__(message or f"conflict in {', '.join(self.paths) or 'the tree'}")
