"""The ports: interfaces that a package needs from other packages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from nightshift.core.events import Sink as Sink  # noqa: PLC0414  (a port too; most import it from here)

if TYPE_CHECKING:
    from nightshift.core.dialogue import Completion, ModelRequest
    from nightshift.core.isolation import SandboxJob, SandboxResult
    from nightshift.core.shell import ShellJob, ShellResult
    from nightshift.core.tasks.attempt_state import AttemptState
    from nightshift.core.tasks.change_checks import ChangeCheckJob, ChangeCheckReport
    from nightshift.core.tasks.lesson import Lesson
    from nightshift.core.tasks.task import Change
    from nightshift.core.tasks.verdicts import SuiteJob, Trial, Verdict
    from nightshift.core.tools import ToolCall, ToolPlace, ToolRecord, ToolSpec


class Model(Protocol):
    """Answers requests; the only gateway to all backends."""

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer a request, or replay the answer that is stored for the same request.

        Raises:
            Parked: No backend can answer now.
            BudgetSpent: A budget of the task is spent.
            ModelRefused: No backend will ever answer this request.
        """
        ...


class OpenTools(Protocol):
    """Tools of running servers that are outside the sandbox."""

    @property
    def faults(self) -> Mapping[str, str]:
        """Map the name of each unavailable server or tool to the reason."""
        ...

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The descriptions of the tools for models."""
        ...

    async def call(self, call: ToolCall) -> tuple[str, bool]:
        """Call one of the tools in `specs`; return its output, and True if the call did not fail."""
        ...


class ServerTools(Protocol):
    """Tools of servers that the owner configured."""

    def opened(self, allowed: Sequence[str]) -> AbstractAsyncContextManager[OpenTools]:
        """Open the tools with these names (`server.tool`) until the block ends."""
        ...


class Sandbox(Protocol):
    """Runs untrusted code."""

    @property
    def name(self) -> str:
        """The isolation's short name, for evidence and pages."""
        ...

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run the job until it ends, reaches a limit or is cancelled; no process of the job remains.

        Raises:
            SandboxError: The isolation could not be set up; the job was not started.
        """
        ...


class Suite(Protocol):
    """Runs the tests of a tree, either for a verdict or as a quick check while the change is being written."""

    async def judge(self, job: SuiteJob) -> Verdict:
        """Run the job's tests and return what they proved.

        Raises:
            SandboxError: Nothing could be run.
            ValueError: The job selects only some of its tests, but a verdict needs all of them.
        """
        ...

    async def try_out(self, job: SuiteJob) -> Trial:
        """Run all or some of the job's tests once, as a quick check for the author of the change.

        The result is no proof, and held-out cases are not used.

        Raises:
            SandboxError: Nothing could be run.
        """
        ...

    async def run_base(self, job: SuiteJob) -> Trial:
        """Run the job's tests without its change; the result is cached by commit, command and environment.

        Raises:
            SandboxError: Nothing could be run.
        """
        ...


class Memory(Protocol):
    """Long-term memory."""

    async def recall(self, query: str, limit: int, *, task_id: int | None = None, attempt: int = 1) -> Sequence[Lesson]:
        """Return the lessons that are most similar to the query, best first.

        With `task_id`, the attempt may be chosen at random as a control that gets no lessons.
        """
        ...

    async def remember(self, state: AttemptState, task_id: int, description: str) -> None:
        """Store the failure that the last verdict of the attempt shows; call this when the failure happens."""
        ...

    async def conclude(self, state: AttemptState, task_id: int, solved: bool) -> None:
        """Add the fix to the attempt's stored failures, and score the lessons that the attempt recalled."""
        ...


class ChangeCheck(Protocol):
    """Examines a change before any of it is executed."""

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        """Report what must be fixed, what the owner must decide, and which packages the run may use."""
        ...


LEFT_OUT = "… and "
"""Prefix of the last line of a shortened outline of a file; the line counts the omitted definitions."""


class Languages(Protocol):
    """Analyses code and tests of each language without running them.

    `before` is the text of a file without the change, None if the file is new.
    """

    def describe_offer(self, path: str, text: str, before: str | None) -> list[str]:
        """Describe the definitions of a changed file, one per line, without bodies."""
        ...

    def describe_imports(
        self, path: str, text: str, before: str | None, files: Container[str], read: Callable[[str], str | None]
    ) -> str:
        """Describe the definitions of other files that the changed code uses; empty if there are none."""
        ...

    def list_touched(self, path: str, text: str, before: str | None) -> list[str]:
        """List the public names that a change touches, the most changed first."""
        ...

    def find_test_fault(self, path: str, text: str) -> str:
        """Return why a test file proves nothing; empty if it may prove something."""
        ...

    def refuse_removal(
        self,
        path: str,
        before: str,
        failing: Collection[str],
        change: Change,
        read: Callable[[str], str | None],
        *,
        passed: bool,
    ) -> str:
        """Return why a test file must stay, even if the owner agrees to remove it; empty if it tests only removed code.

        Args:
            path: The path of the test file.
            before: The text of the test file without the change.
            failing: The names of its tests that fail with the change; an empty name if the file fails as a whole.
            change: The change without the tests.
            read: Returns the text of a path without the change.
            passed: Whether one of the file's tests passed.
        """
        ...

    def only_adds_tests(self, path: str, before: str, text: str) -> bool:
        """Check whether a test file gets new tests alone, which cannot alter what its other tests check."""
        ...

    def refuse_change(
        self,
        path: str,
        before: str,
        text: str,
        failing: Collection[str],
        change: Change,
        read: Callable[[str], str | None],
    ) -> str:
        """Return why a change to a test file is not allowed, even if the owner agrees; empty if it is allowed.

        The arguments are those of `refuse_removal`, and `text` is the new text of the file.
        """
        ...


class Shell(Protocol):
    """Runs a command that a model asked for, on a temporary copy of the files."""

    async def execute(self, job: ShellJob) -> ShellResult:
        """Run the command in the sandbox, and return its result with the new texts of the files that it changed.

        Raises:
            SandboxError: Nothing could be run.
        """
        ...


class ToolLog(Protocol):
    """Stores the results of tool calls, so that no call of a reply runs twice."""

    def stored(self, position: ToolPlace) -> ToolRecord | None:
        """Return the stored result of the call at this position; None if there is none."""
        ...

    async def save(self, position: ToolPlace, record: ToolRecord) -> None:
        """Store a result, the change after the call and an event, durably and in one transaction.

        Raises:
            StaleFence: The task no longer belongs to this worker.
        """
        ...
