"""Ranks commits by how much they are worth reading: a sum of points, each with its reason.

The best predictors of faults are the size of a change, the number and kind of files that it touches, and what happened
to these files before (Y. Kamei et al., “A large-scale empirical study of just-in-time quality assurance”, IEEE
Transactions on Software Engineering 39 (2013), 757-773). The agent also knows something about its own work: how
reliable the verdict is, how many tries were needed, and what its checker said. The points are a judgement, not a
probability. They are defined only in `WEIGHTS` and `AREAS`, and the report shows which of them make up a rank.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nightshift.core.program import format_command
from nightshift.core.tasks.remarks import Gravity, Remark
from nightshift.core.tasks.verdicts import Label
from nightshift.core.text.faults import name_first
from nightshift.storage.db.report_queries import CommitRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """One cause of risk. Each occurrence adds `points`, up to `most` for one commit."""

    points: int
    most: int
    why: str


WEIGHTS = {
    "regression": Weight(points=40, most=40, why="a test that passed before fails since this commit"),
    "exit_code": Weight(points=30, most=30, why="only a command's exit code supports it, and that can be forged"),
    "unjudged": Weight(points=30, most=30, why="no verdict is known"),
    "draft": Weight(points=40, most=40, why="no evidence supports it"),
    "doubtful": Weight(points=40, most=40, why="its tests passed, but something speaks against them"),
    "behaviour_kept": Weight(points=12, most=12, why="no test fails without it, so what it adds is not tested"),
    "self_tested": Weight(points=25, most=25, why="the agent wrote code and tests: both may share a misunderstanding"),
    "documented": Weight(points=4, most=4, why="links, examples and names are right; nobody checked the words"),
    "removed": Weight(points=4, most=4, why="a whole project is gone and nothing was run; the task named it"),
    "tests_passed": Weight(points=8, most=8, why="no held-out case was compared, so code fitted to tests would pass"),
    "size": Weight(points=4, most=20, why="larger changes hide more faults: points for each doubling beyond 25 lines"),
    "spread": Weight(points=2, most=10, why="a change of many files is harder to review: for each beyond the third"),
    "sensitive": Weight(points=1, most=30, why="a mistake in these files has a wider effect: the points of each area"),
    "unknown": Weight(points=6, most=6, why="its size and files are not known"),
    "iterations": Weight(points=2, most=12, why="work that passed late was fitted to its tests: each beyond the third"),
    "attempt": Weight(points=3, most=9, why="earlier attempts at the task failed"),
    "stuck": Weight(points=8, most=16, why="the attempt repeated itself and started over"),
    "finding": Weight(points=4, most=12, why="the static checker let it pass with a note"),
    "critical_left": Weight(points=40, most=40, why="a reviewer says that it loses data or does not do what was asked"),
    "high_left": Weight(points=12, most=24, why="a reviewer reports a wrong result or a vulnerability"),
    "changed_tests": Weight(points=12, most=12, why="it changed what an existing test demands"),
    "removed_tests": Weight(points=12, most=12, why="tests were removed with the code that they tested"),
    "granted": Weight(points=6, most=12, why="it contains something that you were asked about and granted"),
    "allowed": Weight(points=6, most=12, why="its task lets it break rules of the checker"),
    "owners": Weight(points=4, most=4, why="it is in one of your repositories, where others build on it"),
    "package": Weight(points=8, most=16, why="it is the first to use this package"),
    "left_out": Weight(points=6, most=6, why="the model wrote files that steer tests; they were left out"),
    "later_failures": Weight(points=5, most=15, why="work that builds on it may have failed because of it"),
}  # fmt: skip
"""All weights. Reasons with equal points are listed in this order."""

HIGH, MEDIUM = 50, 25
_LINES, _FILES, _ITERATIONS = 25, 3, 3


class Level(StrEnum):
    """The importance of reading a commit."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """The points that one cause adds, and its text for the owner. `weight` is the cause's key in `WEIGHTS`."""

    weight: str
    points: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Facts about a commit that the ranking gets from other sources.

    Attributes:
        granted: subjects of findings that the owner allowed.
        first_packages: packages that no earlier commit of the repository used.
        later_failures: ids of later tasks that failed in the commit's files.
        regressions: tests that fail since the commit.
    """

    granted: Sequence[str] = ()
    first_packages: Sequence[str] = ()
    later_failures: Sequence[int] = ()
    regressions: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A commit with its risk points and their reasons."""

    commit: CommitRow
    points: int
    reasons: Sequence[Reason]

    @property
    def level(self) -> Level:
        """The risk level that the points amount to."""
        return Level.HIGH if self.points >= HIGH else Level.MEDIUM if self.points >= MEDIUM else Level.LOW

    @property
    def decided(self) -> bool:
        """True if the owner has read the commit or reverted it."""
        return self.commit.reviewed or self.commit.reverted

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Possible next steps for the owner, each with its command; empty if the owner has already decided."""
        commit = self.commit
        where = f" --repo {shlex.quote(commit.asked_repo)}" if commit.asked_repo else ""
        return [] if self.decided else [
            ("look again", format_command(f"verify {commit.commit[:12]}{where}")),
            ("keep", format_command(f"review {commit.task_id} --read")),
            ("revert", format_command(f"revert {commit.task_id}")),
        ]  # fmt: skip


def rank(commit: CommitRow, around: Around) -> Ranked:
    """Compute the points of one commit; the reason with most points comes first."""
    all_reasons = [*_of_verdict(commit), *_of_change(commit), *_of_attempt(commit), *_of_surroundings(around)]
    reasons = sorted(all_reasons, key=lambda reason: (-reason.points, list(WEIGHTS).index(reason.weight)))
    return Ranked(commit=commit, points=sum(reason.points for reason in reasons), reasons=reasons)


def in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Sort commits: undecided ones first, then those with more points, then older ones."""
    return sorted(ranked, key=lambda row: (row.decided, -row.points, row.commit.id))


def _reason(weight: str, times: float, text: str) -> list[Reason]:
    points = min(WEIGHTS[weight].most, round(WEIGHTS[weight].points * times))
    return [Reason(weight=weight, points=points, text=text)] if points > 0 else []


def _of_verdict(commit: CommitRow) -> list[Reason]:
    if commit.label == Label.VERIFIED:
        return []
    text = _LABELS.get(commit.label)
    return _reason(commit.label, 1, text) if text else _reason("unjudged", 1, "no verdict is known")


_LABELS: dict[str, str] = {
    Label.TESTS_PASSED: "tests passed, without held-out cases",
    Label.DOCUMENTED: "documentation: links, examples and names were checked",
    Label.REMOVED: "a whole project was removed, nothing was run",
    Label.DRAFT: "a draft: it did not pass",
    Label.DOUBTFUL: "its tests passed, but something speaks against them",
    Label.BEHAVIOUR_KEPT: "the base's tests pass as before; nothing tests what is new",
    Label.SELF_TESTED: "judged by tests that the agent wrote",
    Label.EXIT_CODE: "judged by an exit code alone",
}


def _of_change(commit: CommitRow) -> list[Reason]:
    if commit.files is None:
        return _reason("unknown", 1, "size and files are not known")
    lines, files = lines_of(commit), len(commit.files)
    areas = areas_of(file.path for file in commit.files)
    points = {area.name: area.points for area in AREAS}
    return [
        *_reason("size", math.log2(max(lines, 1) / _LINES), f"{lines} lines changed"),
        *_reason("spread", files - _FILES, f"{files} files"),
        *_reason("sensitive", sum(points[name] for name in areas), "touches " + name_first([
            f"{name} ({name_first(paths, 2)})" for name, paths in areas.items()], 4)),
    ]  # fmt: skip


def lines_of(commit: CommitRow) -> int:
    """Return the number of added and removed lines, as far as the ledger has them."""
    return sum((file.added or 0) + (file.removed or 0) for file in commit.files or ())


def _of_attempt(commit: CommitRow) -> list[Reason]:
    signs, tries = commit.signs, commit.iterations
    reasons = [
        *_reason("allowed", len(commit.allowed), f"may break {name_first(commit.allowed, 4)}"),
        *_reason("owners", bool(commit.asked_repo), "in one of your repositories"),
        *_reason("iterations", tries - _ITERATIONS, f"needed {tries} iterations"),
        *_reason("attempt", commit.attempt - 1, f"attempt {commit.attempt} of its task"),
    ]
    if signs is None:
        return reasons
    critical, others = (
        [remark for remark in signs.remarks if (remark.gravity is Gravity.CRITICAL) is wanted]
        for wanted in (True, False)
    )
    rules = sorted({finding.partition(":")[0] for finding in signs.findings})
    return [
        *reasons,
        *_reason("stuck", signs.escalations, f"repeated itself, started over {_times(signs.escalations)}"),
        *_reason("critical_left", len(critical), _say_first(critical)),
        *_reason("high_left", len(others), _say_first(others)),
        *_reason("finding", len(signs.findings), f"noted by the checker: {name_first(rules, 4)}"),
        *_reason(
            "changed_tests", bool(signs.changed_tests), f"changed existing tests: {name_first(signs.changed_tests, 2)}"
        ),
        *_reason("removed_tests", bool(signs.removed_tests), f"removed tests: {name_first(signs.removed_tests, 2)}"),
        *_reason("left_out", bool(signs.left_out), f"files left out: {name_first(signs.left_out, 2)}"),
    ]


def _say_first(remarks: Sequence[Remark]) -> str:
    more = f" and {len(remarks) - 1} more" if len(remarks) > 1 else ""
    return f"left open: {remarks[0]}{more}" if remarks else ""


def _of_surroundings(around: Around) -> list[Reason]:
    tasks = ", ".join(map(str, around.later_failures[:4]))
    return [
        *_reason("regression", bool(around.regressions), f"fails since: {name_first(around.regressions, 2)}"),
        *_reason("granted", len(around.granted), f"you granted {name_first(around.granted, 4)}"),
        *_reason("package", len(around.first_packages), f"first to use {name_first(around.first_packages, 4)}"),
        *_reason("later_failures", len(around.later_failures), f"later work on its files failed (task {tasks})"),
    ]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A sensitive area of a repository. A commit gets `points` if it touches a path that matches `pattern`."""

    name: str
    points: int
    pattern: re.Pattern[str]
    why: str


def _words(*words: str) -> str:
    """Return a pattern that finds these words in a path as whole words, bounded by `/`, `_`, `-`, `.` or an end."""
    return rf"(?:^|[/_.-])(?:{'|'.join(words)})(?=$|[/_.-])"


def _area(name: str, points: int, pattern: str, why: str) -> Area:
    return Area(name=name, points=points, pattern=re.compile(pattern, re.IGNORECASE), why=why)


AREAS = (
    _area("sign-in and rights", 15, _words(
        "auth", "authn", "authz", "authenticat(?:e|ion|or)", "authori[sz]ation", "login", "logout", "oauth2?", "sso",
        "passwords?", "permissions?", "rights", "roles?", "acl", "sessions?", "tokens?", "csrf", "cors",
    ), "permissions: tests of the happy path do not show what else became possible"),
    _area("secrets and cryptography", 15, _words(
        "crypto(?:graphy)?", "crypt", "encrypt(?:ion)?", "decrypt(?:ion)?", "hash(?:es|ing)?", "hmac", "jwt",
        "sign(?:ing|ature)?", "ssl", "tls", "certs?", "certificates?", "keys?", "secrets?", "vault", "credentials?",
    ) + r"|\.(?:pem|key|crt|p12)$|(?:^|/)\.env", "weak cryptography passes every test"),
    _area("migrations and schemas", 12, _words("migrations?", "migrate", "alembic", "schemas?") + r"|\.sql$",
          "its effect on stored data cannot be reverted by a commit"),
    _area("continuous integration and release", 12,
          r"(?:^|/)\.(?:github|gitlab|circleci|ci|buildkite)(?:/|$)|\.gitlab-ci\.yml$|(?:^|/)(?:Jenkinsfile|Dockerfile"
          r"|docker-compose[^/]*|Makefile|Procfile)$|"
          + _words("deploy(?:ment)?", "terraform", "helm", "k8s", "ansible"),
          "it runs elsewhere, with rights and secrets that the sandbox does not have"),
    _area("dependencies", 10,
          r"(?:^|/)(?:requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|Pipfile"
          r"|package\.json|Cargo\.toml|go\.mod|Gemfile|pom\.xml)$|(?:^|/)[^/]*(?:\.lock|-lock\.(?:json|yaml))$",
          "it brings in code that nobody here has read"),
    _area("shell and processes", 10, r"\.(?:sh|bash|zsh|ps1|bat|cmd)$|" + _words(
        "shell", "subprocess(?:es)?", "exec", "hooks?", "sudo", "cron(?:tab)?"),
          "a shell runs anything, with the rights of the user who starts it"),
    _area("money", 10, _words("payments?", "billing", "invoices?", "checkout", "prices?", "pricing", "refunds?"),
          "mistakes in it cost money directly, and are noticed late"),
)  # fmt: skip
"""All areas, in the order in which the report names them. `docs/manual/report.md` lists them too."""


def areas_of(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the areas that paths touch, each with its paths, in the order of `AREAS`.

    Test files do not count, because they run only in the sandbox.
    """
    listed = [path for path in paths if not is_test(path)]
    touched_areas = {area.name: [path for path in listed if area.pattern.search(path)] for area in AREAS}
    return {name: paths for name, paths in touched_areas.items() if paths}


def is_test(path: str) -> bool:
    """Check whether a path is a test, by the names that pytest and node:test collect."""
    name = path.rpartition("/")[2]
    return bool(
        re.match(r"test_.*\.py$|.*_test\.py$|conftest\.py$|.*\.(?:test|spec)\.[cm]?[jt]sx?$", name)
        or re.search(r"(?:^|/)(?:tests?|__tests__)/", path)
    )
