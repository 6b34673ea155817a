"""The tree of errors; what each branch means decides who may catch it.

NightshiftError
├── ConfigError            settings are wrong; lists every fault at once
├── TaskError
│   ├── InvalidTask        what a person sent is not a task; names the fields
│   ├── UnknownTask
│   ├── UnknownApproval
│   ├── UnknownStep
│   ├── IllegalMove        a task may not go from this status to that one
│   └── StaleFence         another worker owns the task now
├── Interruption           ends an attempt from the inside; carries why
│   ├── BudgetSpent · TimeUp · CancelledByUser · CommandBlocked · ShuttingDown · WorkerRestarted · LeaseLost
│   ├── Split              the task waits for its parts
│   └── Parked             not now: wait until a stated time or for a model
│       └── NeedsSettings  nothing comes back until its owner changes the settings
├── PlaceUnready           a place that a task works in lacks something; waiting may help
├── OwnerSpoke             a request was interrupted, to be asked again with what its task's owner said
├── ModelError
│   ├── ModelUnavailable   retryable: connection, 5xx, 429, time-out, cut stream
│   ├── ModelRefused       not retryable: bad key, unknown model, bad request
│   │   └── PromptTooLong  but for a shorter prompt
│   └── BadReply           an answer came and is unusable
├── StoreError             the database could not be read or written
│   ├── StoreMissing · StoreTooNew · StoreTooOld · StoreDamaged
│   └── StoreUnready       nothing was written; the same write may go well later
│       └── StoreFull · StoreLocked · StoreReadOnly
├── HubError               the database that several nodes share could not be used
│   ├── HubAway            waiting may help
│   └── HubRefused         only its owner can help
├── SandboxError           untrusted code could not be run safely
│   └── SandboxUnready     it did not start; waiting may help
├── UnknownLesson
├── ExtraMissing           optional packages are not installed; says what to do
├── UnknownExtra
├── UnusableFile           a file that somebody wrote, such as tasks.yaml, cannot be read; names its faults
├── UnknownNode            no node of the hub, or several, have that name
├── NotLessons             what was to be learned from is no file of lessons; names each faulty line
├── BenchmarkError         an arm, an item or a run of the benchmark cannot be used; says what to do
├── HookRefused            a webhook that does not show that a forge of the owner's sent it
├── NoEvidence             a commit has no note that tells how it was judged
└── GitError
    ├── RemoteAway         the remote could not be asked, or took no push; waiting may help
    ├── UnknownCommit      a name stands for no commit, or for several
    ├── BaseGone           a commit that work rests on is not in the repository any more
    ├── ReferenceLocked    a lock was in the way for as long as git waits
    ├── GitStopped         git was stopped with the daemon; nothing is known of what was asked
    │   └── GitKilled      somebody else ended it; waiting may help
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
    """The settings are not usable."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class TaskError(NightshiftError):
    """The task cannot do that."""


class InvalidTask(TaskError):
    """A submission that is not a task. `fields` says why, within bounds; `more` counts the faults that are left out."""

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
    """The task has no such step, or it is no longer kept."""


class UnknownWorker(NightshiftError):
    """There is no worker of that name."""

    def __init__(self, name: str, worker_names: Sequence[str]) -> None:
        super().__init__(f"there is no worker {name}; there are: {', '.join(worker_names) or 'none'}")


class UnknownNode(NightshiftError):
    """There is no node of that name, or several."""

    def __init__(self, name: str, node_names: Sequence[str]) -> None:
        super().__init__(f"there is no one node {name}; there are: {', '.join(node_names) or 'none'}")


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
        message: which one, what was used, and what is allowed.
        measure: the field of `core.tasks.task.Limits` that is reached, where its owner could grant more of it.
        short: how much too little is left for the next call, in the unit of the measure.
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
    """The task's own test command is one of those that never run."""

    ending = Ending.REFUSED


class ShuttingDown(Interruption):
    """The daemon stops; the task goes back to the queue at its last finished step."""


class WorkerRestarted(Interruption):
    """The owner restarted its worker; the task goes on from its last finished step."""


class LeaseLost(Interruption):
    """The lease of this attempt ran out and another worker may own the task."""


class NeedsApproval(Interruption):
    """The task waits for a person's answer.

    Args:
        message: what is asked, in a line.
        asks: the single decisions.
    """

    def __init__(self, message: str, asks: Sequence[Ask] = ()) -> None:
        super().__init__(message)
        self.asks = tuple(asks)


class Parked(Interruption):
    """The task waits for something that will come back by itself.

    Args:
        message: why, in words for the owner.
        until: when to look again, aware UTC; None means as soon as a model is available.
    """

    def __init__(self, message: str, until: datetime | None = None) -> None:
        super().__init__(message)
        self.until = until


class NeedsSettings(Parked):
    """The task waits until its owner changes the settings: time alone brings nothing.

    Args:
        message: why, in words for the owner.
        ending: how it ends where settings do not change while it waits, as of a task in the foreground.
    """

    ending: Ending

    def __init__(self, message: str, ending: Ending) -> None:
        super().__init__(message)
        self.ending = ending


class Split(Interruption):
    """The task waits for the subtasks that its plan split it into.

    Args:
        message: what it was split into, in a line.
        subtasks: in an order in which each comes after those that it needs.
    """

    def __init__(self, message: str, subtasks: Sequence[SubtaskSpec]) -> None:
        super().__init__(message)
        self.subtasks = tuple(subtasks)


class PlaceUnready(NightshiftError):
    """A place that a task works in lacks something; the message says what, to follow “waiting for”."""


class OwnerSpoke(NightshiftError):
    """The owner said something while a model was asked: the request is to be made again with it."""


class ModelError(NightshiftError):
    """A model could not answer."""


class ModelUnavailable(ModelError):
    """The model cannot be reached or is overloaded; trying again later may help.

    Args:
        message: what happened.
        retry_after_s: the wait that the provider asked for, in seconds.
    """

    def __init__(self, message: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelRefused(ModelError):
    """The backend refused the request, and will refuse it again."""


class PromptTooLong(ModelRefused):
    """The prompt is longer than the model's context, whose size is known now: a shorter one may be answered."""


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
    """The database takes no writes now; nothing was written, and the same write may go well later."""


class StoreFull(StoreUnready):
    """The disk of the database is full; nothing was written."""


class StoreLocked(StoreUnready):
    """Another process keeps the database locked; nothing was written."""


class StoreReadOnly(StoreUnready):
    """The database, or its disk, takes no writes from this user; nothing was written."""


class HubError(NightshiftError):
    """The hub's database, which several nodes share, could not be used."""


class HubAway(HubError):
    """It cannot be reached or used now; waiting may help."""


class HubRefused(HubError):
    """It refuses for good; the message says what its owner can do."""


class NodeRemoved(HubRefused):
    """Its owner has removed this node; what it has of the hub's is others' now."""


class SandboxError(NightshiftError):
    """Untrusted code could not be run safely, so it was not run."""


class SandboxUnready(SandboxError):
    """The sandbox did not start, or ended by itself; the same may go well later."""


class ServiceFailed(SandboxError):
    """A service that tests need did not come up, so no test was run."""


class UnknownLesson(NightshiftError):
    """The memory has no lesson of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no lesson {name!r}; names look like failure-12 or pattern-3")


class ExtraMissing(NightshiftError):
    """The packages of an extra are not here; the message says why, and what to do."""


class UnknownExtra(NightshiftError):
    """There are no optional packages of this name."""

    def __init__(self, name: str, extras: Iterable[str]) -> None:
        super().__init__(f"there is no extra {name!r}; known are {', '.join(extras)}")


class UnusableFile(NightshiftError):
    """A file that somebody wrote cannot be read."""


class NotLessons(NightshiftError):
    """A file does not hold lessons; the message names each faulty line and field. Nothing of it was taken."""


class BenchmarkError(NightshiftError):
    """The benchmark cannot do that."""


class HookRefused(NightshiftError):
    """A webhook shows no signature that its owner's secret makes, or no secret is set."""


class NoEvidence(NightshiftError):
    """The commit has no evidence; the message says how to get it."""


class GitError(NightshiftError):
    """Git could not do it."""


class RemoteAway(GitError):
    """The remote could not be asked, or did not take a push; waiting may help."""


class UnknownCommit(GitError):
    """There is no such commit, or its name is ambiguous."""


class BaseGone(GitError):
    """A commit that work rests on, or a part of it, is not in the repository any more; no reference was moved."""


class ReferenceLocked(GitError):
    """A lock was in the way for as long as git waits; no reference was moved. The message names it and its age."""


class GitStopped(GitError):
    """Git was stopped with the daemon; nothing is known of what was asked."""


class GitKilled(GitStopped):
    """Git was ended by a signal that this daemon did not send, as by the machine's OOM killer."""


class UnknownName(NightshiftError):
    """No task, commit or branch of Nightshift's bears this name."""


class AmbiguousName(NightshiftError):
    """Several tasks, commits or branches bear this name; the message names them."""


class NotReverted(GitError):
    """Nothing was reverted; the message says why, and what to do instead."""


class BranchRefused(GitError):
    """A commit that waits on a branch was neither integrated nor discarded; the message says why, and how to do it.

    `is_forcible` tells that it can be integrated without a run.
    """

    def __init__(self, message: str, *, is_forcible: bool = False) -> None:
        self.is_forcible = is_forcible
        super().__init__(message)


class NotVerified(GitError):
    """A commit is not verified again now; the message says why."""


class MergeConflict(GitError):
    """The change conflicts with what its target has become.

    `merged` is a commit on no branch that holds the merge of all other files than `paths`; empty where there is none.
    """

    def __init__(self, paths: Sequence[str], message: str = "", *, merged: str = "") -> None:
        self.paths, self.merged = tuple(paths), merged
        super().__init__(message or f"conflict in {', '.join(self.paths) or 'the tree'}")
