"""The result of one run of a suite, which runs as in a checkout of the repository.

A verdict compares two such results: one without the change, and one with the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

from nightshift.core.code.tree import text_of
from nightshift.core.tasks.verdicts import CaseResult, Failure, Result, SuiteJob

EXPECTED = "it failed, as its mark says"
"""Message of a test that failed and is marked as expected to fail. Such a test counts as skipped."""
FAILED = frozenset({Result.FAILED, Result.ERROR})


@dataclass(frozen=True, kw_only=True)  # No slots: cached properties need `__dict__`.
class NativeRun:
    """The result of one run.

    Attributes:
        command: the program that was run, with its arguments.
        exit_code: the exit status; None if the run did not exit.
        stopped: the reason why the run did not end normally; None if it ended normally.
        is_late: true if a time limit ended the run.
        tests: the result of each test; None if the runner does not name tests.
        failures: the failures, in the form for a model.
        missing: the collected tests that have no result, and the test files that announced tests but gave no result.
        lines: test id to the lines of test files that the test ran, as `path:line`; empty if unknown.
        read: the files of the tree that tests opened, each mapped to the test file that opened it.
        opened: the files of the tree that other modules of the tree opened.
        modules: the paths of the tree's modules that were imported.
        changed: the functions outside of the tree that had been replaced by the end of the run.
        marked: the tests that were skipped and that their source marks as skipped or expected to fail.
        altered: the test files that were written to while the tests ran.
        is_forged: true if the run's reports contain lines that no recorder writes.
        is_recorded: true if the results come from a recorder. Otherwise they come from a report that the tested code
            could write.
        digest: hash of all files that the run saw.
        python: the version of the interpreter.
        output: the end of the command's output.
        cpu_s: processor time of the run's processes, in seconds.
        wall_s: clock time of the run, in seconds.
        notes: remarks for the owner on the run itself.
    """

    command: tuple[str, ...] = ()
    exit_code: int | None = 0
    stopped: Failure | None = None
    is_late: bool = False
    tests: tuple[CaseResult, ...] | None = ()
    failures: tuple[Failure, ...] = ()
    missing: tuple[str, ...] = ()
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    read: Mapping[str, str] = field(default_factory=dict)
    opened: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    is_forged: bool = False
    is_recorded: bool = True
    digest: str = ""
    python: str = ""
    output: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    notes: tuple[str, ...] = ()

    @cached_property
    def ends(self) -> Mapping[str, Result]:
        """The result of each test, by id."""
        return {case.id: case.result for case in self.tests or ()}

    @cached_property
    def failed(self) -> frozenset[str]:
        """The ids of the tests that failed."""
        return frozenset(case.id for case in self.tests or () if case.result in FAILED)

    @cached_property
    def passed(self) -> frozenset[str]:
        """The ids of the tests that passed."""
        return frozenset(case.id for case in self.tests or () if case.result is Result.PASSED)

    def with_second_look(self, second: NativeRun, tests: Collection[str]) -> NativeRun:
        """Return a copy of this run in which failed tests count as passed if they passed in a second run.

        Such tests failed by chance, or because the machine was busy. If the exit status of the second run is not 0,
        nothing changes.

        Args:
            second: a run of these tests alone.
            tests: the ids of the tests that may be counted as passed.
        """
        passed = tests & second.passed if second.exit_code == 0 else frozenset[str]()
        if not passed:
            return self
        cases = tuple(
            replace(case, result=Result.PASSED, message="") if case.id in passed else case for case in self.tests or ()
        )
        failures = tuple(failure for failure in self.failures if failure.id not in passed)
        exit_code = 0 if self.failed <= passed else self.exit_code
        return replace(self, tests=cases, failures=failures, exit_code=exit_code)

    def describe_exit(self) -> Failure:
        """Return a command's failing exit status as a failure, with the output as its reason if that is one line."""
        words, lines = " ".join(self.command), self.output.strip().splitlines()
        reason = f": {lines[0]}" if len(lines) == 1 else ""
        message = f"`{words}` ended with status {self.exit_code}{reason}"
        return Failure(id=words, kind="ExitCode", message=message, output=self.output)

    def has_failed(self, test: str) -> bool:
        """Check whether a test, or its file as a whole, failed in this run."""
        return test in self.failed or test.partition("::")[0] in self.failed


def text_before(job: SuiteJob, path: str) -> str | None:
    """Return a file's text without the change; None if the file does not exist."""
    return job.start[path] if path in job.start else text_of(job.base, path)


def file_of(test: str) -> str:
    """Return the path of the file in a test's id."""
    return test.partition("::")[0]


def bare(test: str) -> str:
    """Return a test's id without its parameters."""
    return test.partition("[")[0]
