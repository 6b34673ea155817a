"""Offers the loop of a task to other programs, as an `AutonomousCoder`, a `CodeExecutor` and a `TestResult`.

Each call blocks until it is done. For coroutines, events and other judges see `agent.library` and `sandbox.snippet`.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nightshift.agent.library import Fix, Generate, Solved, solve
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.task import Files, Limits
from nightshift.core.tasks.verdicts import Result, Verdict
from nightshift.core.text.masking import printable
from nightshift.sandbox import Snippet, choose, run_python
from nightshift.sandbox.runtime import ROOT, open_runtime
from nightshift.verdict.runner import SuiteRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """The result of a test run: whether all tests passed, the reason if not, and how many tests passed and failed."""

    __test__: ClassVar[bool] = False
    """False, so that pytest does not collect this class although its name begins with "Test"."""

    passed: bool
    output: str
    num_passed: int
    num_failed: int

    @classmethod
    def of(cls, verdict: Verdict) -> TestResult:
        """Make the result from a verdict."""
        failed = [printable(f"{each.id}: {each.kind}: {each.message}") for each in verdict.failures]
        return cls(
            passed=verdict.passed,
            output="\n".join([verdict.reason, *failed]),
            num_passed=verdict.count(Result.PASSED),
            num_failed=len(verdict.failing),
        )


class CodeExecutor:
    """Runs tests and pieces of code in the sandbox, each in a temporary folder of its own.

    Args:
        limits: limits of a run; `suite_s` limits its processor time.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()

    @contextlib.asynccontextmanager
    async def open_suite(self) -> AsyncIterator[SuiteRunner]:
        """Yield the suite runner that judges changes.

        Raises:
            SandboxError: no kind of isolation works here.
        """
        runtime = open_runtime(ROOT / ".runner")
        with tempfile.TemporaryDirectory() as folder:
            choice = await choose("auto", runtime=runtime, scratch=Path(folder, "scratch"))
            if choice.sandbox is None:
                raise SandboxError(choice.report)
            yield SuiteRunner(choice.sandbox, runtime, emit=lambda _event: None, staging_dir=Path(folder, "staging"))

    def run_tests(self, files: Files, tests: Files) -> TestResult:
        """Run tests on files; both arguments map paths to contents."""
        coder = AutonomousCoder(lambda _task: files, lambda _task, _files, _feedback: {}, self, max_iterations=1)
        verdict = coder.solve("Make the tests pass", tests).verdict
        if verdict is None:
            raise SandboxError("the tests were not run")
        return TestResult.of(verdict)

    def run(self, code: str) -> Snippet:
        """Run a piece of Python code."""
        return asyncio.run(run_python(code))


class AutonomousCoder:
    """Generates, tests and fixes files until the tests pass or the limit is reached.

    Args:
        generate_fn: writes the first files of a task.
        fix_fn: changes the files, given the failures.
        executor: runs the tests.
        max_iterations: the maximum number of test runs.
    """

    def __init__(
        self, generate_fn: Generate, fix_fn: Fix, executor: CodeExecutor | None = None, max_iterations: int = 15
    ) -> None:
        self._generate, self._fix, self._executor = generate_fn, fix_fn, executor or CodeExecutor()
        self._most = max_iterations

    def solve(self, description: str, tests: Files, files: Files | None = None) -> Solved:
        """Do a task; `trace` of the returned object contains every step. See `agent.library.solve`."""

        async def run() -> Solved:
            limits = Limits(iterations=self._most).over(self._executor.limits)
            async with self._executor.open_suite() as suite:
                return await solve(description, tests, self._generate, self._fix, suite, files=files, limits=limits)

        return asyncio.run(run())
