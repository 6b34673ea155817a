"""The report's figures about commits: number, size, evidence, what happened to them, and which to read first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.events import Kind
from nightshift.core.tasks.change_checks import AskKind
from nightshift.report.risk import Around, Level, Ranked, in_order, rank
from nightshift.report.stats import count_each
from nightshift.storage.db.report_queries import AskRow, CommitRow, FailureRow, LogRow

_PATCHED = re.compile(r"^(?:--- a/|\+\+\+ b/)(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The commits of a span in one repository; `name` is empty for the daemon's own workspace."""

    name: str
    commits: int
    added: int
    removed: int
    unknown: int
    """Number of commits whose changed lines are not known."""
    integrated: int
    pushed: int
    reverted: int
    reviewed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFigures:
    """The commits of the span. `ranked` has all of them, in the order in which they should be read."""

    repositories: Sequence[Repository]
    total: Repository
    labels: Mapping[str, int]
    ranked: Sequence[Ranked]
    unread_before: int
    """Number of commits older than the span that the owner has not read."""

    @property
    def unread(self) -> int:
        """Number of commits of the span that were neither read nor reverted."""
        return sum(not ranked.decided for ranked in self.ranked)

    def unread_at(self, level: Level) -> int:
        """Count the unread commits with this risk level."""
        return sum(not ranked.decided and ranked.level == level for ranked in self.ranked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The inputs of the ranking besides the commits: failures, questions, first uses of packages, and events."""

    failures: Sequence[FailureRow]
    asks: Sequence[AskRow]
    first_uses: Mapping[tuple[str, str], int]
    log: Sequence[LogRow]


def fold(commits: Sequence[CommitRow], around: Surroundings, unread_before: int) -> CommitFigures:
    """Compute the figures of the commits of a span."""
    names = count_each(commit.asked_repo for commit in commits)
    return CommitFigures(
        repositories=[_repository(name, [c for c in commits if c.asked_repo == name]) for name in names],
        total=_repository("", commits),
        labels=count_each(commit.label or "unknown" for commit in commits),
        ranked=rank_commits(commits, around),
        unread_before=unread_before,
    )


def rank_commits(commits: Sequence[CommitRow], around: Surroundings) -> list[Ranked]:
    """Return the commits with their ranks, in the order in which they should be read."""
    touching, granted, regressions = _by_path(around), _find_granted(around), _regressions(around)
    return in_order(
        rank(commit, Around(
            granted=sorted(granted[commit.task_id]),
            first_packages=_first_packages(commit, around),
            later_failures=sorted({
                failure.task_id
                for file in commit.files or ()
                for failure in touching.get((commit.asked_repo, file.path), ())
                if failure.task_id is not None and failure.task_id != commit.task_id and failure.at > commit.at
            }),
            regressions=sorted(regressions[commit.commit]),
        ))
        for commit in commits
    )  # fmt: skip


def paths_in(code: str) -> frozenset[str]:
    """Return the paths that a stored patch names."""
    return frozenset(_PATCHED.findall(code)) - {"/dev/null"}


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return a short name for each repository: the shortest end of its path that is unique among `paths`."""
    names = {}
    for path in paths:
        parts = [part for part in re.split(r"[/\\]", path) if part]
        depth = next(
            (n for n in range(1, len(parts)) if sum(other.endswith("/".join(parts[-n:])) for other in paths) == 1),
            len(parts),
        )
        names[path] = "/".join(parts[-depth:]) if parts else "workspace"
    return names


def _repository(name: str, commits: Sequence[CommitRow]) -> Repository:
    files = [file for commit in commits for file in commit.files or ()]
    return Repository(
        name=name,
        commits=len(commits),
        added=sum(file.added or 0 for file in files),
        removed=sum(file.removed or 0 for file in files),
        unknown=sum(commit.files is None for commit in commits),
        integrated=sum(commit.integrated for commit in commits),
        pushed=sum(commit.pushed for commit in commits),
        reverted=sum(commit.reverted for commit in commits),
        reviewed=sum(commit.reviewed and not commit.reverted for commit in commits),
    )


def _by_path(around: Surroundings) -> Mapping[tuple[str, str], Sequence[FailureRow]]:
    """Group the failures by repository and path; a failure appears under each file that its patch changed."""
    failures = defaultdict[tuple[str, str], list[FailureRow]](list)
    for failure in around.failures:
        for path in paths_in(failure.code) if failure.code else ():
            failures[failure.repo, path].append(failure)
    return failures


def _find_granted(around: Surroundings) -> Mapping[int, set[str]]:
    """Map task ids to the subjects of the findings that the owner allowed. Consent by timeout does not count."""
    subjects_by_task = defaultdict[int, set[str]](set)
    for ask in around.asks:
        if ask.granted and ask.kind is AskKind.FINDING and not ask.assumed:
            subjects_by_task[ask.task_id].add(ask.subject)
    return subjects_by_task


def _regressions(around: Surroundings) -> Mapping[str, set[str]]:
    """Map commit ids to the tests that began to fail with the commit."""
    regressions = defaultdict[str, set[str]](set)
    for row in around.log:
        if row.kind == Kind.REGRESSION:
            regressions[str(row.data.get("commit"))].update(map(str, row.data.get("tests", ())))
    return regressions


def _first_packages(commit: CommitRow, around: Surroundings) -> list[str]:
    packages = sorted(commit.signs.packages) if commit.signs else []
    return [each for each in packages if around.first_uses.get((commit.asked_repo, each)) == commit.task_id]
