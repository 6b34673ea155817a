"""Plans a run of node:test, vitest or jest, and provides the functions of `TestDialect` for JavaScript."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from nightshift.core.code import javascript as frameworks
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.javascript import TYPED, Framework
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.task import Files, Language, TaskSpec
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.node_program import INSTALL, Node
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.answer import Session
from nightshift.verdict.languages.javascript import commands, suite
from nightshift.verdict.languages.javascript.faults import mutate
from nightshift.verdict.languages.javascript.suite import checks_something
from nightshift.verdict.languages.plan import Plan, Role, SuiteFile, list_required, plan_copies
from nightshift.verdict.languages.planning import Planner

__all__ = ["checks_something", "list_required", "make", "mutate", "plan_copies", "refusal"]

_TSX = "node_modules/tsx/"
_TYPED_NAME = re.compile(rf"[\w./-]+(?:{'|'.join(map(re.escape, TYPED))})\b")
BESIDE_HEAP_MB, LEAST_HEAP_MB = 128, 64
"""MiB that Node.js needs in addition to the heap of the tested code, and the minimum size of that heap in MiB."""
RESERVED_MB = 16 << 10
"""MiB of address space that V8 reserves. About ten GiB are for the WebAssembly memory of `fetch`, the rest is for code.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLaunch:
    """Starts a run of node:test, or of the project's own vitest or jest.

    Attributes:
        program: the path of Node.js inside the sandbox.
        flags: the options of Node.js.
        runner: the program that runs the tests.
        roots: for vitest and jest, the test files whose package is not in the tree's root, each with the folder of its
            package.
        loads_types: whether TypeScript needs the project's own `tsx`, because this Node.js does not run TypeScript.
        scripts: the files that each count as a single test.
        marked: the ids of tests that a constant mark skips.
        printing: additional options for a command, so that it still prints its usual output.
        is_bare: whether a command runs without any reporter.
    """

    program: str
    flags: tuple[str, ...]
    runner: Framework = Framework.NODE
    roots: Mapping[str, str] = field(default_factory=dict)
    loads_types: bool = False
    scripts: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    printing: tuple[str, ...] = ()
    is_bare: bool = False

    @property
    def framework(self) -> str:
        """The name of the test runner, for messages."""
        return self.runner.value

    @property
    def reserved_mb(self) -> int:
        """MiB of address space that V8 reserves beyond the memory it uses."""
        return RESERVED_MB

    def instructions(self, *, must_fail: bool, memory_mb: int) -> Mapping[str, object]:  # noqa: ARG002 (the interface)
        """Return the instructions with which the trusted parent process starts Node.js."""
        if self.is_bare:
            return {"node": None}
        heap = f"--max-old-space-size={max(LEAST_HEAP_MB, memory_mb - BESIDE_HEAP_MB)}"
        node = {
            "path": self.program,
            "flags": [*self.flags, heap],
            "runner": "" if self.runner is Framework.NODE else self.runner.value,
            "roots": dict(self.roots),
            "loads_types": self.loads_types,
            "scripts": self.scripts,
            "marked": self.marked,
            "printing": self.printing,
        }
        return {"node": node}

    def read(self, session: Session) -> Session:
        """Return the session unchanged, because the reporters already write events in the session's format."""
        return session


def refusal(spec: TaskSpec, node: Node | None) -> str:
    """Return the reason if Node.js is missing or too old to judge a task; empty if this machine can judge it.

    The check runs before a model is asked, on the task's own files and the files that its text names. It is skipped for
    a task on a repository, whose environment may contain a tool that runs TypeScript.
    """
    if spec.language is not Language.JAVASCRIPT:
        return ""
    if node is None:
        return INSTALL
    if spec.repo is not None:
        return ""
    named = (*spec.tests, *spec.files, *_TYPED_NAME.findall(spec.description))
    return next((why for path in named if (why := node.refusal(path))), "")


def make(job: SuiteJob, imports: ImportCache, runtime: Runtime) -> Plan:
    """Plan the run of a job's tests on its changed tree.

    Args:
        job: the job.
        imports: caches the imports of files.
        runtime: the interpreter and libraries inside the sandbox, including Node.js.

    Raises:
        SandboxError: Node.js is not installed, or is too old for these tests.
    """
    node = runtime.node
    if node is None:
        raise SandboxError(INSTALL)
    planner = _NodePlanner(job, imports, node)
    planned = planner.plan()
    planner.script = planner.name_script(planned.files)
    is_loaded_by_node = planner.framework is Framework.NODE and not (planner.loads_types or planner.script)
    for file in planned.files if is_loaded_by_node else ():
        if why := node.refusal(file.path):
            raise SandboxError(why)
    if planner.script:
        planned = replace(planner.plan(), files=(), command=planner.script)
    command = commands.with_reporter(planned.command or planner.command, planner.text_before, runtime.inside)
    launch = NodeLaunch(
        program=node.path,
        flags=node.flags,
        runner=planner.framework,
        roots=planner.roots(planned),
        loads_types=planner.loads_types,
        scripts=suite.scripts(planned.files),
        marked=tuple(test for file in planned.files for test in suite.list_marked(file)),
        printing=command.printing,
    )
    return replace(planned, launch=launch, command=command.words)


class _NodePlanner(Planner):
    def __init__(self, job: SuiteJob, imports: ImportCache, node: Node) -> None:
        super().__init__(job, imports)
        self.framework = frameworks.of_all(self._list_asked(), self._text)
        has_packages = bool(job.environment) or any(path.startswith(_TSX) for path in self._entries)
        self.loads_types = has_packages and not node.runs_types and any(p.endswith(TYPED) for p in self._present)
        self.command: tuple[str, ...] = ()
        self.text_before = self._before
        self.script: tuple[str, ...] = ()

    def name_script(self, files: Collection[SuiteFile]) -> tuple[str, ...]:
        """Return the command that runs new tests by the test script of their package; empty if there is none.

        It is used for runners such as mocha, and only if all the test files have the same scripts, which the change may
        not touch. The runner gets the names of the files, because its settings might leave some out; uvu takes none.
        """
        scripts = {
            frameworks.scripts_of_other_runner(file.path, file.text, text_of)
            for file in files for text_of in (self._before, self._text)
        }  # fmt: skip
        roots = {frameworks.root_of(file.path, self._before) for file in files}
        if not self._tests or len(roots) != 1 or len(scripts) != 1 or () in scripts:
            return ()
        takes_names = not any(re.search(r"\buvu\b", dict(each)["test"]) for each in scripts)
        root = "".join(roots)
        paths = [posixpath.relpath(file.path, root or ".") for file in files if takes_names]
        return ("npm", *(("--prefix", root) if root else ()), "test", *(("--", *paths) if paths else ()))

    def _list_asked(self) -> Iterator[tuple[str, str]]:
        """List path and text of the files that select the test framework, in order of precedence.

        The task's test files come first, then those of the agent, then the other files of the task, and last those of
        the base.
        """
        for tests in (self._job.given, self._own):
            yield from ((path, text) for path, text in tests.items() if suite.is_suite(path))
        yield from self._job.given.items()
        listed = [path for path in self._job.regression if path in self._present and suite.is_suite(path)]
        yield from ((path, self._text(path) or "") for path in listed)

    def _prepare(self, role: Role, tests: Files) -> Iterator[SuiteFile]:
        for path in suite.suite_paths(tests, self.framework):
            yield suite.prepare(role, path, tests[path], self.framework)

    def _as_is(self, role: Role, path: str) -> SuiteFile:
        """Return a file without a must-fail copy and without a list of its tests.

        If the file as a whole is one test, the list stays.
        """
        file = suite.prepare(role, path, self._text(path) or "", self.framework).alone()
        return file if suite.scripts([file]) else replace(file, outline=None, names=frozenset())

    def roots(self, planned: Plan) -> Mapping[str, str]:
        """Return the test files whose package is not in the tree's root, each with the folder of its package."""
        folders = {file.path: frameworks.root_of(file.path, self._text) for file in planned.files}
        return {path: root for path, root in folders.items() if root}

    def _closure(self, files: tuple[SuiteFile, ...], support: Collection[str]) -> frozenset[str] | None:
        """Return the paths to stage; None stands for all paths.

        Vitest, jest and scripts get all paths, because their configuration may read any file.
        """
        is_known = self.framework is Framework.NODE and not self.script
        return super()._closure(files, support) if is_known else None

    def _is_mine(self, path: str) -> bool:
        return suite.is_suite(path) and self._runs(path)

    def _runs(self, path: str) -> bool:
        """Check whether a test file uses the test framework of this job."""
        return frameworks.framework_of(path, self._text(path) or "", self._text) is self.framework

    def _of_command(self) -> list[SuiteFile] | None:
        command = None if self._job.given else commands.parse(self._job.command, self._before)
        if command is None:
            return None
        self.command = self._job.command
        return self._command_files(command.files(sorted(self._entries.keys() & self._present)), copied=True)
