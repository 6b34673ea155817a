"""Plans a run of Go tests, and provides the functions of `TestDialect` for Go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from nightshift.core.code import golang
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.task import Files, Language, TaskSpec
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.go_program import ENV, INSTALL, Go
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.answer import Session
from nightshift.verdict.languages.go import commands, report, suite
from nightshift.verdict.languages.go.faults import mutate
from nightshift.verdict.languages.go.suite import checks_something
from nightshift.verdict.languages.plan import Plan, Role, SuiteFile, list_required, plan_copies
from nightshift.verdict.languages.planning import Planner, folder_of

__all__ = ["checks_something", "list_required", "make", "mutate", "plan_copies", "refusal"]

RESERVED_MB = 4 << 10
"""MiB of address space that Go reserves beyond the memory it uses."""
_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoLaunch:
    """Starts a run of Go tests and reads its report.

    Attributes:
        go: the Go toolchain.
        module: the module path from go.mod, with which the names of the tree's packages begin.
        files: the test files.
    """

    go: Go
    module: str
    files: tuple[SuiteFile, ...]

    @property
    def framework(self) -> str:
        """The name of the test runner, for messages."""
        return "go test"

    @property
    def reserved_mb(self) -> int:
        """MiB of address space that Go reserves beyond the memory it uses."""
        return RESERVED_MB

    def instructions(self, *, must_fail: bool, memory_mb: int) -> Mapping[str, object]:  # noqa: ARG002 (the interface)
        """Return the paths and environment of the Go toolchain, for the trusted parent process."""
        return {"go": describe(self.go)}

    def read(self, session: Session) -> Session:
        """Return the session with the tests that `go test` reported."""
        return report.read(session, self.module, self.files)


def describe(go: Go) -> dict[str, object]:
    """Describe a toolchain to the trusted parent process.

    The description contains its paths inside the sandbox, and its paths for a run without a sandbox.
    """
    places = [
        {"path": toolchain.path, "root": toolchain.root, "cache": toolchain.cache} for toolchain in (go.shown, go)
    ]
    return {"places": places, "env": ENV}


def refusal(spec: TaskSpec, go: Go | None) -> str:
    """Return a message if the task is in Go and this machine has no Go; empty if the task can be judged."""
    return INSTALL if spec.language is Language.GO and go is None else ""


def make(job: SuiteJob, imports: ImportCache, runtime: Runtime) -> Plan:
    """Plan the run of a job's tests on its changed tree.

    Args:
        job: the job.
        imports: caches the imports of files.
        runtime: the interpreter and libraries inside the sandbox, including Go.

    Raises:
        SandboxError: Go is not installed.
    """
    if runtime.go is None:
        raise SandboxError(INSTALL)
    planner = _GoPlanner(job, imports)
    planned = planner.plan()
    folders = dict.fromkeys(f"./{folder_of(file.path)}".rstrip("/") for file in planned.files)
    command = planned.command or planner.command or (("go", "test", *folders) if folders else ())
    return replace(planned, command=command, launch=GoLaunch(go=runtime.go, module=planner.module, files=planned.files))


class _GoPlanner(Planner):
    def __init__(self, job: SuiteJob, imports: ImportCache) -> None:
        super().__init__(job, imports)
        match = _MODULE.search(self._text("go.mod") or "")
        self.module = match[1] if match else ""
        self.command: tuple[str, ...] = ()

    def _prepare(self, role: Role, tests: Files) -> Iterator[SuiteFile]:
        for path in suite.suite_paths(tests):
            yield suite.prepare(role, path, tests[path])

    def _as_is(self, role: Role, path: str) -> SuiteFile:
        return suite.as_is(role, path, self._text(path) or "")

    def _is_mine(self, path: str) -> bool:
        return golang.is_test(path)

    def _closure(self, files: tuple[SuiteFile, ...], support: object) -> frozenset[str] | None:  # noqa: ARG002 (the interface)
        """Return None, which stands for the whole tree.

        A package consists of all files in its folder, and may embed further files.
        """
        return None

    def _of_command(self) -> list[SuiteFile] | None:
        command = None if self._job.given else commands.parse(self._job.command)
        if command is None:
            return None
        self.command = self._job.command
        return self._command_files(command.files(sorted(self._entries.keys() & self._present)), copied=True)
