"""The state of each issue that is stored across restarts: its task, its comments, its pull request and its follow-ups.

Correctness does not depend on this state. Without it, tasks are found by their keys, comments by their markers, and
pull requests by their branches. The state saves these searches, and shows what has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nightshift.remote.forges.port import PullState

MOST = 500
"""Maximum number of issues whose state is stored. If there are more, issues that are over are removed first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followup:
    """A task that a comment or a failed check has requested.

    Attributes:
        key: the task's idempotency key.
        task_id: the task.
        what: a one-line description of the request.
        text: digest of the task's description.
        pushed: the last commit of the task that was pushed to the forge.
    """

    key: str
    task_id: int
    what: str
    text: str = ""
    pushed: str = ""
    part: str = ""
    """The origin of a follow-up: the id of a comment, or `checks:` and a commit."""

    @property
    def of_checks(self) -> bool:
        """True if failed checks requested the follow-up."""
        return self.part.startswith("checks:") or ":checks:" in self.key  # older records have no part

    @property
    def of_issue(self) -> bool:
        """True if a comment on the issue itself requested the follow-up."""
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
    """The state of one issue.

    `text` is a digest of the issue's text. `said` is a digest of the comment that Nightshift wrote on the issue. The
    field `said` of `pull` is the same for the comment on the pull request.
    """

    number: int
    key: str
    wanted: bool = True
    """True if the issue is open and has the label."""
    text: str = ""
    task_id: int | None = None
    fault: str = ""
    """The reason why there is no task, or the faults of the issue's labels, in words for the issue's author."""
    note: str = ""
    comment: str = ""
    said: str = ""
    pushed: str = ""
    pull: KeptPull | None = None
    followups: tuple[Followup, ...] = ()

    @property
    def over(self) -> bool:
        """True if the issue is closed or has lost its label, and its pull request, if there is one, is closed too."""
        return not self.wanted and (self.pull is None or self.pull.state is not PullState.OPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The stored state of all issues of one connection."""

    issues: Mapping[int, Tracked] = field(default_factory=dict)

    def with_issue(self, tracked: Tracked) -> Kept:
        """Return a copy in which this issue is added or replaced."""
        issues = {**self.issues, tracked.number: tracked}
        surplus = len(issues) - MOST
        if surplus > 0:
            ends = sorted((number for number, each in issues.items() if each.over and number != tracked.number))
            issues = {number: each for number, each in issues.items() if number not in set(ends[:surplus])}
        return replace(self, issues=issues)
