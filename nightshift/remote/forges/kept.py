"""The stored state of each issue across restarts: its task, the comments on it, its pull request and follow-ups.

Correctness does not depend on it. Tasks are found again by their keys, comments by their markers, pull requests by
their branches. This state saves looking for them, and shows what has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nightshift.remote.forges.port import PullState

MOST = 500
"""Maximum number of issues kept; beyond it, issues that are over are removed first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followup:
    """A task that a comment or a failed check asked for; `pushed` is its last commit that the forge has."""

    key: str
    task_id: int
    what: str
    text: str = ""
    pushed: str = ""
    part: str = ""
    """The origin of a follow-up: the id of a comment, or `checks:` and a commit."""

    @property
    def of_checks(self) -> bool:
        """True if failed checks asked for it."""
        return self.part.startswith("checks:") or ":checks:" in self.key  # older records have no part

    @property
    def of_issue(self) -> bool:
        """True if a comment on the issue itself asked for it."""
        return self.part.startswith("i")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPull:
    """A pull request that was opened for an issue."""

    number: int
    url: str
    branch: str
    state: PullState
    comment: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """One issue. `text`, `said` and a pull request's `said` are digests of the text read, and of the texts written."""

    number: int
    key: str
    wanted: bool = True
    """True if the issue is open and has the label."""
    text: str = ""
    task_id: int | None = None
    fault: str = ""
    """Why there is no task, or what is wrong with its labels, for the issue's author."""
    note: str = ""
    comment: str = ""
    said: str = ""
    pushed: str = ""
    pull: KeptPull | None = None
    followups: tuple[Followup, ...] = ()

    @property
    def over(self) -> bool:
        """True if nothing more is expected: the issue is closed, and so is its pull request, if there was one."""
        return not self.wanted and (self.pull is None or self.pull.state is not PullState.OPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The stored state of one connection."""

    issues: Mapping[int, Tracked] = field(default_factory=dict)

    def with_issue(self, tracked: Tracked) -> Kept:
        """Return a copy with this issue added or replaced."""
        issues = {**self.issues, tracked.number: tracked}
        surplus = len(issues) - MOST
        if surplus > 0:
            ends = sorted((number for number, each in issues.items() if each.over and number != tracked.number))
            issues = {number: each for number, each in issues.items() if number not in set(ends[:surplus])}
        return replace(self, issues=issues)
