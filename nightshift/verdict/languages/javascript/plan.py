"""Plans a run of node:test, vitest or jest, and has what else the verdict asks of JavaScript and TypeScript."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from nightshift.core.code import javascript_tests as frameworks
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.javascript import TYPED
from nightshift.core.code.javascript_tests import Framework
from nightshift.core.code.paths import is_test_path
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.task import Files, Language, TaskSpec
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.node_program import INSTALL, Node
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.languages.javascript import commands, split, suite
from nightshift.verdict.languages.javascript.faults import mutated
from nightshift.verdict.languages.javascript.outline import Outline
from nightshift.verdict.languages.javascript.split import Place
from nightshift.verdict.languages.javascript.suite import Around, checks_something
from nightshift.verdict.languages.plan import Plan, Role, SplitPlan, SuiteFile
from nightshift.verdict.languages.planning import Planner

__all__ = ["checks_something", "make", "mutated", "refusal"]

_TSX = "node_modules/tsx/"
_TYPED_NAME = re.compile(rf"[\w./-]+(?:{'|'.join(map(re.escape, TYPED))})\b")
BESIDE_HEAP_MB, LEAST_HEAP_MB = 128, 64
"""What Node.js uses besides the heap of the tested code, and what that heap has at least."""
RESERVED_MB = 16 << 10
"""Address space that V8 sets aside: for code, and ten gigabytes for a WebAssembly memory, of which `fetch` has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLaunch:
    """What starts a run of node:test, or of the project's own vitest or jest.

    Attributes:
        runner: what runs the tests.
        roots: files of vitest or jest to the folders of their packages, where these are not the tree's root.
        loads_types: whether TypeScript needs the project's own `tsx`, because this Node.js does not run it.
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
    runner: Framework = Framework.NODE
    roots: Mapping[str, str] = field(default_factory=dict)
    loads_types: bool = False

    @property
    def framework(self) -> str:
        """What runs the tests, for messages."""
        return self.runner.value

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
            "runner": "" if self.runner is Framework.NODE else self.runner.value,
            "roots": dict(self.roots),
            "loads_types": self.loads_types,
        }
        return {"node": node}


def refusal(spec: TaskSpec, node: Node | None) -> str:
    """Why this machine cannot judge a task: no Node.js, or one too old; empty when it can, and for other languages.

    Looked at are the files that come with the task, and those that its words name, before a model is asked.

    The environment of a repository may have what runs TypeScript, which is seen when there is one.
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
    for file in planned.files if planner.framework is Framework.NODE and not planner.loads_types else ():
        if why := node.refusal(file.path):
            raise SandboxError(why)
    launch = NodeLaunch(
        program=node.path,
        flags=node.flags,
        helper=planner.helper,
        pairs=tuple(_with_copy(file) for file in planned.files if file.apart),
        modules=planner.modules(planned),
        runner=planner.framework,
        roots=planner.roots(planned),
        loads_types=planner.loads_types,
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
        self.framework = frameworks.of_all(self._asked(), self._text)
        has_packages = bool(job.environment) or any(path.startswith(_TSX) for path in self._entries)
        self.loads_types = has_packages and not node.runs_types and any(p.endswith(TYPED) for p in self._present)

    def _asked(self) -> Iterator[tuple[str, str]]:
        """The files of tests that say what runs them, path and text: given ones first, those of the base last."""
        for tests in (self._job.given, self._own):
            yield from ((path, text) for path, text in tests.items() if suite.is_suite(path))
        yield from self._job.given.items()
        listed = [path for path in self._job.regression if path in self._present and suite.is_suite(path)]
        yield from ((path, self._text(path) or "") for path in listed)

    def _prepared(self, role: Role, tests: Files, beside: Files) -> Iterator[SuiteFile]:
        paths = self._entries.keys() | self._over.keys()
        around = Around(
            tests=beside, paths=paths, helper=self.helper, text_of=self._text, versions=self._node.numbers,
            framework=self.framework,
        )  # fmt: skip
        for path in suite.suite_paths(tests, self.framework):
            found = suite.prepare(role, path, tests[path].replace("\r\n", "\n"), around)
            yield replace(found, apart=found.apart and not self.loads_types)

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
        return suite.canary(folder, self.framework)

    def roots(self, planned: Plan) -> Mapping[str, str]:
        """The files of a run to the folders of their packages, where these are not the tree's root."""
        files = [(path, file.path) for file in planned.files for path in (file.staged, file.must_fail_path) if path]
        files += [(planned.canary[0], planned.canary[0])] if planned.canary[0] else []
        found = {path: frameworks.root_of(known, self._text) for path, known in files}
        return {path: root for path, root in found.items() if root}

    def _closure(self, files: tuple[SuiteFile, ...], support: Collection[str]) -> frozenset[str] | None:
        """None for vitest and jest, whose configuration may read any file."""
        return super()._closure(files, support) if self.framework is Framework.NODE else None

    def reporting(self, command: tuple[str, ...], code: str) -> tuple[str, ...]:
        """A command that is run as it is, so that it reports each test where the environment has what runs it."""
        vendored = any(path.startswith("node_modules/") for path in self._entries)
        return commands.reporting(command, self._before, code) if self._job.environment and not vendored else command

    def _is_mine(self, path: str) -> bool:
        return suite.is_suite(path) and self._runs(path)

    def _runs(self, path: str) -> bool:
        """Tell whether a file of tests is one of the framework that this job is run with."""
        return frameworks.framework_of(path, self._text(path) or "", self._text) is self.framework

    def _of_command(self) -> list[SuiteFile] | None:
        command = None if self._job.given else commands.parse(self._job.command, self._before)
        if command is None:
            return None
        return self._command_files(command.files(sorted(self._entries.keys() & self._present)), copied=True)
