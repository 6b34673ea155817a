"""What was found when a commit was looked at again: single checks, and the judgement that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.verdicts import Label


class Standing(StrEnum):
    """What became of one thing that the note says.

    CHANGED is other than then and refutes nothing, such as a newer Python; FAILED refutes.
    """

    OK = "ok"
    CHANGED = "CHANGED"
    FAILED = "FAILED"
    UNCHECKED = "not checked"


class Judgement(StrEnum):
    """What all checks say together. UNKNOWN: nothing speaks against the commit, and nothing was run."""

    HOLDS = "holds"
    BROKEN = "does not hold"
    UNKNOWN = "not verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at, in words for the owner."""

    what: str
    standing: Standing
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A commit that was looked at again. `ran` tells whether its tests were run; `label` is the note's, None without.

    `duration_s` is the time that the run took.
    """

    commit: str
    subject: str
    task: int | None
    label: Label | None
    checks: tuple[Check, ...]
    ran: bool = False
    duration_s: float = 0.0

    @property
    def judgement(self) -> Judgement:
        """FAILED in any check breaks it; without a run nothing can hold."""
        if any(check.standing is Standing.FAILED for check in self.checks):
            return Judgement.BROKEN
        return Judgement.HOLDS if self.ran else Judgement.UNKNOWN

    @property
    def sentence(self) -> str:
        """The judgement with its reason."""
        failed = [check.what for check in self.checks if check.standing is Standing.FAILED]
        left = [check.what for check in self.checks if check.standing is Standing.UNCHECKED]
        if failed:
            return f"{Judgement.BROKEN}: {', '.join(failed)}"
        if not self.ran:
            return f"{Judgement.UNKNOWN}: nothing was run"
        but = f", but for what could not be checked ({', '.join(left)})" if left else ""
        return f"{Judgement.HOLDS}: {self.label}, run again in {self.duration_s:.1f} s{but}"


def ok(what: str, detail: str) -> Check:
    """As it was."""
    return Check(what=what, standing=Standing.OK, detail=detail)


def changed(what: str, detail: str) -> Check:
    """Other than it was, which refutes nothing."""
    return Check(what=what, standing=Standing.CHANGED, detail=detail)


def failed(what: str, detail: str) -> Check:
    """Refuted."""
    return Check(what=what, standing=Standing.FAILED, detail=detail)


def unchecked(what: str, detail: str) -> Check:
    """Could not be looked at."""
    return Check(what=what, standing=Standing.UNCHECKED, detail=detail)


def same(what: str, then: object, now: object) -> Check:
    """A property of the run that may change without harm."""
    return ok(what, f"{now}") if then == now else changed(what, f"{then} then, {now} now")


def listed(names: list[str], most: int = 3) -> str:
    """A few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
