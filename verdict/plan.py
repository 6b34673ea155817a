"""From a job to what is staged and run: which files the run sees, from where, and under which names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from core.dependencies import ImportCache, closure
from core.tasks import Files
from core.text import encode
from core.tree import text_of
from core.verdicts import SuiteJob
from languages.python import pytest_settings
from languages.python.pytest_settings import PytestSettings
from verdict import commands, must_fail, split, test_config
from verdict.must_fail import Role, SuiteFile, Surroundings
from verdict.split import SplitPlan

TWINNED_FILES = 10
"""A test command that names more files than this runs them as they are, with a canary in place of copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """What a run of node:test needs besides its files.

    `program` and `flags` start Node.js, `helper` is the global that tests use. `pairs` are the files of the split run,
    each with its must-fail copy if it has one; `modules` are those of them that are ES modules.
    """

    program: str
    flags: tuple[str, ...]
    helper: str
    pairs: tuple[tuple[str, ...], ...]
    modules: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A run of another package's program (`sandbox.runtime.Program`) on the tree and the tests of a plan.

    `entry` is the program's, `job` is what it is told beside the files, as JSON.
    """

    entry: str
    job: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run sees.

    `texts` lie over the base: the change, the owner's start, tests that keep their names. `mounted` are the tests under
    random names, shown read-only. `closure` is the part of the base that is staged, None for all of it. `removed` are
    files of the base that the run must not see. `calls` are made in place of tests: module, function, arguments and
    named arguments, packed. A `program` does something of its own with the tests. `node` is there for a run of
    node:test in the place of pytest. `split` is the run that comes before, with the tested code in a process of its
    own. `must_fail` tells that the files are must-fail copies. `only` are ids of tests where not all of them are to
    run.
    """

    files: tuple[SuiteFile, ...]
    texts: Mapping[str, bytes]
    mounted: Mapping[str, bytes]
    removed: tuple[str, ...]
    closure: frozenset[str] | None
    dropped: Mapping[str, str]
    settings: PytestSettings
    options: tuple[str, ...]
    paths: tuple[str, ...]
    command: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, object, object], ...] = ()
    program: ProgramRun | None = None
    node: NodeRun | None = None
    split: SplitPlan | None = None
    must_fail: bool = False
    only: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """What is run, in this order: `only` these tests, or first all originals, so that no canary disturbs one."""
        return self.only or (*(file.staged for file in self.files), *(file.twin for file in self.files if file.twin))

    @property
    def framework(self) -> str:
        """What runs the tests."""
        return "node:test" if self.node else "pytest"

    @property
    def preload(self) -> tuple[str, ...]:
        """Libraries to import before anything of the workspace."""
        return tuple(sorted({name for file in self.files for name in file.preload}))


def make(job: SuiteJob, imports: ImportCache) -> Plan:
    """Plan the run of a job's tests on its changed tree."""
    return Planner(job, imports).plan()


def calls_alone(plan: Plan, base: Collection[str], calls: Sequence[tuple[str, str, object, object]]) -> Plan:
    """A run of calls in the same tree without its tests: nothing in it says what is expected.

    Args:
        plan: the run of the tests.
        base: the paths of the base.
        calls: module, function, arguments and named arguments, packed.
    """
    staged, mine = {file.staged for file in plan.files}, {f.path for f in plan.files if f.role is not Role.REGRESSION}
    gone = {path for path in mine if path in base and (plan.closure is None or path in plan.closure)}
    return replace(
        plan, files=(), mounted={}, command=(), calls=tuple(calls), split=None,
        removed=tuple(sorted({*plan.removed, *gone})),
        texts={path: text for path, text in plan.texts.items() if path not in staged | mine},
    )  # fmt: skip


def originals(plan: Plan) -> Plan:
    """A run of the tests without their must-fail copies; canaries stay, which need the tests beside them."""
    alone = tuple(file.alone() if file.copied else file for file in plan.files)
    return replace(plan, files=alone, mounted=_mounted(alone))


def copies(plan: Plan) -> Plan | None:
    """A run of the must-fail copies; None where there are only canaries.

    The same split run comes before it: whatever that leaves behind in a sandbox does not tell copies from tests.
    """
    copied = [file for file in plan.files if file.copied]
    alone = tuple(replace(file.alone(), staged=file.twin, text=file.twin_text) for file in copied)
    return replace(plan, files=alone, mounted=_mounted(alone), must_fail=True) if alone else None


def tests_alone(plan: Plan) -> Plan:
    """A run of the tests and nothing else, which ends at the first that fails: it tells whether one does."""
    alone = tuple(file.alone() for file in plan.files)
    return replace(plan, files=alone, mounted=_mounted(alone), options=(*plan.options, "-x"), split=None)


def _mounted(files: Collection[SuiteFile]) -> dict[str, bytes]:
    """The tests under random names, path to bytes."""
    mounted = {file.twin: encode(file.twin_text) for file in files if file.twin}
    return mounted | {file.staged: encode(file.text) for file in files if file.staged != file.path}


class Planner:
    """Plans the run of one job; what belongs to pytest stands in methods of its own, which another language replaces.

    Args:
        job: what to judge.
        imports: remembers what files import.
    """

    def __init__(self, job: SuiteJob, imports: ImportCache) -> None:
        self._job, self._imports = job, imports
        self._entries = job.base.entries()
        present = self._entries.keys() | job.start.keys()
        self._sifted = test_config.sift(job.change, base=self._before, given=job.given, present=present)
        own = {p: t for p, t in job.own.items() if p not in job.given and not test_config.steers(p, t, self._before)}
        own_dropped = {p: "steers how tests are run" for p in job.own if p not in own and p not in job.given}
        self._dropped = {**self._sifted.dropped, **own_dropped}
        self._own = own
        self._tests: Files = {**own, **job.given}
        self._over = {**job.start, **self._sifted.kept, **self._tests}
        self._present = {p for p in (*self._entries, *self._over) if self._over.get(p, "") is not None}
        self._settings = pytest_settings.read(self._text)
        self._command = commands.parse(job.command) if not job.given else None
        self._named = self._of_command()

    def plan(self) -> Plan:
        """The plan."""
        files, settings = tuple(self._files()), self._settings
        conftests = self._conftests([file.path for file in files])
        seen = self._closure(files, conftests)
        staged_as_is = {file.path for file in files if file.staged == file.path}
        hidden = {file.path for file in files if file.staged != file.path}
        texts = {p: encode(t) for p, t in self._over.items() if t is not None and p not in hidden | staged_as_is}
        texts |= {f.staged: encode(f.text) for f in files if f.staged == f.path and f.role is not Role.REGRESSION}
        gone = {p for p, t in self._over.items() if t is None} | hidden
        return Plan(
            files=files, texts=texts, mounted=_mounted(files), closure=seen, dropped=self._dropped, settings=settings,
            removed=tuple(sorted(p for p in gone if p in self._entries and (seen is None or p in seen))),
            options=self._options(conftests), paths=self._paths(),
            command=() if self._named is not None or self._tests else self._job.command,
            split=self._split(files, conftests),
        )  # fmt: skip

    def _files(self) -> Iterator[SuiteFile]:
        given = list(self._prepared(Role.GIVEN, self._job.given, self._tests))
        own = list(self._prepared(Role.OWN, self._own, self._tests))
        named = list(self._named or ())
        taken = {file.path for file in (*given, *own, *named)}
        left = [p for p in self._job.regression if p not in taken and p in self._present and p in self._entries]
        found = [*given, *own, *named, *(self._as_is(Role.REGRESSION, path) for path in left if self._is_mine(path))]
        if found and not any(file.twin for file in found):
            path, text, names = self._canary(found[0].path[: found[0].path.rfind("/") + 1])
            found[0] = replace(found[0], twin=path, twin_text=text, twin_names=names)
        yield from found

    def _prepared(self, role: Role, tests: Files, beside: Files) -> Iterator[SuiteFile]:
        """The test files among `tests`, prepared; `beside` are all tests that run with them."""
        return must_fail.prepare(role, tests, self._around(beside))

    def _split(self, files: tuple[SuiteFile, ...], conftests: Collection[str]) -> SplitPlan | None:
        """The run with the tested code in a process of its own."""
        config = self._settings.config
        return split.plan(files, split.Surroundings(
            tests=self._tests, present=self._present, roots=("", *(f"{path}/" for path in self._paths()[1:])),
            settings=self._settings, settings_text=(self._text(config) or "") if config else "",
            conftests={path: self._text(path) or "" for path in conftests},
        ))  # fmt: skip

    def _canary(self, folder: str) -> tuple[str, str, frozenset[str]]:
        """Path, text and test names of a file that must fail."""
        return must_fail.canary(folder, self._settings)

    def _is_mine(self, path: str) -> bool:
        """Tell whether a test file is one of this language."""
        return path.endswith(".py")

    def _of_command(self) -> list[SuiteFile] | None:
        """The test files that the job's command names; None when it has to be run as it is."""
        if self._command is None:
            return None
        paths = self._command.files(self._entries.keys() & self._present, self._settings)
        return self._command_files(paths, copied=self._command.takes_all)

    def _command_files(self, paths: Sequence[str], *, copied: bool) -> list[SuiteFile]:
        if copied and len(paths) <= TWINNED_FILES:
            tests = {path: self._text(path) or "" for path in paths}
            return list(self._prepared(Role.COMMAND, tests, tests))
        return [self._as_is(Role.COMMAND, path) for path in paths]

    def _as_is(self, role: Role, path: str) -> SuiteFile:
        text = self._text(path) or ""
        return SuiteFile(role=role, path=path, staged=path, text=text, original=text)

    def _around(self, tests: Files) -> Surroundings:
        return Surroundings(
            settings=self._settings,
            texts="\n".join(tests.values()),
            paths=self._entries.keys() | self._over.keys(),
        )

    def _conftests(self, suites: Collection[str]) -> list[str]:
        folders = {""} | {path[: i + 1] for path in suites for i, char in enumerate(path) if char == "/"}
        return [path for folder in sorted(folders) if (path := f"{folder}conftest.py") in self._present]

    def _closure(self, files: tuple[SuiteFile, ...], conftests: list[str]) -> frozenset[str] | None:
        if self._job.whole_tree or self._job.command:
            return None
        tests = {file.path: file.original for file in files} | dict(self._tests) | dict(self._job.held.probe)
        found = closure(self._job.base, {**self._job.start, **self._sifted.kept}, tests, self._imports)
        if not found.complete:
            return None
        steering_files = {*conftests, *([self._settings.config] if self._settings.config else [])}
        return frozenset(path for path in found.paths | steering_files if path in self._entries)

    def _options(self, conftests: Collection[str]) -> tuple[str, ...]:
        settings = self._settings
        # Of two modules named conftest, the one further down is found only if its folder comes first.
        mode = "prepend" if len(conftests) > 1 and settings.import_mode == "append" else settings.import_mode
        words = ["-c", settings.config or "/dev/null", f"--import-mode={mode}"]
        words += ["--continue-on-collection-errors"]
        words += [word for name in ("addopts", "pythonpath", "required_plugins") for word in ("-o", f"{name}=")]
        words += [word for plugin in settings.plugins for word in ("-p", plugin)]
        words += [] if conftests else ["--noconftest"]
        return (*words, *(self._command.selecting if self._command else ()))

    def _paths(self) -> tuple[str, ...]:
        has_src = any(path.startswith("src/") for path in self._present)
        return tuple(dict.fromkeys((".", *(["src"] if has_src else []), *self._settings.paths)))

    def _before(self, path: str) -> str | None:
        """A file's text without the change."""
        if path in self._job.start:
            return self._job.start[path]
        return text_of(self._job.base, path)

    def _text(self, path: str) -> str | None:
        return self._over[path] if path in self._over else self._before(path)
