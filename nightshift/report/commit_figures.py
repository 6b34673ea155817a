"""The figures on commits: how many, how large, what vouches for them, what became of them, and which to read first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.events import Kind
from nightshift.core.tasks.change_checks import AskKind
from nightshift.core.tasks.verdicts import Label
from nightshift.report.plots import Part, Tone
from nightshift.report.risk import Around, Level, Ranked, ordered, rank
from nightshift.report.stats import counted
from nightshift.storage.db.report_queries import AskRow, CommitRow, FailureRow, LogRow

KINDS = (Kind.REGRESSION, Kind.CONFLICT, Kind.PUSH_FAILED, Kind.REVERTED, Kind.REVIEWED)
_TONES = {
    Label.VERIFIED: Tone.GOOD,
    Label.TESTS_PASSED: Tone.PLAIN,
    Label.DOCUMENTED: Tone.PLAIN,
    Label.REMOVED: Tone.PLAIN,
    Label.SELF_TESTED: Tone.WARN,
    Label.EXIT_CODE: Tone.BAD,
}
_PATCHED = re.compile(r"^(?:--- a/|\+\+\+ b/)(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The commits in one repository; `name` is empty for the daemon's own."""

    name: str
    commits: int
    added: int
    removed: int
    unknown: int
    """Commits whose size is not known."""
    integrated: int
    pushed: int
    reverted: int
    reviewed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFigures:
    """The commits of the span; `ranked` has all of them, those to be read first in front."""

    repositories: Sequence[Repository]
    total: Repository
    labels: Mapping[str, int]
    ranked: Sequence[Ranked]
    unread_before: int
    """Commits older than the span that nobody has read."""

    @property
    def unread(self) -> int:
        """Those of the span that were neither read nor reverted."""
        return sum(not one.decided for one in self.ranked)

    def unread_at(self, level: Level) -> int:
        """How many of the unread ones have this level."""
        return sum(not one.decided and one.level == level for one in self.ranked)

    @property
    def verdicts(self) -> list[Part]:
        """How many rest on which kind of verdict, the strongest first."""
        order = [*map(str, _TONES), "unknown"]
        labels = sorted(self.labels, key=lambda name: order.index(name) if name in order else len(order))
        tones = {str(label): tone for label, tone in _TONES.items()}
        return [
            Part(name=name.replace("_", " "), count=self.labels[name], tone=tones.get(name, Tone.DIM))
            for name in labels
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the ranks look at besides the commits: failures, asks, first uses of packages, and the log."""

    failures: Sequence[FailureRow]
    asks: Sequence[AskRow]
    first_uses: Mapping[tuple[str, str], int]
    log: Sequence[LogRow]


def fold(commits: Sequence[CommitRow], around: Surroundings, unread_before: int) -> CommitFigures:
    """The figures of the commits of a span."""
    names = counted(commit.asked_repo for commit in commits)
    return CommitFigures(
        repositories=[_repository(name, [c for c in commits if c.asked_repo == name]) for name in names],
        total=_repository("", commits),
        labels=counted(commit.label or "unknown" for commit in commits),
        ranked=ranked(commits, around),
        unread_before=unread_before,
    )


def ranked(commits: Sequence[CommitRow], around: Surroundings) -> list[Ranked]:
    """The commits with their ranks, those to be read first in front."""
    touched = [(failure, patched(failure.code)) for failure in around.failures if failure.code]
    return ordered(rank(commit, _around(commit, around, touched)) for commit in commits)


def patched(code: str) -> frozenset[str]:
    """The paths that a stored patch names."""
    return frozenset(_PATCHED.findall(code)) - {"/dev/null"}


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """A short name for each repository: the end of its path, as much of it as tells them apart."""
    found = {}
    for path in paths:
        parts = [part for part in re.split(r"[/\\]", path) if part]
        depth = next(
            (n for n in range(1, len(parts)) if sum(other.endswith("/".join(parts[-n:])) for other in paths) == 1),
            len(parts),
        )
        found[path] = "/".join(parts[-depth:]) if parts else "workspace"
    return found


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


def _around(
    commit: CommitRow, around: Surroundings, touched: Iterable[tuple[FailureRow, frozenset[str]]]
) -> Around:  # fmt: skip
    packages = sorted(commit.signs.packages) if commit.signs else []
    paths = {file.path for file in commit.files or ()}
    later = {
        failure.task_id
        for failure, names in touched
        if failure.task_id not in {None, commit.task_id}
        and failure.at > commit.at
        and failure.repo == commit.asked_repo
        and names & paths
    }
    mine = [ask for ask in around.asks if ask.task_id == commit.task_id and ask.granted]
    return Around(
        granted=sorted({ask.subject for ask in mine if ask.kind is AskKind.FINDING and not ask.assumed}),
        first_packages=[p for p in packages if around.first_uses.get((commit.asked_repo, p)) == commit.task_id],
        later_failures=sorted(task for task in later if task is not None),
        regressions=_regressions(commit, around.log),
    )


def _regressions(commit: CommitRow, log: Iterable[LogRow]) -> list[str]:
    rows = [row for row in log if row.kind == Kind.REGRESSION and row.data.get("commit") == commit.commit]
    return sorted({str(test) for row in rows for test in row.data.get("tests", ())})
