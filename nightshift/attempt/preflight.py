"""Runs the suite of a repository before a model is first asked, and reports whether the suite can judge changes there.

The first verdict needs this run on the base anyway (`verdict.suite_runs`). The run is repeated if the language, the
command or the environment changed, or if nothing could be judged.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import PurePosixPath

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from nightshift.core.code.dependencies import is_suite
from nightshift.core.code.environments import Environment
from nightshift.core.code.paths import at_or_below
from nightshift.core.code.repository_commands import Found, FoundCommand, Purpose
from nightshift.core.code.tree import Tree, list_modules, text_of
from nightshift.core.isolation import RunLimits
from nightshift.core.ports import Suite
from nightshift.core.program import format_command
from nightshift.core.tasks.preflight import Preflight
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.tasks.verdicts import CaseResult, Failure, Result, SuiteJob, Trial
from nightshift.verdict.environment import Task, describe_lack, is_to_blame
from nightshift.verdict.languages.python import package_layout
from nightshift.verdict.languages.repository_commands.find import is_foreign, is_judged_here
from nightshift.verdict.run import FAILED, file_of

MOST_REASONS, MOST_CHARS = 10, 300
_ABSENT = re.compile(
    r"(?m)^.*(?:not found|No such file or directory|Cannot find module|No module named|No matching distribution).*$"
)
_NOT_STARTED = ("status 126", "status 127")


def choose_command(tree: Tree, spec: TaskSpec, declarations: Found) -> FoundCommand | None:
    """Return the test command that the repository's files declare; None if the task does not need it.

    It is not needed if the task says how to judge it, or if Nightshift's own test runners find the repository's tests.

    Args:
        tree: the tree of the base.
        spec: the task, with its repository's settings applied.
        declarations: what the files of the tree declare.
    """
    judged = spec.tests or spec.test_command or spec.cases or spec.oracle
    return None if judged or is_judged_here(tree.entries(), spec.language) else declarations.command(Purpose.TEST)


@dataclass(frozen=True, kw_only=True)
class SuiteCheck:
    """A run of the base's suite, before a model is asked.

    Attributes:
        repo: the root of the checkout.
        tree: the tree of the base.
        spec: the task, with the command that judges it; its description may mention what fails.
        environment: the environment that was made for the tree.
        test_paths: folders that contain tests; empty means anywhere.
        limits: the limits of the run.
    """

    repo: str
    tree: Tree
    spec: TaskSpec
    environment: Environment
    test_paths: tuple[str, ...] = ()
    limits: RunLimits | None = None

    @cached_property
    def job(self) -> SuiteJob:
        """The job that runs the suite."""
        spec, tests = self.spec, (path for path in sorted(self.tree.entries()) if is_suite(path))
        return SuiteJob(
            base=self.tree,
            change={},
            regression=tuple(path for path in tests if not self.test_paths or at_or_below((path,), self.test_paths)),
            command=spec.test_command,
            allow=spec.allow,
            language=spec.language,
            environment=self.environment.digest,
            limits=self.limits,
        )

    @property
    def surroundings(self) -> str:
        """Digest of language, command and environment, which decide whether tests can run at all."""
        words = (self.spec.language, self.environment.digest, *self.spec.test_command)
        return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]

    async def run(self, suite: Suite, at: datetime) -> Preflight:
        """Run the suite and describe the result.

        Args:
            suite: the suite that runs the tests.
            at: the time to record.

        Raises:
            SandboxError: nothing could be run.
            CommandBlocked: the test command may never run.
        """
        ran = await suite.run_base(self.job)
        ends = Counter(case.result for case in ran.results)
        failed, lacking = sum(ends[result] for result in FAILED), self._list_lacking(ran)
        idle = Counter(case.message[:MOST_CHARS] for case in ran.results if case.result is Result.SKIPPED)
        idle.update(describe_lack(case)[:MOST_CHARS] for case in lacking)
        return Preflight(
            repo=self.repo,
            commit=self.tree.commit,
            at=at,
            language=self.spec.language,
            command=self.spec.test_command or ran.command[:1],
            environment=self.environment.sources,
            collected=len(ran.results),
            passed=ends[Result.PASSED],
            failed=failed - len(lacking),
            idle=dict(idle.most_common(MOST_REASONS)),
            note="" if failed else ran.reason,
            fault=self._find_fault(ran, lacking),
            surroundings=self.surroundings,
        )

    def _list_lacking(self, ran: Trial) -> list[CaseResult]:
        """Return the failed tests that no change of the code could mend, because of a missing package for example."""
        # If a missing module has the name of a test (`test_NAME`), its absence is no lack: the task may have to write
        # the module.
        tested = {PurePosixPath(path).stem.removeprefix("test_") for path in self.job.regression}
        task = Task(words=self.spec.description, modules=list_modules(self.tree) | tested)
        return [case for case in ran.results if case.result in FAILED and is_to_blame(case, task)]

    def _find_fault(self, ran: Trial, lacking: Sequence[CaseResult]) -> str:
        """Return why nothing can be judged, and how to fix that; empty if something can be judged."""
        if ran.count(Result.PASSED):
            return ""
        asked = package_layout.read(partial(text_of, self.tree), self.tree.entries()).requires_python
        if ran.python and not _is_fitting(asked, ran.python):
            return (
                f"this repository asks for Python {asked}, and no test passes with Python {ran.python}: none that fits "
                "is installed. Install one as well"
            )
        spec, paths = self.spec, self.tree.entries()
        name = format_command(f'repo-settings {shlex.quote(self.repo)} test_command="…"')
        if not ran.results:
            why = next(filter(None, map(_find_absent, ran.failures)), "")
            mend = f"Declare the package that brings it along, or name another command: {name}"
            command = shlex.join(spec.test_command or ran.command[:1])
            if why:
                return f"`{command}` cannot run here: {why}. {mend}"
        if lacking and len(lacking) == sum(case.result in FAILED for case in ran.results):
            whys = "; ".join(dict.fromkeys(map(describe_lack, lacking[:3])))
            count = len({file_of(case.id) for case in lacking})
            mend = "Declare it in pyproject.toml, requirements.txt, package.json or a lock file of the repository"
            return f"no test of this repository can run here ({count} file{'s' * (count > 1)}: {whys}). {mend}"
        is_judged = self.job.regression or spec.test_command or spec.tests or spec.cases or spec.oracle
        if not is_judged and is_foreign(paths) and not is_judged_here(paths, spec.language):
            return (
                f"nothing judges the code of this repository: its files name no command for its tests. Name one: {name}"
            )
        return ""


def _is_fitting(asked: str, version: str) -> bool:
    try:
        return not asked or SpecifierSet(asked).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True


def _find_absent(failure: Failure) -> str:
    """Return the output line that reports a missing program or library; empty if there is none."""
    lines = _ABSENT.findall(failure.output)
    if lines:
        return str(lines[-1].strip()[:MOST_CHARS])
    return failure.message if failure.message.endswith(_NOT_STARTED) else ""
