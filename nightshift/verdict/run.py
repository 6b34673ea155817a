"""The result of a suite that ran as in a checkout: one value for the base and one for the change."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

from nightshift.core.tasks.verdicts import CaseResult, Failure, Result

EXPECTED = "it failed, as its mark says"
"""Message of a test that is marked as expected to fail, which counts as skipped."""
FAILED = frozenset({Result.FAILED, Result.ERROR})


@dataclass(frozen=True, kw_only=True)  # No slots: cached properties need `__dict__`.
class NativeRun:
    """One run of the owner's command.

    Attributes:
        command: its arguments.
        exit_code: None if it did not exit.
        stopped: why the run did not end normally; None if it did.
        is_late: whether a time limit ended the run.
        tests: how each test ended; None if the runner does not name tests.
        failures: the failures, shaped for a model.
        missing: collected tests without a result, and files that announced tests without a result.
        lines: test id to the lines of test files that ran, as `path:line`; empty if unknown.
        read: files of the tree that a frame of a test opened, each with the test file.
        modules: paths of the tree's modules that were imported.
        changed: functions outside of the tree that had been replaced by the end.
        marked: the tests that a constant mark skips.
        altered: test files that were written to while the tests ran.
        is_forged: whether the channel contained lines that no recorder writes.
        is_recorded: whether the results come from a recorder, not from a report that the tested code could write.
        digest: hash of all files that the run saw.
        python: the version of the interpreter.
        output: the end of the command's output.
        cpu_s: processor time of its processes, in seconds.
        wall_s: clock time, in seconds.
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
        """Return this run with failures turned into passes for tests that pass when they run alone.

        Such tests failed by chance, or under the load of the machine.
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
        """Return a command's failing exit status as a failure."""
        words = " ".join(self.command)
        return Failure(
            id=words, kind="ExitCode", message=f"`{words}` ended with status {self.exit_code}", output=self.output
        )

    def has_failed(self, test: str) -> bool:
        """Check whether a test failed in this run, alone or with its whole file."""
        return test in self.failed or test.partition("::")[0] in self.failed


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def bare(test: str) -> str:
    """Return a test's id without its parameters."""
    return test.partition("[")[0]
