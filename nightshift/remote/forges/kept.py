"""The memory of each issue over restarts: its task, the comments on it, its pull request and follow-ups.

None of it is needed to be right. Tasks are found again by their keys, comments by their markers, pull requests by their
branches; what is kept here spares looking for them, and tells what has changed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nightshift.remote.forges.port import PullState

MOST = 500
"""So many issues are kept; beyond it those go first that have come to their end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followup:
    """A task that a comment or a failed check asked for; `pushed` is the last of its commits that the forge has."""

    key: str
    task_id: int
    what: str
    text: str = ""
    pushed: str = ""
    part: str = ""
    """The origin of a follow-up: the id of a comment, or `checks:` and a commit."""

    @property
    def of_checks(self) -> bool:
        """Whether failed checks asked for it."""
        return self.part.startswith("checks:") or ":checks:" in self.key  # the part was not always kept

    @property
    def of_issue(self) -> bool:
        """Whether a comment on the issue itself asked for it."""
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
    """One issue. `text`, `said` and a pull request's `said` are digests of what was read, and what was written."""

    number: int
    key: str
    wanted: bool = True
    """Whether it is open and has the label."""
    text: str = ""
    task_id: int | None = None
    fault: str = ""
    """Why there is no task, or what is wrong with its labels, for whoever wrote them."""
    note: str = ""
    comment: str = ""
    said: str = ""
    pushed: str = ""
    pull: KeptPull | None = None
    followups: tuple[Followup, ...] = ()

    @property
    def over(self) -> bool:
        """Whether nothing more is expected: it is closed, and its pull request, if there was one, as well."""
        return not self.wanted and (self.pull is None or self.pull.state is not PullState.OPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """All of one connection."""

    issues: Mapping[int, Tracked] = field(default_factory=dict)

    def with_issue(self, tracked: Tracked) -> Kept:
        """The same with this issue as it is now."""
        issues = {**self.issues, tracked.number: tracked}
        surplus = len(issues) - MOST
        if surplus > 0:
            ends = sorted((number for number, each in issues.items() if each.over and number != tracked.number))
            issues = {number: each for number, each in issues.items() if number not in set(ends[:surplus])}
        return replace(self, issues=issues)
