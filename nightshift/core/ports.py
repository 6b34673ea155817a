"""The ports: what a package needs from others."""

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
    """Answers requests; the one gateway to all backends."""

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer, or replay the stored answer of this place.

        Raises:
            Parked: no backend can answer now.
            BudgetSpent: a budget of the task is spent.
            ModelRefused: no backend will ever answer this.
        """
        ...


class OpenTools(Protocol):
    """Tools of servers that run, outside of the sandbox."""

    @property
    def faults(self) -> Mapping[str, str]:
        """Why a server or tool is not to be had, by its name."""
        ...

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as models are told of them."""
        ...

    async def call(self, call: ToolCall) -> tuple[str, bool]:
        """Call one of `specs`; what it said, and whether it is no failure."""
        ...


class ServerTools(Protocol):
    """Tools of servers that the owner configured."""

    def opened(self, allowed: Sequence[str]) -> AbstractAsyncContextManager[OpenTools]:
        """The tools of these names (`server.tool`), until the block ends."""
        ...


class Sandbox(Protocol):
    """Runs untrusted code."""

    @property
    def name(self) -> str:
        """The isolation's short name, for evidence and pages."""
        ...

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run to the end, to the limit, or until cancelled; nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up; the job was not started.
        """
        ...


class Suite(Protocol):
    """Judges a tree, and tries one out while it is being written."""

    async def judge(self, job: SuiteJob) -> Verdict:
        """Run the job's tests and say what they proved.

        Raises:
            SandboxError: nothing could be run.
            ValueError: the job is for some of its tests alone.
        """
        ...

    async def try_out(self, job: SuiteJob) -> Trial:
        """Run the job's tests, or some of them, once and plainly, for whoever writes the change.

        Nothing that is held out of the tests takes part.

        Raises:
            SandboxError: nothing could be run.
        """
        ...

    async def run_base(self, job: SuiteJob) -> Trial:
        """Run the job's tests without its change, once for a commit, a command and its surroundings.

        Raises:
            SandboxError: nothing could be run.
        """
        ...


class Memory(Protocol):
    """Long-term memory."""

    async def recall(self, query: str, limit: int, *, task_id: int | None = None, attempt: int = 1) -> Sequence[Lesson]:
        """The nearest lessons, best first; an attempt that is named may draw a lot and see none of them."""
        ...

    async def remember(self, state: AttemptState, task_id: int, description: str) -> None:
        """Store the failure that the last verdict of `work` shows, when it happens."""
        ...

    async def conclude(self, state: AttemptState, task_id: int, solved: bool) -> None:
        """Complete the attempt's failures with the fix, and score the lessons that were recalled."""
        ...


class ChangeCheck(Protocol):
    """Looks at a change before anything of it is executed."""

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        """Report what must be mended, what the owner must decide, and what the run may use."""
        ...


LEFT_OUT = "… and "
"""Begins the last line of what a file offers where it counts the definitions that are left out."""


class Languages(Protocol):
    """Reads code and tests of each language; nothing is run. `before` is a file without the change, None for none."""

    def describe_offer(self, path: str, text: str, before: str | None) -> list[str]:
        """Describe what a changed file offers, a line each, without bodies."""
        ...

    def describe_imports(
        self, path: str, text: str, before: str | None, files: Container[str], read: Callable[[str], str | None]
    ) -> str:
        """Describe the definitions of other files that what a change touches uses; empty without any."""
        ...

    def list_touched(self, path: str, text: str, before: str | None) -> list[str]:
        """List the public names that a change touches, those most changed first."""
        ...

    def find_test_fault(self, path: str, text: str) -> str:
        """Say why a file of tests proves nothing; empty for one that may."""
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
        """Say why a test file has to stay, whoever agrees; empty where it is about nothing but what is taken away.

        Args:
            path: of the file.
            before: its text.
            failing: its tests that fail with the change; an empty name where it fails as a whole.
            change: without the tests.
            read: gives the text of a path without the change.
            passed: whether one of its tests passed.
        """
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
        """Say why a changed test file may not stand, whoever agrees; empty where it may. For the rest as above."""
        ...


class Shell(Protocol):
    """Runs a command that a model asked for, on a throw-away copy of the files."""

    async def execute(self, job: ShellJob) -> ShellResult:
        """Run it in one sandbox job; what it did to text files comes back as their new texts.

        Raises:
            SandboxError: nothing could be run.
        """
        ...


class ToolLog(Protocol):
    """Keeps what came of tool calls, so that none is run twice for one reply."""

    def stored(self, position: ToolPlace) -> ToolRecord | None:
        """Return the stored result of the call at this position, marked as replayed; None where there is none."""
        ...

    async def save(self, position: ToolPlace, record: ToolRecord) -> None:
        """Store it, with the change after it and an event, in one transaction; it is durable when this returns.

        Raises:
            StaleFence: the task is no longer this worker's.
        """
        ...
