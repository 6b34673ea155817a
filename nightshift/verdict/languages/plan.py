"""The plan of a test run: test files, must-fail copies, the part of the tree to stage, and the runner to start.

The modules of the languages create plans, and the verdict runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from nightshift.core.text.encoding import encode
from nightshift.verdict.answer import Session
from nightshift.verdict.run import bare, file_of


class Role(StrEnum):
    """The origin of a test file: the task, the agent, a test command, or the base (as a regression test)."""

    GIVEN = "given"
    OWN = "own"
    COMMAND = "command"
    REGRESSION = "regression"


class Listing(Protocol):
    """The tests that the text of a file names."""

    @property
    def required(self) -> frozenset[str]:
        """The names of the tests that the run must report."""
        ...

    @property
    def is_closed(self) -> bool:
        """True if the text names every test; false if the file also generates tests at run time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFile:
    """A test file as it is staged.

    Attributes:
        role: the origin of the file.
        path: its path in the repository.
        text: its text.
        outline: its tests; None if the text does not parse, or if its tests are not listed before the run.
        names: the names of its tests, if they are listed.
        must_fail_text: the text of its must-fail copy; empty if there is no copy.
        must_fail_names: the original names of the tests that are changed in the copy.
        mirrored: whether the copy also changes the tests that the file generates at run time.
    """

    role: Role
    path: str
    text: str
    outline: Listing | None = None
    names: frozenset[str] = frozenset()
    must_fail_text: str = ""
    must_fail_names: frozenset[str] = frozenset()
    mirrored: bool = False

    def alone(self) -> SuiteFile:
        """Return the file without its must-fail copy."""
        return replace(self, must_fail_text="", must_fail_names=frozenset(), mirrored=False)


class Launch(Protocol):
    """Starts a test runner other than pytest and reads its results."""

    @property
    def framework(self) -> str:
        """The name of the test runner, for messages."""
        ...

    @property
    def reserved_mb(self) -> int:
        """MiB of address space that the runner reserves beyond the memory it uses."""
        ...

    def instructions(self, *, must_fail: bool, memory_mb: int) -> Mapping[str, object]:
        """Return the instructions for the trusted parent process inside the sandbox, keyed by the runner's name.

        Args:
            must_fail: whether the files are must-fail copies.
            memory_mb: the memory limit of the run, in MiB.
        """
        ...

    def read(self, session: Session) -> Session:
        """Return the session with its tests, converted from the report that the runner writes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A program of another package that runs on the tree and the tests of a plan (`sandbox.runtime.Program`).

    Attributes:
        entry: the entry point of the program.
        job: the input of the program in addition to the files, as JSON values.
    """

    entry: str
    job: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The files and settings of one run.

    Attributes:
        files: the test files.
        texts: the files that replace those of the base, by path: the change, the owner's initial files, and the tests.
        removed: the files of the base that the run must not see.
        closure: the paths of the base that are staged; None for all of them.
        dropped: the changed files that are not staged, path to reason.
        paths: the folders from which modules are imported.
        words: the arguments of pytest; None for every other runner.
        is_module: whether pytest starts as `python -m pytest`, which adds the working folder to the import path.
        has_conftest: whether a conftest applies to the tests.
        is_traced: whether the executed lines of test files are recorded.
        preloads: modules to import before any code of the workspace.
        command: a command to run unchanged, instead of a known runner.
        calls: calls to make instead of tests, each with module, function, packed arguments and packed keyword
            arguments.
        program: a program to run on the tests instead of a runner.
        launch: starts a runner other than pytest.
        must_fail: whether the files are must-fail copies.
        groups: the paths of the test files, in groups of which each needs a process of its own; empty if one is enough.
    """

    files: tuple[SuiteFile, ...]
    texts: Mapping[str, bytes]
    removed: tuple[str, ...]
    closure: frozenset[str] | None
    dropped: Mapping[str, str]
    paths: tuple[str, ...]
    words: tuple[str, ...] | None = None
    is_module: bool = True
    has_conftest: bool = False
    is_traced: bool = True
    preloads: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, object, object], ...] = ()
    program: ProgramRun | None = None
    launch: Launch | None = None
    must_fail: bool = False
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """The paths of the files to run, in order."""
        return tuple(file.path for file in self.files)

    @property
    def framework(self) -> str:
        """The name of the test runner."""
        return self.launch.framework if self.launch else "pytest"


def calls_alone(plan: Plan, base: Collection[str], calls: Sequence[tuple[str, str, object, object]]) -> Plan:
    """Return a plan that makes calls in the same tree without its tests, so that it contains no expected results.

    Args:
        plan: the plan of the test run.
        base: the paths of the base.
        calls: each call's module, function, packed arguments and packed keyword arguments.
    """
    files, mine = {file.path for file in plan.files}, {f.path for f in plan.files if f.role is not Role.REGRESSION}
    gone = {path for path in mine if path in base and (plan.closure is None or path in plan.closure)}
    return replace(
        plan, files=(), command=(), words=None, calls=tuple(calls),
        removed=tuple(sorted({*plan.removed, *gone})),
        texts={path: text for path, text in plan.texts.items() if path not in files},
    )  # fmt: skip


def list_required(file: SuiteFile, _text_of: Callable[[str], str | None]) -> frozenset[str]:
    """Return the tests that a file must report, as its plan lists them."""
    return file.outline.required if file.outline else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """A run of must-fail copies.

    Attributes:
        plan: the plan of the run.
        tests: the ids of the tests whose copies must fail, without parameters.
    """

    plan: Plan
    tests: frozenset[str]


def plan_copies(
    planned: Plan, passed: Collection[str], _mended: Collection[str], _text_of: Callable[[str], str | None]
) -> Copies | None:
    """Return a run of the must-fail copies that a plan already contains. The arguments are those of `TestDialect`."""
    copied = copies(planned)
    names = {f"{file.path}::{name}" for file in planned.files for name in file.must_fail_names}
    mirrored = {file.path for file in planned.files if file.mirrored}
    names |= {bare(test) for test in passed if file_of(test) in mirrored}
    return Copies(plan=copied, tests=frozenset(names)) if copied else None


def copies(plan: Plan) -> Plan | None:
    """Return a plan in which the must-fail copies replace their originals; None if there are no copies."""
    copied = tuple(replace(file.alone(), text=file.must_fail_text) for file in plan.files if file.must_fail_text)
    texts = {**plan.texts, **{file.path: encode(file.text) for file in copied}}
    return replace(plan, files=copied, texts=texts, must_fail=True) if copied else None


def list_parts(plan: Plan) -> list[Plan]:
    """Return the plans that together run a plan's tests, one for each process that they need."""
    if len(plan.groups) < 2 or plan.words is None:
        return [plan]
    of_group, parts = {path: at for at, group in enumerate(plan.groups) for path in group}, list[Plan]()
    for at in range(len(plan.groups)):
        words = [word for word in plan.words if of_group.get(word.partition("::")[0], at) == at]
        if any(word.partition("::")[0] in of_group for word in words):
            files = tuple(file for file in plan.files if of_group.get(file.path, at) == at)
            parts.append(replace(plan, files=files, words=tuple(words), groups=()))
    return parts or [plan]


def rest(plan: Plan, paths: Collection[str]) -> Plan:
    """Return a plan for the test files of the base that another run left, given by their paths."""
    files = tuple(file.alone() for file in plan.files if file.role is Role.REGRESSION and file.path in paths)
    if plan.words is not None:
        return with_files(plan, files)
    return replace(plan, files=files)


def tests_alone(plan: Plan) -> Plan:
    """Return a plan without must-fail copies."""
    return replace(plan, files=tuple(file.alone() for file in plan.files))


def first_failure(plan: Plan) -> Plan:
    """Return a plan without must-fail copies; pytest stops at the first failure, other runners run all tests."""
    alone = tests_alone(plan)
    if plan.words is not None:
        return replace(alone, words=(*plan.words, "-x"), is_traced=False)
    return alone


def only_tests(plan: Plan, tests: Collection[str]) -> Plan | None:
    """Return a plan that runs only some tests, given by their ids without parameters.

    Runners other than pytest run the whole files of these tests. The result is None for a command, which must run
    unchanged.
    """
    paths = {test.partition("::")[0] for test in tests}
    files = tuple(file for file in plan.files if file.path in paths)
    if plan.words is not None:
        plan_paths = {file.path for file in plan.files}
        words = [word for word in plan.words if word.partition("::")[0] not in plan_paths]
        return replace(plan, words=(*words, *tests), is_traced=False)
    return None if plan.command else replace(plan, files=files)


def with_files(plan: Plan, files: Collection[SuiteFile]) -> Plan:
    """Return a plan that runs pytest on these files, with their texts in place of those in the plan."""
    plan_paths = {file.path for file in plan.files}
    words = [word for word in plan.words or () if word.partition("::")[0] not in plan_paths]
    own = {file.path: encode(file.text) for file in files}
    return replace(plan, files=tuple(files), words=(*words, *own), texts={**plan.texts, **own})
