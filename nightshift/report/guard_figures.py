"""The report's figures about what protected this machine: the checker, the hooks, the sandbox and the owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from nightshift.core.events import Kind
from nightshift.report.stats import Spread, count_each, spread
from nightshift.storage.db.report_queries import AskRow, FailureRow, LogRow

KINDS = (Kind.COMMAND_BLOCKED, Kind.GATE_FINDING, Kind.FILES_DROPPED, Kind.PACKAGE_INSTALLED, Kind.SUITE_JUDGED)
KILLED = {
    "Timeout": "ran too long",
    "OutOfMemory": "used too much memory",
    "OutputLimit": "printed too much",
    "Crash": "ended by itself",
    "InternalError": "broke the test framework",
}
"""Reasons for which the sandbox ended a run, by the kind of the failure."""
SHOWN = 8
FAMILIES = frozenset({"python", "js", "command", "package", "bandit", "checker"})
"""Families of checker rules. A rule's family is the part of its name before the first dot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFigures:
    """Figures about questions to the owner.

    `wait_s` is about the questions that were answered in the span, `open_s` about the questions that are still open.
    """

    asked: int
    granted: int
    denied: int
    still_open: int
    by_kind: Mapping[str, int]
    wait_s: Spread
    open_s: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFigures:
    """The figures of a span about the guards.

    `blocked` is computed from stored failures, `asks` from stored questions, and all other figures from the log.
    """

    blocked: Mapping[str, int]
    """Maps a rule to the number of tries that it rejected."""
    killed: Mapping[str, int]
    """Maps a reason to the number of tries that the sandbox ended for it."""
    commands: Mapping[str, int]
    """Maps a pattern to the number of commands that the hooks refused for it."""
    notes: int
    left_out: int
    installed: Sequence[str]
    asks: AskFigures

    @property
    def for_packages(self) -> int:
        """Number of tries that were rejected because of packages."""
        return sum(times for rule, times in self.blocked.items() if rule.startswith("package."))

    @property
    def commonest(self) -> list[tuple[str, str, int]]:
        """The most common reasons for stopping something, as tuples of guard, reason and count."""
        counts = {"gate": self.blocked, "sandbox": self.killed, "hook": self.commands}
        stops = [(by, why, times) for by, each in counts.items() for why, times in each.items()]
        return sorted(stops, key=lambda stop: -stop[2])[:SHOWN]


def fold(
    failures: Sequence[FailureRow], asks: Sequence[AskRow], log: Sequence[LogRow], since: datetime, until: datetime
) -> GuardFigures:
    """Compute the figures of a span."""
    kinds = [failure.kind for failure in failures]
    packages = {name for row in log if row.kind == Kind.PACKAGE_INSTALLED for name in row.data.get("packages", ())}
    commands = [row for row in log if row.kind == Kind.COMMAND_BLOCKED]
    return GuardFigures(
        blocked=count_each(kind for kind in kinds if is_rule(kind)),
        killed=count_each(KILLED[kind] for row in log for kind in row.data.get("kinds", ()) if kind in KILLED),
        commands=count_each(str(row.data.get("pattern") or "unknown") for row in commands),
        notes=sum(row.kind == Kind.GATE_FINDING and row.data.get("severity") == "note" for row in log),
        left_out=sum(row.kind == Kind.FILES_DROPPED for row in log),
        installed=sorted(packages),
        asks=_asks(asks, since, until),
    )


def is_rule(kind: str) -> bool:
    """Check whether a failure's kind is a checker rule: a family, a dot and a name, all in lower case."""
    family, dot, name = kind.partition(".")
    return bool(dot and name) and family in FAMILIES and kind == kind.lower() and " " not in kind


def _asks(asks: Iterable[AskRow], since: datetime, until: datetime) -> AskFigures:
    listed = list(asks)
    new = [ask for ask in listed if ask.asked_at >= since]
    answered = [(ask, ask.answered_at) for ask in listed if ask.answered_at]
    waiting = [ask for ask in listed if ask.answered_at is None]
    return AskFigures(
        asked=len(new),
        granted=sum(bool(ask.granted) for ask, _ in answered),
        denied=sum(ask.granted is False for ask, _ in answered),
        still_open=len(waiting),
        by_kind=count_each(str(ask.kind) for ask in new),
        wait_s=spread((at - ask.asked_at).total_seconds() for ask, at in answered),
        open_s=spread((until - ask.asked_at).total_seconds() for ask in waiting),
    )
