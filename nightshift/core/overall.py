"""How the daemon stands, in a word and a line: the one state that pages, terminal, `/healthz` and metrics show.

Several things may hold at once: two tasks are worked on while three others wait for their owner. The word is the one
that matters most to somebody who glances (`OverallState` has them in that order); the line names the others beside it,
so that nobody who is needed misses it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import Moment
from nightshift.core.tasks.queueing import PauseReason
from nightshift.core.tasks.states import CircuitState, DaemonState

if TYPE_CHECKING:
    from nightshift.core.status import DaemonStatus, ModelStatus


class OverallState(StrEnum):
    """The word; where several fit, the first of them."""

    OFFLINE = "offline"
    PAUSED = "paused"
    NO_MODEL = "no_model"
    NEEDS_YOU = "needs_you"
    WORKING = "working"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """How the daemon stands.

    `text` is the line (`Working 2 · 3 need you`), `why` tells in sentences what is behind a state that an owner may
    want to change, empty for one that is as it should be. `until` is when it ends by itself, as far as that is known;
    without a model, when one is looked for again. `lacks_model` tells that none can be asked, whatever the state.
    """

    state: OverallState
    text: str
    why: str = ""
    until: Moment | None = None
    lacks_model: bool = False


NOT_KNOWN = Overall(state=OverallState.OFFLINE, text="")
"""What stands in the place of a state until it is made."""


def overall(status: DaemonStatus) -> Overall:
    """The state that follows from all that is known of the daemon; `status.overall` is not looked at."""
    return replace(_overall(status), lacks_model=lacks_model(status))


def _overall(status: DaemonStatus) -> Overall:
    working = sum(worker.task_id is not None for worker in status.workers)
    for found in (_offline(status), _paused(status), _no_model(status)):
        if found:
            running = f"{working} running" if working else ""
            return _with(found, running, _asks(status))
    models = "no model" if lacks_model(status) else _beyond_the_engine(status)
    text = f"Working {working}" if working else "" if status.approvals else "Idle"
    if status.approvals:
        many = status.approvals != 1
        why = f"{status.approvals} {'decisions wait' if many else 'decision waits'} for you."
        return _with(Overall(state=OverallState.NEEDS_YOU, text=text, why=why), _asks(status), models)
    state = OverallState.WORKING if working else OverallState.IDLE
    return _with(Overall(state=state, text=text, why=_models_away(status) if lacks_model(status) else ""), models)


def lacks_model(status: DaemonStatus) -> bool:
    """Whether no model can be asked now; not while the first look at one is under way, nor where none is wanted."""
    if _engine_alone(status):
        return False
    models = [model for model in status.models if model.name != BUILT_IN]
    stopped = status.state is DaemonState.STOPPED
    return not stopped and all(model.checked_at and not _is_usable(model) for model in models)


def _offline(status: DaemonStatus) -> Overall | None:
    if status.state is not DaemonState.STOPPED:
        return None
    return Overall(state=OverallState.OFFLINE, text="Offline", why="The daemon does not run.")


def _paused(status: DaemonStatus) -> Overall | None:
    if status.state is DaemonState.DRAINING:
        why = "The daemon is stopping: no task is started, and what runs is finished or put down."
        return Overall(state=OverallState.PAUSED, text="Stopping", why=why)
    if status.holds:
        # Several reasons end one by one; when all have ended is known where each of them says it.
        ends = [hold.until for hold in status.holds]
        known = [end for end in ends if end is not None]
        until = max(known) if len(known) == len(ends) else None
        why = " ".join(map(_sentence, status.holds))
        return Overall(state=OverallState.PAUSED, text=status.holds[0].source.label, why=why, until=until)
    if status.budget is not None:
        budget = status.budget
        text, why = "Paused: budget spent", f"{budget.reason[:1].upper()}{budget.reason[1:]}."
        return Overall(state=OverallState.PAUSED, text=text, why=why, until=budget.until)
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
    """What the built-in engine cannot do, where it works without a model."""
    return f"{_waiting(status)} for a model" if _engine_alone(status) and status.parked.count else ""


def _engine_alone(status: DaemonStatus) -> bool:
    return bool(status.models) and all(model.name == BUILT_IN for model in status.models)


def _waiting(status: DaemonStatus) -> str:
    return "1 task waits" if status.parked.count == 1 else f"{status.parked.count} tasks wait"


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


def _with(found: Overall, *others: str) -> Overall:
    return replace(found, text=" · ".join(filter(None, (found.text, *others))))
