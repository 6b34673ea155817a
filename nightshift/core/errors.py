"""The tree of errors. Each branch has its own meaning, which decides the code that may catch its errors.

NightshiftError
├── ConfigError            settings are wrong; lists every fault at once
├── TaskError
│   ├── InvalidTask        a submission is not a valid task; names the fields
│   ├── UnknownTask
│   ├── UnknownApproval
│   ├── UnknownStep
│   ├── IllegalMove        the status of the task does not allow this change of status
│   └── StaleFence         another worker owns the task now
├── Interruption           ends an attempt from the inside; carries the reason
│   ├── BudgetSpent · TimeUp · CancelledByUser · CommandBlocked · ShuttingDown · WorkerRestarted · LeaseLost
│   ├── Split              the task waits for its subtasks
│   └── Parked             the task must wait until a stated time or for a model
│       └── NeedsSettings  the task must wait until the owner changes the settings
├── PlaceUnready           the place where a task works lacks something; waiting may help
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
│   └── SandboxUnready     the sandbox did not start; waiting may help
├── UnknownLesson
├── ExtraMissing           optional packages are not installed; says what to do
├── UnknownExtra
├── UnusableFile           a person's file, such as tasks.yaml, cannot be read; names its faults
├── UnknownNode            no node of the hub has that name, or several have it
├── NotLessons             a file does not consist of lessons; names each faulty line
├── BenchmarkError         an arm, an item or a run of the benchmark cannot be used; says what to do
├── HookRefused            a webhook has no proof that one of the owner's forges sent it
├── NoEvidence             a commit has no note about how it was judged
└── GitError
    ├── RemoteAway         the remote could not be reached, or rejected a push; waiting may help
    ├── UnknownCommit      a name matches no commit, or several
    ├── BaseGone           a commit that work depends on is not in the repository any more
    ├── RepositoryUnready  the folder is there, but its repository is not, or cannot be read; waiting may help
    ├── ReferenceLocked    a reference stayed locked for as long as git waits
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
    from nightshift.core.tasks.task import SubtaskSpec


class NightshiftError(Exception):
    """Base class of all errors that Nightshift raises itself."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class ConfigError(NightshiftError):
    """The settings cannot be used."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class TaskError(NightshiftError):
    """Base class of errors about a task: it is unknown or invalid, or its state does not allow the request."""


class InvalidTask(TaskError):
    """A submission is not a valid task.

    `fields` maps field names to reasons, up to a limited size; `more` counts the omitted reasons.
    """

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
    """No node has that name, or several nodes have it."""

    def __init__(self, name: str, node_names: Sequence[str]) -> None:
        super().__init__(f"there is no node {name}, or more than one; there are: {', '.join(node_names) or 'none'}")


class IllegalMove(TaskError):
    """The status of the task does not allow this request."""


class StaleFence(TaskError):
    """Another worker owns this task now; the result of the previous worker is discarded."""


class Interruption(NightshiftError):
    """Base class of the reasons that end an attempt from the inside."""

    ending: Ending | None = None


class BudgetSpent(Interruption):
    """A budget of this task is spent.

    Args:
        message: The budget, the use, and the limit.
        measure: The field of `core.tasks.task.Limits` that is exceeded; None if the owner cannot grant more.
        short: The amount that the next call lacks, in the unit of the measure.
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
    """The task's own test command is a forbidden command."""

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
        asks: The decisions that the owner must make; empty if `message` itself is the question.
    """

    def __init__(self, message: str, asks: Sequence[Ask] = ()) -> None:
        super().__init__(message)
        self.asks = tuple(asks)


class Parked(Interruption):
    """The task waits for a resource that will become available without any action of the owner.

    Args:
        message: The reason, for the owner.
        until: The time of the next check, in UTC with a time zone; None means as soon as a model is available.
    """

    def __init__(self, message: str, until: datetime | None = None) -> None:
        super().__init__(message)
        self.until = until


class NeedsSettings(Parked):
    """The task waits until the owner changes the settings; waiting alone does not help.

    Args:
        message: The reason, for the owner.
        ending: How the task ends if settings cannot change while it waits, as for a task in the foreground.
    """

    ending: Ending

    def __init__(self, message: str, ending: Ending) -> None:
        super().__init__(message)
        self.ending = ending


class Split(Interruption):
    """The task waits for the subtasks that its plan split it into.

    Args:
        message: The subtasks, in one line.
        subtasks: The subtasks; each comes after the subtasks that it depends on.
    """

    def __init__(self, message: str, subtasks: Sequence[SubtaskSpec]) -> None:
        super().__init__(message)
        self.subtasks = tuple(subtasks)


class PlaceUnready(NightshiftError):
    """The place where a task works lacks something. The message names it, worded to follow “waiting for”."""


class OwnerSpoke(NightshiftError):
    """The owner sent a message during a request to a model; the request must be repeated with the message."""


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
    """The backend refused the request, and would refuse the same request again."""


class PromptTooLong(ModelRefused):
    """The prompt is longer than the model's context, whose size is known now; a shorter prompt may succeed."""


class BadReply(ModelError):
    """The model's answer cannot be used."""


class StoreError(NightshiftError):
    """The database could not be read or written."""


class StoreMissing(StoreError):
    """There is no database yet."""


class StoreTooNew(StoreError):
    """The database was written by a newer Nightshift."""


class StoreTooOld(StoreError):
    """The database was written by an older Nightshift, and was opened only for reading, without an upgrade."""


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
    """The hub permanently refuses the request; the message says what the hub's owner can do."""


class NodeRemoved(HubRefused):
    """The hub's owner has removed this node; the tasks that it had from the hub now belong to other nodes."""


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
    """A request to the benchmark cannot be fulfilled; the message says what to do."""


class HookRefused(NightshiftError):
    """A webhook is not signed with the owner's secret, or the owner has set no secret."""


class NoEvidence(NightshiftError):
    """The commit has no evidence; the message says how to get it."""


class GitError(NightshiftError):
    """A git operation failed or was refused."""


class RemoteAway(GitError):
    """The remote could not be reached, or did not accept a push; waiting may help."""


class UnknownCommit(GitError):
    """There is no such commit, or its name is ambiguous."""


class BaseGone(GitError):
    """A commit that work depends on is no longer in the repository, or a part of it is missing.

    No reference was moved.
    """


class RepositoryUnready(GitError):
    """The folder exists, but its repository is missing or unreadable, for example because a disk is not mounted."""


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
    """A commit that waits on a branch was neither integrated nor discarded; the message says why, and what to do.

    `is_forcible` is True if the commit can be integrated without a test run.
    """

    def __init__(self, message: str, *, is_forcible: bool = False) -> None:
        self.is_forcible = is_forcible
        super().__init__(message)


class NotVerified(GitError):
    """A commit cannot be verified again now; the message says why."""


class MergeConflict(GitError):
    """The change conflicts with the current state of its target.

    `merged` is the id of a commit that contains the merge of all files except `paths`. No branch contains this commit.
    The id is empty if there is no such commit.
    """

    def __init__(self, paths: Sequence[str], message: str = "", *, merged: str = "") -> None:
        self.paths, self.merged = tuple(paths), merged
        super().__init__(message or f"conflict in {', '.join(self.paths) or 'the tree'}")
