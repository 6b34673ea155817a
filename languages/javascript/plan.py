"""Plans a run of node:test, and has what else the verdict asks of JavaScript."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from core.dependencies import ImportCache
from core.errors import SandboxError
from core.paths import is_test_path
from core.tasks import Files, Language, TaskSpec
from core.verdicts import SuiteJob
from languages.javascript import commands, split, suite
from languages.javascript.faults import mutated
from languages.javascript.outline import Outline
from languages.javascript.split import Place
from languages.javascript.suite import Around, checks_something
from languages.plan import Plan, Role, SplitPlan, SuiteFile
from languages.planning import Planner
from sandbox.node_program import INSTALL, Node
from sandbox.runtime import Runtime

__all__ = ["checks_something", "make", "mutated", "refusal"]

BESIDE_HEAP_MB, LEAST_HEAP_MB = 128, 64
"""What Node.js uses besides the heap of the tested code, and what that heap has at least."""
RESERVED_MB = 16 << 10
"""Address space that V8 sets aside: for code, and ten gigabytes for a WebAssembly memory, of which `fetch` has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLaunch:
    """What starts a run of node:test.

    Attributes:
        program: Node.js, as a path inside.
        flags: its options.
        helper: the global that must-fail copies use.
        pairs: the files of the split run, each with its must-fail copy if it has one.
        modules: those of them that are ES modules.
    """

    program: str
    flags: tuple[str, ...]
    helper: str
    pairs: tuple[tuple[str, ...], ...]
    modules: frozenset[str]

    @property
    def framework(self) -> str:
        """What runs the tests, for messages."""
        return "node:test"

    @property
    def reserved_mb(self) -> int:
        """Address space that V8 sets aside."""
        return RESERVED_MB

    def instructions(self, *, must_fail: bool, memory_mb: int) -> Mapping[str, object]:
        """What starts Node.js; the secret marks the lines of its report."""
        config = {"secret": secrets.token_hex(12), "helper": self.helper, "must_fail": must_fail}
        heap = f"--max-old-space-size={max(LEAST_HEAP_MB, memory_mb - BESIDE_HEAP_MB)}"
        node = {
            "path": self.program,
            "flags": [*self.flags, heap],
            "told": config,
            "pairs": self.pairs,
            "modules": sorted(self.modules),
        }
        return {"node": node}


def refusal(spec: TaskSpec, node: Node | None) -> str:
    """Why this machine cannot judge a task: no Node.js, or one too old; empty when it can, and for other languages."""
    if spec.language is not Language.JAVASCRIPT:
        return ""
    if node is None:
        return INSTALL
    return next((why for path in (*spec.tests, *spec.files) if (why := node.refusal(path))), "")


def make(job: SuiteJob, imports: ImportCache, runtime: Runtime) -> Plan:
    """Plan the run of a job's tests on its changed tree.

    Args:
        job: what to judge.
        imports: remembers what files import.
        runtime: what runs inside, Node.js among it.

    Raises:
        SandboxError: there is no Node.js, or one too old for these tests.
    """
    node = runtime.node
    if node is None:
        raise SandboxError(INSTALL)
    planner = _NodePlanner(job, imports, node)
    planned = planner.plan()
    for file in planned.files:
        if why := node.refusal(file.path):
            raise SandboxError(why)
    launch = NodeLaunch(
        program=node.path,
        flags=node.flags,
        helper=planner.helper,
        pairs=tuple(_with_copy(file) for file in planned.files if file.apart),
        modules=planner.modules(planned),
    )
    return replace(planned, launch=launch, command=planner.reporting(planned.command, runtime.inside))


def _required(file: SuiteFile) -> tuple[str, ...]:
    """The tests that a file must have, under their names in the run."""
    assert file.outline is not None
    return tuple(staged for staged, name in file.names.items() if name in file.outline.required)


def _may_have_others(file: SuiteFile) -> bool:
    return not isinstance(file.outline, Outline) or bool(file.outline.open_scopes)


def _with_copy(file: SuiteFile) -> tuple[str, ...]:
    return (file.staged, file.must_fail_path) if file.copied else (file.staged,)


class _NodePlanner(Planner):
    def __init__(self, job: SuiteJob, imports: ImportCache, node: Node) -> None:
        self._node = node
        self.helper = f"_{secrets.token_hex(4)}"
        super().__init__(job, imports)

    def _prepared(self, role: Role, tests: Files, beside: Files) -> Iterator[SuiteFile]:
        paths = self._entries.keys() | self._over.keys()
        around = Around(tests=beside, paths=paths, helper=self.helper, text_of=self._text, versions=self._node.numbers)
        for path in suite.suite_paths(tests):
            yield suite.prepare(role, path, tests[path].replace("\r\n", "\n"), around)

    def _split(self, files: tuple[SuiteFile, ...], _support: Collection[str]) -> SplitPlan | None:
        fit = [file for file in files if file.apart]
        if not fit:
            return None
        names = {file.staged: _required(file) for file in fit}
        copies = {file.must_fail_path: file for file in fit if file.copied}
        judged = frozenset(f"{path}::{name}" for path, listed in names.items() for name in listed)
        return SplitPlan(
            suites=(*names, *copies),
            texts={file.staged: file.original for file in fit}
            | {path: file.must_fail_text for path, file in copies.items()},
            hidden=self._withheld(files),
            roots=(),
            settings={},
            judged=judged,
            whole=len(judged) == sum(len(file.names) for file in files) and not any(map(_may_have_others, files)),
            simple=names | {path: names[file.staged] for path, file in copies.items()},
            entire=frozenset(names),
        )

    def _withheld(self, files: tuple[SuiteFile, ...]) -> tuple[str, ...]:
        """All tests of the tree, but for what the tested code imports although its path says that it is one."""
        place, tests = self._place(), {*self._tests, *(file.path for file in files)}
        named = {path for path in self._present if is_test_path(path)} - tests
        if named:
            named -= {one for file in files if file.apart for one in split.helpers(file.path, file.original, place)}
        return tuple(sorted(tests | named))

    def modules(self, planned: Plan) -> frozenset[str]:
        """The files of the split run that are ES modules, under their paths in the run."""
        place = self._place()
        found = (file for file in planned.files if file.apart and split.is_module(file.path, file.original, place))
        return frozenset(path for file in found for path in _with_copy(file))

    def _place(self) -> Place:
        return Place(present=self._present, tests=self._tests.keys(), text_of=self._text)

    def _canary(self, folder: str) -> tuple[str, str, frozenset[str]]:
        return suite.canary(folder)

    def reporting(self, command: tuple[str, ...], code: str) -> tuple[str, ...]:
        """A command that is run as it is, so that it reports each test where the environment has what runs it."""
        vendored = any(path.startswith("node_modules/") for path in self._entries)
        return commands.reporting(command, self._before, code) if self._job.environment and not vendored else command

    def _is_mine(self, path: str) -> bool:
        return suite.is_suite(path)

    def _of_command(self) -> list[SuiteFile] | None:
        command = None if self._job.given else commands.parse(self._job.command, self._before)
        if command is None:
            return None
        return self._command_files(command.files(sorted(self._entries.keys() & self._present)), copied=True)
