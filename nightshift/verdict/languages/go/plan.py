"""Plans a run of Go tests, and has what else the verdict asks of Go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from nightshift.core.code import golang
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.task import Files, Language, TaskSpec
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.go_program import ENV, INSTALL, Go
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.languages.go import commands, suite
from nightshift.verdict.languages.go.faults import mutated
from nightshift.verdict.languages.go.suite import Mark, checks_something
from nightshift.verdict.languages.plan import Plan, Role, SplitPlan, SuiteFile
from nightshift.verdict.languages.planning import Planner

__all__ = ["checks_something", "make", "mutated", "refusal"]

RESERVED_MB = 4 << 10
"""Address space that Go sets aside beyond what it uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoLaunch:
    """What builds and starts a run of Go tests.

    Attributes:
        go: the toolchain.
        marks: what is known of each file of tests, by its path in the run.
    """

    go: Go
    marks: Mapping[str, Mark]

    @property
    def framework(self) -> str:
        """What runs the tests, for messages."""
        return "go test"

    @property
    def reserved_mb(self) -> int:
        """Address space that Go sets aside."""
        return RESERVED_MB

    def instructions(self, *, must_fail: bool, memory_mb: int) -> Mapping[str, object]:  # noqa: ARG002 (the interface)
        """What builds the tests and records them."""
        files = {path: mark.told() for path, mark in self.marks.items()}
        return {"go": {**told(self.go), "files": files}}


def told(go: Go) -> dict[str, object]:
    """What the trusted parent is told of a toolchain: where it is shown, and where it lies for a bare process."""
    places = [{"path": one.path, "root": one.root, "cache": one.cache} for one in (go.shown, go)]
    return {"places": places, "env": ENV}


def refusal(spec: TaskSpec, go: Go | None) -> str:
    """Why this machine cannot judge a task: no Go; empty when it can, and for other languages."""
    return INSTALL if spec.language is Language.GO and go is None else ""


def make(job: SuiteJob, imports: ImportCache, runtime: Runtime) -> Plan:
    """Plan the run of a job's tests on its changed tree.

    Args:
        job: what to judge.
        imports: remembers what files import.
        runtime: what runs inside, Go among it.

    Raises:
        SandboxError: there is no Go.
    """
    if runtime.go is None:
        raise SandboxError(INSTALL)
    planned = _GoPlanner(job, imports).plan()
    texts = {file.staged: file.text for file in planned.files}
    texts |= {file.must_fail_path: file.must_fail_text for file in planned.files if file.must_fail_path}
    path, text, _ = planned.canary
    texts |= {path: text} if path else {}
    kept = {file.path for file in planned.files if file.staged == file.path}
    marks = {path: suite.marks(path, text, fresh=path not in kept) for path, text in texts.items()}
    return replace(planned, launch=GoLaunch(go=runtime.go, marks=marks))


class _GoPlanner(Planner):
    def _prepared(self, role: Role, tests: Files, beside: Files) -> Iterator[SuiteFile]:
        for path in suite.suite_paths(tests):
            yield suite.prepare(role, path, tests[path].replace("\r\n", "\n"), beside)

    def _as_is(self, role: Role, path: str) -> SuiteFile:
        return suite.as_is(role, path, self._text(path) or "")

    def _split(self, files: tuple[SuiteFile, ...], support: Collection[str]) -> SplitPlan | None:  # noqa: ARG002 (the interface)
        """None: Go links tests and tested code into one program."""
        return None

    def _canary(self, folder: str) -> tuple[str, str, frozenset[str]]:
        return suite.canary(folder, self._package(folder))

    def _package(self, folder: str) -> str:
        """The package of a folder's sources."""
        there = (path for path in sorted(self._present) if path.rpartition("/")[0] == folder.rstrip("/"))
        for path in there:
            if golang.is_source(path) and (name := golang.package(golang.parse(self._text(path) or ""))):
                return name
        return "main"

    def _is_mine(self, path: str) -> bool:
        return golang.is_test(path)

    def _closure(self, files: tuple[SuiteFile, ...], support: Collection[str]) -> frozenset[str] | None:  # noqa: ARG002 (the interface)
        """None: a package is all files of its folder, and may embed others."""
        return None

    def _of_command(self) -> list[SuiteFile] | None:
        command = None if self._job.given else commands.parse(self._job.command)
        if command is None:
            return None
        return self._command_files(command.files(sorted(self._entries.keys() & self._present)), copied=True)
