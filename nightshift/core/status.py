"""What the daemon says about itself: the answer of `/api/status`, the dashboard's head and `nightshift status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nightshift.core.clock import Moment
from nightshift.core.overall import NOT_KNOWN, Overall, overall
from nightshift.core.tasks.queueing import PauseReason
from nightshift.core.tasks.states import CircuitState, DaemonState, Phase, Status
from nightshift.core.tool_protocol import ToolProtocol


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """One worker; `task_id` is None while it is idle."""

    name: str
    task_id: int | None = None
    description: str = ""
    attempt: int = 0
    phase: Phase | None = None
    iteration: int = 0
    since: Moment | None = None
    last_line: str = ""
    done: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A worker that began anew; `task_id` is the task that it put down for it, None when it was idle."""

    name: str
    task_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """One backend of the chain; `cost_usd` leaves out the `unpriced` calls, whose cost is not known.

    `measured` tells what it solved of the attempts it began, by the kind of the task, where that decides who is asked.
    `protocol` is the form in which it is offered tools, `malformed_share` (0 to 1) how many of its replies in that form
    could not be read; None where there was none. The built-in engine has neither.
    Whether it is `available` was found at `checked_at` (None: the first look is under way), holds `since` then, and is
    looked at again at `next_check_at`.
    """

    name: str
    model: str
    available: bool
    detail: str = ""
    circuit: CircuitState = CircuitState.CLOSED
    calls: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    latency_s: float | None = None
    measured: str = ""
    protocol: ToolProtocol | None = None
    malformed_share: float | None = None
    checked_at: Moment | None = None
    since: Moment | None = None
    next_check_at: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedTasks:
    """Tasks that go on with their attempt when a model or a budget is there; `first` are the ids of the oldest few."""

    count: int = 0
    first: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentBudget:
    """A budget of all tasks that has no room for the next call; it has again at `until`, or when it is raised."""

    reason: str
    until: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedReplies:
    """What the built-in engine spared in the last `days`: `saved` of all `replies`, and the tasks it `solved` alone.

    A reply is saved when it stands in the place of one that a model would have been asked for.
    """

    days: float = 7.0
    replies: int = 0
    saved: int = 0
    solved: int = 0


class ExtraState(StrEnum):
    """Where an optional package stands."""

    INSTALLED = "installed"
    MISSING = "missing"
    INSTALLING = "installing"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraStatus:
    """Optional packages under one name; `detail` is the progress of an installation, or why there is none.

    `megabytes` is about what they take on disk, `purpose` what they are for, as a part of a sentence.
    """

    name: str
    purpose: str
    megabytes: int
    state: ExtraState
    detail: str = ""


def install_by_hand(extra: str) -> str:
    """The command that installs optional packages without the daemon."""
    return f"`pip install -r nightshift/requirements/{extra}.txt -c nightshift/requirements/constraints.txt`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeStatus:
    """A repository at a forge, by its address. `fault` says why it is left alone until `rests_until`, empty otherwise.

    `looked_at` is when it was last looked at with success, `issues` counts those that are followed, `pulls` the open
    pull requests among what came of them.
    """

    address: str
    kind: str
    repo: str
    fault: str = ""
    looked_at: Moment | None = None
    rests_until: Moment | None = None
    issues: int = 0
    pulls: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus:
    """The daemon as a whole; `queue` counts the tasks of each status, `approvals` what waits for its owner.

    `unread` counts the commits that he has not read. `forecast` says when the open tasks are likely to be done and what
    that costs, `forecast_range` within what bounds; both are empty where nothing is open or nobody works. `overall` is
    what follows from all that: the one state to show.
    """

    state: DaemonState
    uptime_s: float
    version: str
    workers: tuple[WorkerStatus, ...] = ()
    queue: Mapping[Status, int] = field(default_factory=dict)
    models: tuple[ModelStatus, ...] = ()
    next_checkpoint_at: Moment | None = None
    sandbox: str = ""
    sandbox_detail: str = ""
    embedder: str = ""
    workspace: str = ""
    notices: tuple[str, ...] = ()
    pid: int = 0
    approvals: int = 0
    saved: SavedReplies = field(default_factory=SavedReplies)
    holds: tuple[PauseReason, ...] = ()
    unread: int = 0
    extras: tuple[ExtraStatus, ...] = ()
    parked: ParkedTasks = field(default_factory=ParkedTasks)
    budget: SpentBudget | None = None
    forecast: str = ""
    forecast_range: str = ""
    forges: tuple[ForgeStatus, ...] = ()
    overall: Overall = NOT_KNOWN

    def __post_init__(self) -> None:
        # Whatever was given: it follows from the rest, and a field of `init=False` is left out by pydantic.
        object.__setattr__(self, "overall", overall(self))


def sandbox_in_brief(detail: str) -> tuple[str, ...]:
    """What there is to say of a sandbox: one line where it holds, and each finding that says it does not."""
    first, *findings = detail.splitlines() or [""]
    failed = tuple(line.strip() for line in findings if "FAILED" in line)
    if failed or not findings:
        return (first, *failed)
    return (f"{first}: {len(findings)} attempts to get out failed, as they should",)
