"""The states of tasks, attempts and the daemon, the one table of legal status changes, and the reason of an ending.

The database enforces this table.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Status of a task. For a task that has ended, an `Ending` says why."""

    QUEUED = "queued"
    SCHEDULED = "scheduled"
    BLOCKED = "blocked"
    SHARED = "shared"
    """The task is in the hub's queue, or on another node."""
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Ending(StrEnum):
    """The reason why a task ended."""

    COMMITTED = "committed"
    NO_CHANGE = "no_change"
    GAVE_UP = "gave_up"
    STUCK = "stuck"
    BUDGET = "budget"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    DEPENDENCY = "dependency"
    USER = "user"
    REFUSED = "refused"
    ERROR = "error"


class DaemonState(StrEnum):
    """State of the daemon as a whole."""

    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    CHECKPOINT = "checkpoint"
    DRAINING = "draining"
    STOPPED = "stopped"


class CircuitState(StrEnum):
    """State of a circuit breaker around a model's backend."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Phase(StrEnum):
    """A phase of one attempt; the first line of a system prompt contains its value."""

    CLARIFYING = "CLARIFYING"
    PLANNING = "PLANNING"
    CODING = "CODING"
    REVIEW = "REVIEW"
    AUDIT = "AUDIT"
    TESTING = "TESTING"
    REFLECTING = "REFLECTING"
    COMMIT = "COMMIT"
    ABANDON = "ABANDON"
    AWAITING_APPROVAL = "HOLD"
    SPLIT = "SPLIT"


class Outcome(StrEnum):
    """Outcome of a phase, which the phase table maps to the next phase."""

    OK = "ok"
    REDO = "redo"
    REPLAN = "replan"
    GIVE_UP = "give_up"
    NEEDS_APPROVAL = "hold"
    SPLIT = "split"


# Phases in which the state machine of an attempt stops.
TERMINAL_PHASES = frozenset({Phase.COMMIT, Phase.ABANDON, Phase.AWAITING_APPROVAL, Phase.SPLIT})

_S = Status
MOVES: dict[Status, frozenset[Status]] = {
    _S.QUEUED: frozenset({_S.RUNNING, _S.SCHEDULED, _S.BLOCKED, _S.SHARED, _S.FAILED, _S.CANCELLED}),
    _S.SCHEDULED: frozenset({_S.QUEUED, _S.BLOCKED, _S.SHARED, _S.FAILED, _S.CANCELLED}),
    _S.BLOCKED: frozenset({_S.QUEUED, _S.SCHEDULED, _S.SHARED, _S.FAILED, _S.CANCELLED}),
    _S.SHARED: frozenset({_S.QUEUED, _S.DONE, _S.FAILED, _S.CANCELLED}),
    _S.RUNNING: frozenset(set(_S) - {_S.RUNNING}),  # Moves to BLOCKED while its subtasks are worked on
    _S.WAITING: frozenset({_S.QUEUED, _S.SHARED, _S.FAILED, _S.CANCELLED}),
    # Moves to DONE if the owner integrates the commit that the task left on its branch.
    _S.FAILED: frozenset({_S.QUEUED, _S.SCHEDULED, _S.BLOCKED, _S.SHARED, _S.DONE}),
    _S.DONE: frozenset(),
    _S.CANCELLED: frozenset({_S.QUEUED, _S.SCHEDULED, _S.BLOCKED, _S.SHARED, _S.DONE}),
}

OPEN = frozenset({_S.QUEUED, _S.SCHEDULED, _S.BLOCKED, _S.SHARED, _S.RUNNING, _S.WAITING})
ENDED = frozenset(_S) - OPEN


def may_move(start: Status, end: Status) -> bool:
    """Return True if the table allows the change from status `start` to status `end`."""
    return end in MOVES[start]


# The reason why a task ended, as text. The stored reason begins with the ending, so that equal endings can be counted.
# Lists of tasks show the failure first.

_FAILURE = ". Last failure: "


def with_failure(ending: str, failure: str) -> str:
    """Append the failure to the text of an ending, such as “Gave up after 4 tries, the limit”."""
    return f"{ending}{_FAILURE}{failure}"


def cause_first(reason: str) -> str:
    """Return a reason in one line, the failure first and the ending in brackets; unchanged if it has no failure."""
    ending, separator, failure = reason.partition(_FAILURE)
    if not separator or not failure.strip():
        return reason
    brief = ending.partition(":")[0].partition(",")[0].strip()
    return f"{' '.join(failure.split())} ({brief[:1].lower()}{brief[1:]})"
