"""Collects all evidence against a change whose tests pass.

Each kind of evidence that executes code gets a sandbox of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

from nightshift.core.code.tree import text_of
from nightshift.core.tasks.verdicts import Control, Finding, FindingKind, SuiteJob, TriedMutant
from nightshift.verdict import mutation
from nightshift.verdict.findings import assets, copies, gone, taking_away
from nightshift.verdict.findings.outside import ask_outside
from nightshift.verdict.held.asking import Asker
from nightshift.verdict.held.replay import replay
from nightshift.verdict.languages import dialect_of, test_config
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.languages.python import pytest_settings
from nightshift.verdict.run import NativeRun, bare, file_of
from nightshift.verdict.suite_runs import SuiteRuns


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The evidence that a search found.

    Attributes:
        findings: the findings.
        notes: remarks for the evidence.
        copies_failed: the number of must-fail copies that failed, as they should.
        mutants: the mutants that were tried.
    """

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    copies_failed: int = 0
    mutants: tuple[TriedMutant, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Searches for evidence against one passing run.

    Attributes:
        job: the job.
        planned: the plan of the run, including the must-fail copies.
        native: the run with the change.
        base: the run without the change; None if the base has no tests.
    """

    job: SuiteJob
    planned: Plan
    native: NativeRun
    base: NativeRun | None

    async def run(self, runs: SuiteRuns, asker: Asker) -> Found:
        """Collect all kinds of findings; stop early if tests or checks of the base no longer run.

        Raises:
            SandboxError: nothing could be run.
        """
        compared = tuple(self._compare())
        if any(
            finding.control is Control.BASE and finding.kind in {FindingKind.GONE, FindingKind.LOST}
            for finding in compared
            if not finding.subject
        ):
            return Found(findings=compared)
        (copied, failed), values, more, own = await asyncio.gather(
            self._copies(runs), replay(self._judging_files(), self.job, asker),
            ask_outside(self.job, self.planned, runs), mutation.prove_own(self.job, self.planned, self.native, runs),
        )  # fmt: skip
        values += more
        wrong = {file_of(finding.where) for finding in values}
        copied = [
            replace(finding, control=Control.VALUE) if file_of(finding.where) in wrong else finding
            for finding in copied
        ]
        return Found(
            findings=(*compared, *values, *copied, *own.findings), notes=own.notes, copies_failed=failed,
            mutants=own.mutants,
        )  # fmt: skip

    def _judging_files(self) -> dict[str, str]:
        """Return the test files that the task supplies, path to text."""
        return {file.path: file.text for file in self.planned.files if file.role is Role.GIVEN}

    def _compare(self) -> Iterator[Finding]:
        job, base, dialect = self.job, self.base, dialect_of(self.job.language)
        settled = {*job.given, *job.own, *job.gone}
        brought = {file.path: file.text for file in self.planned.files if file.role in {Role.GIVEN, Role.OWN}}
        files = (file for file in self.planned.files if file.role is Role.GIVEN)
        given = {file.path: dialect.list_required(file, self._now) for file in files}
        if base and not base.stopped:
            for finding in gone.compare(self.native, base, settled, self._before, self._now):
                if finding.subject not in job.granted:
                    yield replace(finding, subject="") if finding.subject in job.denied else finding
        yield from gone.find_changed(self.native, base)
        yield from gone.find_unrun(self.native, given)
        yield from self._find_unmade()
        yield from gone.find_idle(self.native, brought)
        yield from self.list_questions()

    def list_questions(self) -> Iterator[Finding]:
        """List the parts of the change that the owner must agree to; a question that was answered has no subject."""
        job, base, settings = self.job, self.base, pytest_settings.read(self._before)
        seen = base or self.native
        opened = base.opened if base else ()  # code of the change may open a test's file only to make it look used
        around = assets.Surroundings(
            read={path: by for path, by in seen.read.items() if path not in opened},
            modules={*seen.modules, *self.native.modules}, command=job.command, asked=job.asked or "",
            suites=[path for path in job.change if settings.names_tests(path)],
            collected=frozenset(map(bare, base.ends)) if base else (), present=job.base.entries().keys(),
            steering=test_config.list_settings(job.change, self._before),
        )  # fmt: skip
        change = {path: text for path, text in job.change.items() if path not in self.planned.dropped}
        texts = {path: text_of(job.base, path) for path in change}
        if job.asked is not None:
            yield from (self._ask(finding) for finding in assets.find_touched(change, texts, around))
            yield from (self._ask(finding) for finding in taking_away.find_more(job))

    def _find_unmade(self) -> Iterator[Finding]:
        """Report each test file of the task that was expected to generate tests at run time, but generated none."""
        ran = set(self.native.ends)
        for file in self.planned.files:
            listed_tests = {f"{file.path}::{name}" for name in file.names}
            is_made = file.outline is not None and not file.outline.is_closed
            if (
                file.role is Role.GIVEN
                and is_made
                and not any(file_of(test) == file.path for test in ran - listed_tests)
            ):
                says = f"{file.path} makes tests while it runs, and made none"
                yield Finding(kind=FindingKind.GIVEN_IDLE, where=file.path, says=says)

    def _ask(self, finding: Finding) -> Finding:
        """Return a finding; if the owner has already answered its question with yes, the question is removed."""
        return replace(finding, subject="") if finding.subject in self.job.granted else finding

    def _before(self, path: str) -> str | None:
        return self.job.start[path] if path in self.job.start else text_of(self.job.base, path)

    def _now(self, path: str) -> str | None:
        for files in (self.job.given, self.job.own, self.job.change):
            if path in files:
                return files[path]
        return self._before(path)

    async def _copies(self, runs: SuiteRuns) -> tuple[list[Finding], int]:
        """Run the must-fail copies; return the findings, and the number of copies that failed as they should."""
        mended = frozenset(map(bare, self.base.failed & self.native.passed)) if self.base else frozenset[str]()
        dialect, files = dialect_of(self.job.language), set(map(file_of, mended))
        planned = dialect.plan_copies(self.planned, self.native.passed, files, self._now)
        if planned is None:
            return [], 0
        time = runs.time(self.job)
        took = max(self.native.cpu_s, self.native.wall_s)
        copied = await runs.run(self.job, planned.plan, time.at_most(copies.SHORTEST_S + copies.LONGEST * took))
        passing = copies.find_passing(copied, self.native, planned.tests)
        passed = set(map(bare, self.native.passed)) & planned.tests
        failed = sum(bare(test) in passed for test in copied.failed)
        roles = {file.path: file.role for file in self.planned.files}
        return list(copies.find_copies(passing, roles, mended)), failed
