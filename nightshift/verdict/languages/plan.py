"""The plan of a test run: its files with their must-fail copies, its part of the tree, and its launch.

The languages make these values, and the verdict runs them.
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
    """The origin of a test file: the task, the agent, a test command, or the base."""

    GIVEN = "given"
    OWN = "own"
    COMMAND = "command"
    REGRESSION = "regression"


class Listing(Protocol):
    """The tests of a file, by their original names."""

    @property
    def required(self) -> frozenset[str]:
        """The names that must be reported."""
        ...

    @property
    def is_closed(self) -> bool:
        """True if the text names every test of the file."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFile:
    """A test file as it is staged.

    Attributes:
        role: the role of its tests.
        path: its path in the repository.
        text: its text.
        outline: its tests; None if it does not parse, or if its tests are not listed beforehand.
        names: its tests, if they are listed.
        must_fail_text: its must-fail copy; empty without one.
        must_fail_names: the tests that are changed in the copy, by their original names.
        mirrored: whether tests that the file generates at run time are changed as well.
        preload: libraries that are imported before anything in the workspace.
    """

    role: Role
    path: str
    text: str
    outline: Listing | None = None
    names: frozenset[str] = frozenset()
    must_fail_text: str = ""
    must_fail_names: frozenset[str] = frozenset()
    mirrored: bool = False
    preload: frozenset[str] = frozenset()

    def alone(self) -> SuiteFile:
        """Return the file without its copy."""
        return replace(self, must_fail_text="", must_fail_names=frozenset(), mirrored=False)


class Launch(Protocol):
    """The launch of a test runner other than pytest."""

    @property
    def framework(self) -> str:
        """The program that runs the tests, for messages."""
        ...

    @property
    def reserved_mb(self) -> int:
        """Address space that the runner reserves beyond what it uses, in MiB."""
        ...

    def instructions(self, *, must_fail: bool, memory_mb: int) -> Mapping[str, object]:
        """Return the instructions for the trusted parent inside, by its name for the runner.

        Args:
            must_fail: whether the files are must-fail copies.
            memory_mb: the memory limit of the run.
        """
        ...

    def read(self, session: Session) -> Session:
        """Return a session with the tests that the runner reports in its own form."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A run of another package's program (`sandbox.runtime.Program`) on the tree and the tests of a plan.

    Attributes:
        entry: the program's entry point.
        job: its input in addition to the files, as JSON.
    """

    entry: str
    job: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The files and settings of one run.

    Attributes:
        files: the test files.
        texts: the files over the base: the change, the owner's start, tests that keep their names.
        removed: files of the base that the run must not see.
        closure: the part of the base that is staged, None for all of it.
        dropped: files of the change that are not staged, path to reason.
        paths: folders that modules are imported from.
        words: the arguments of pytest; None for every other runner.
        is_module: whether it starts as `python -m pytest`, which adds the working folder to the import path.
        has_conftest: whether a conftest applies.
        is_traced: whether the lines of test files are recorded.
        preloads: modules that are imported before anything in the workspace.
        command: a command that runs as it is, instead of a known runner.
        calls: calls that are made instead of tests: module, function, arguments and keyword arguments, packed.
        program: a program that runs on the tests instead of a runner.
        launch: starts a runner other than pytest.
        must_fail: whether the files are must-fail copies.
        only: ids of tests, if not all of them run.
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
    only: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """The files that run, in order."""
        return self.only or tuple(file.path for file in self.files)

    @property
    def framework(self) -> str:
        """The program that runs the tests."""
        return self.launch.framework if self.launch else "pytest"

    @property
    def preload(self) -> tuple[str, ...]:
        """The libraries to import before anything in the workspace."""
        return tuple(sorted({*self.preloads, *(name for file in self.files for name in file.preload)}))


def calls_alone(plan: Plan, base: Collection[str], calls: Sequence[tuple[str, str, object, object]]) -> Plan:
    """Return a run of calls in the same tree without its tests, so that nothing in it contains the expected results.

    Args:
        plan: the run of the tests.
        base: the paths of the base.
        calls: module, function, arguments and keyword arguments, packed.
    """
    files, mine = {file.path for file in plan.files}, {f.path for f in plan.files if f.role is not Role.REGRESSION}
    gone = {path for path in mine if path in base and (plan.closure is None or path in plan.closure)}
    return replace(
        plan, files=(), command=(), words=None, calls=tuple(calls),
        removed=tuple(sorted({*plan.removed, *gone})),
        texts={path: text for path, text in plan.texts.items() if path not in files},
    )  # fmt: skip


def list_required(file: SuiteFile, _text_of: Callable[[str], str | None]) -> frozenset[str]:
    """Return the tests that a file must have, as listed in its plan."""
    return file.outline.required if file.outline else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """A run of copies: its plan, and the tests whose copies must fail, by their ids without parameters."""

    plan: Plan
    tests: frozenset[str]


def plan_copies(
    planned: Plan, passed: Collection[str], _mended: Collection[str], _text_of: Callable[[str], str | None]
) -> Copies | None:
    """Return the copies that were made with the plan; the arguments are as in `TestDialect`."""
    copied = copies(planned)
    names = {f"{file.path}::{name}" for file in planned.files for name in file.must_fail_names}
    mirrored = {file.path for file in planned.files if file.mirrored}
    names |= {bare(test) for test in passed if file_of(test) in mirrored}
    return Copies(plan=copied, tests=frozenset(names)) if copied else None


def copies(plan: Plan) -> Plan | None:
    """Return a run of the must-fail copies in place of their files; None if there are none."""
    copied = tuple(replace(file.alone(), text=file.must_fail_text) for file in plan.files if file.must_fail_text)
    texts = {**plan.texts, **{file.path: encode(file.text) for file in copied}}
    return replace(plan, files=copied, texts=texts, must_fail=True) if copied else None


def rest(plan: Plan, paths: Collection[str]) -> Plan:
    """Return a run of the base's tests that another run has left."""
    files = tuple(file.alone() for file in plan.files if file.role is Role.REGRESSION and file.path in paths)
    if plan.words is not None:
        return with_files(plan, files)
    return replace(plan, files=files)


def tests_alone(plan: Plan) -> Plan:
    """Return a run of the tests without copies."""
    return replace(plan, files=tuple(file.alone() for file in plan.files))


def first_failure(plan: Plan) -> Plan:
    """Return a plan like `tests_alone` that stops at the first failure, if the runner can."""
    alone = tests_alone(plan)
    if plan.words is not None:
        return replace(alone, words=(*plan.words, "-x"), is_traced=False)
    return alone


def only_tests(plan: Plan, tests: Collection[str]) -> Plan | None:
    """Return a run of some tests only, by their ids without parameters; None for a command, which runs as it is."""
    paths = {test.partition("::")[0] for test in tests}
    files = tuple(file for file in plan.files if file.path in paths)
    if plan.words is not None:
        plan_paths = {file.path for file in plan.files}
        words = [word for word in plan.words if word.partition("::")[0] not in plan_paths]
        return replace(plan, words=(*words, *tests), is_traced=False)
    return None if plan.command else replace(plan, files=files)


def with_files(plan: Plan, files: Collection[SuiteFile]) -> Plan:
    """Return a run of pytest on some of a plan's files, with the texts given here."""
    plan_paths = {file.path for file in plan.files}
    words = [word for word in plan.words or () if word.partition("::")[0] not in plan_paths]
    own = {file.path: encode(file.text) for file in files}
    return replace(plan, files=tuple(files), words=(*words, *own), texts={**plan.texts, **own})
