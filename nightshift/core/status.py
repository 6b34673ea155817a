"""Status of the daemon, as shown by `/api/status`, the dashboard's header and `nightshift status`.

The overall state is one word and a line, which pages, the terminal, `/healthz` and metrics show. Several states may
apply at once, for example if two tasks run while three others wait for the owner. The word names the most important
state (`OverallState` lists the states in order of importance). The line also names the other states, so that the owner
misses no request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import Moment
from nightshift.core.tasks.queueing import PauseReason
from nightshift.core.tasks.states import CircuitState, DaemonState, Phase, Status
from nightshift.core.tools import ToolProtocol


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
    """A worker that was restarted.

    `task_id` is the task that was stopped for the restart, None if the worker was idle.
    """

    name: str
    task_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """One backend of the chain of models.

    `cost_usd` excludes the `unpriced` calls, whose cost is unknown. If routing is by measured results, `measured` says
    for each kind of task how many attempts the model began, and how many of these attempts it solved. `protocol` is the
    form in which the model is offered tools; None for the built-in engine. `malformed_share` (0 to 1) is the share of
    the model's replies in that form that could not be parsed; None if it sent no replies in that form. `form` tells the
    owner why the model is asked in a form other than the default. `available` was determined at `checked_at` (None: the
    first check is running), has not changed since `since`, and is checked again at `next_check_at`.
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
    form: str = ""
    checked_at: Moment | None = None
    since: Moment | None = None
    next_check_at: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedTasks:
    """Tasks that continue when a model or a budget is available. `first` contains the ids of the oldest few."""

    count: int = 0
    first: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A resource outside the tasks that is unreachable, full or locked, and the number of tasks that wait for it.

    `what` names the resource.
    """

    what: str
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentBudget:
    """A budget for all tasks that is too small for the next call.

    It is too small until the time `until`, or until the owner raises it.
    """

    reason: str
    until: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedReplies:
    """Number of replies that the built-in engine `saved`, of all `replies` in the last `days`.

    A reply is saved if a model would otherwise have been asked for it. `solved` counts the tasks that the engine solved
    without any model.
    """

    days: float = 7.0
    replies: int = 0
    saved: int = 0
    solved: int = 0


class ExtraState(StrEnum):
    """State of an optional package."""

    INSTALLED = "installed"
    MISSING = "missing"
    INSTALLING = "installing"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraStatus:
    """Optional packages under one name.

    `detail` is the progress of an installation, or the reason why nothing is installed. `megabytes` is the approximate
    size on disk. `purpose` is worded as a part of a sentence.
    """

    name: str
    purpose: str
    megabytes: int
    state: ExtraState
    detail: str = ""


def install_by_hand(extra: str) -> str:
    """Return the command that installs optional packages without the daemon."""
    return f"`pip install -r nightshift/requirements/{extra}.txt -c nightshift/requirements/constraints.txt`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeStatus:
    """A repository at a forge, by its address.

    `fault` says why the repository is not polled until `rests_until`; empty if it is polled. `looked_at` is the time of
    the last successful poll. `issues` counts the followed issues. `pulls` counts the open pull requests that resulted
    from these issues.
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


class OverallState(StrEnum):
    """The overall state in one word; if several states apply, the one that is listed first."""

    OFFLINE = "offline"
    PAUSED = "paused"
    NO_MODEL = "no_model"
    NEEDS_YOU = "needs_you"
    WORKING = "working"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """The overall state of the daemon.

    `text` is the line (`Working 2 · 3 need you`). `why` explains a state that the owner may want to change, in
    sentences; it is empty for a normal state. `until` is the time at which the state ends without the owner, if known.
    If no model is available, it is the time of the next check of the models. `lacks_model` is True if no model can be
    asked, whatever the state.
    """

    state: OverallState
    text: str
    why: str = ""
    until: Moment | None = None
    lacks_model: bool = False


NOT_KNOWN = Overall(state=OverallState.OFFLINE, text="")
"""Placeholder until the real state is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus:
    """The daemon as a whole. `queue` counts the tasks of each status; `approvals` counts the owner's open decisions.

    `unread` counts the commits that the owner has not read. `forecast` says when the open tasks are likely to be done
    and how much they will cost. `forecast_range` gives the range of this forecast. Both are empty if no task is open or
    no task is worked on. `overall` is the one state that follows from all the other fields.
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
    troubles: tuple[Trouble, ...] = ()
    budget: SpentBudget | None = None
    forecast: str = ""
    forecast_range: str = ""
    forges: tuple[ForgeStatus, ...] = ()
    overall: Overall = NOT_KNOWN

    def __post_init__(self) -> None:
        # Any given value of `overall` is replaced, because it follows from the other fields. The field cannot be
        # declared with `init=False`, because pydantic omits such fields.
        object.__setattr__(self, "overall", overall(self))


def overall(status: DaemonStatus) -> Overall:
    """Return the overall state that follows from the other fields; `status.overall` is ignored."""
    return replace(_overall(status), lacks_model=lacks_model(status))


def _overall(status: DaemonStatus) -> Overall:
    working = sum(worker.task_id is not None for worker in status.workers)
    for overall in (_offline(status), _describe_pause(status), _no_model(status)):
        if overall:
            running = f"{working} running" if working else ""
            return _with(overall, running, _asks(status))
    models = "no model" if lacks_model(status) else _beyond_the_engine(status)
    waiting = _put_off(status)
    text = f"Working {working}" if working else "" if status.approvals or waiting else "Idle"
    if status.approvals:
        many = status.approvals != 1
        why = f"{status.approvals} {'decisions wait' if many else 'decision waits'} for you."
        return _with(Overall(state=OverallState.NEEDS_YOU, text=text, why=why), _asks(status), waiting, models)
    if waiting and not working:
        why = " ".join(f"{_tasks(each.tasks)} for: {each.what}." for each in status.troubles)
        return _with(Overall(state=OverallState.PAUSED, text=waiting, why=why), models)
    state = OverallState.WORKING if working else OverallState.IDLE
    why = _models_away(status) if lacks_model(status) else ""
    return _with(Overall(state=state, text=text, why=why), waiting, models)


def _put_off(status: DaemonStatus) -> str:
    """Count the tasks that wait for resources outside the tasks, and name the first resource."""
    if not status.troubles:
        return ""
    more = f" and {len(status.troubles) - 1} more" if len(status.troubles) > 1 else ""
    return f"{_tasks(sum(each.tasks for each in status.troubles))} for: {status.troubles[0].what}{more}"


def lacks_model(status: DaemonStatus) -> bool:
    """Return True if no model can be asked now.

    The result is False during the first check of models, or if no model is configured.
    """
    if _engine_alone(status):
        return False
    models = [model for model in status.models if model.name != BUILT_IN]
    stopped = status.state is DaemonState.STOPPED
    return not stopped and all(model.checked_at and not _is_usable(model) for model in models)


def _offline(status: DaemonStatus) -> Overall | None:
    if status.state is not DaemonState.STOPPED:
        return None
    return Overall(state=OverallState.OFFLINE, text="Offline", why="The daemon is not running.")


def _describe_pause(status: DaemonStatus) -> Overall | None:
    if status.state is DaemonState.DRAINING:
        why = "The daemon is stopping: no task is started, and running tasks finish or are put down."
        return Overall(state=OverallState.PAUSED, text="Stopping", why=why)
    if status.holds:
        # The pause ends when its last reason ends, so its end is known only if each reason has a known end.
        ends = [hold.until for hold in status.holds]
        known_ends = [end for end in ends if end is not None]
        until = max(known_ends) if len(known_ends) == len(ends) else None
        why = " ".join(map(_sentence, status.holds))
        return Overall(state=OverallState.PAUSED, text=status.holds[0].source.label, why=why, until=until)
    if status.budget is not None:
        budget = status.budget
        text, why = "Paused: budget spent", f"{budget.reason[:1].upper()}{budget.reason[1:]}."
        return Overall(state=OverallState.PAUSED, text=text, why=why, until=budget.until)
    if status.state is DaemonState.STARTING:
        why = "The daemon is starting; tasks start when the sandbox has passed its self-test."
        return Overall(state=OverallState.PAUSED, text="Starting", why=why)
    if not status.sandbox and status.sandbox_detail:
        why = "No sandbox works here, so nothing is executed and no task is started."
        return Overall(state=OverallState.PAUSED, text="Paused: no sandbox", why=why)
    return None


def _no_model(status: DaemonStatus) -> Overall | None:
    if not status.parked.count or not lacks_model(status):
        return None
    waiting = _waiting(status)
    next_try = min((model.next_check_at for model in status.models if model.next_check_at), default=None)
    return Overall(state=OverallState.NO_MODEL, text=f"No model · {waiting}", why=_models_away(status), until=next_try)


def _beyond_the_engine(status: DaemonStatus) -> str:
    """Describe the tasks that wait for a model although only the built-in engine is configured; empty if none."""
    return f"{_waiting(status)} for a model" if _engine_alone(status) and status.parked.count else ""


def _engine_alone(status: DaemonStatus) -> bool:
    return bool(status.models) and all(model.name == BUILT_IN for model in status.models)


def _waiting(status: DaemonStatus) -> str:
    return _tasks(status.parked.count)


def _tasks(count: int) -> str:
    return "1 task waits" if count == 1 else f"{count} tasks wait"


def _models_away(status: DaemonStatus) -> str:
    models = [model for model in status.models if model.name != BUILT_IN]
    whys = "; ".join(f"{model.name} {model.model}".strip() + f": {model.detail}" for model in models if model.detail)
    return f"No model answers ({whys})." if whys else "No model answers."


def _is_usable(model: ModelStatus) -> bool:
    return model.available and model.circuit is not CircuitState.OPEN


def _asks(status: DaemonStatus) -> str:
    if not status.approvals:
        return ""
    return f"{status.approvals} {'needs' if status.approvals == 1 else 'need'} you"


def _sentence(hold: PauseReason) -> str:
    reason = f" ({hold.reason})" if hold.reason else ""
    return f"{hold.source.label}{reason}; tasks are started again {hold.lifted_by}."


def _with(overall: Overall, *others: str) -> Overall:
    return replace(overall, text=" · ".join(filter(None, (overall.text, *others))))


def sandbox_in_brief(detail: str) -> tuple[str, ...]:
    """Shorten the report on a sandbox to one line; if checks failed, a line for each of them follows."""
    first, *findings = detail.splitlines() or [""]
    failed = tuple(line.strip() for line in findings if "FAILED" in line)
    if failed or not findings:
        return (first, *failed)
    return (f"{first}: {len(findings)} escape attempts blocked",)
