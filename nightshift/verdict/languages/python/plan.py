"""Plans a run of pytest or of the owner's command, and provides the functions of `TestDialect` for Python."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.parsing import parse_quietly
from nightshift.core.code.tree import Tagged
from nightshift.core.tasks.projects import place_of
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.core.text.encoding import encode
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.languages.plan import Copies, Plan, Role, SuiteFile, with_files
from nightshift.verdict.languages.planning import JobFiles
from nightshift.verdict.languages.python import commands, package_layout, pytest_settings
from nightshift.verdict.languages.python.assertions import checks_something
from nightshift.verdict.languages.python.faults import mutate
from nightshift.verdict.languages.python.outline import outline
from nightshift.verdict.languages.python.suite import copy_tests, group_by_modules, suite_paths
from nightshift.verdict.languages.test_config import LIBRARY_NAMES, provides

__all__ = ["checks_something", "list_required", "make", "mutate", "plan_copies"]
_VERSION_FILE = re.compile(r"\b(?:version[-_]file|write_to)\b")
_IMPORTED = re.compile(r"^\s*(?:import|from)\s+([\w.]+)", re.MULTILINE)
_PARTS = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|.*)", re.MULTILINE)
_WORD = re.compile(r"\w+")
_NEVER_PRELOADED = frozenset({"this", "antigravity", "idlelib", "tkinter", "turtle", "test", "turtledemo", "lib2to3"})


def make(job: SuiteJob, imports: ImportCache, _runtime: Runtime) -> Plan:
    """Plan the run of a job's tests on its changed tree."""
    return _PytestPlanner(job, imports).plan()


def plan_copies(
    planned: Plan, _passed: Collection[str], mended: Collection[str], text_of: Callable[[str], str | None]
) -> Copies | None:
    """Plan must-fail copies of the task's and the agent's test files, and of files with tests that the change fixes."""
    settings, files, tests = pytest_settings.read(text_of), list[SuiteFile](), set[str]()
    for file in planned.files:
        is_wanted = file.role in {Role.GIVEN, Role.OWN} or file.path in mended
        if is_wanted and (copy := copy_tests(file.text, settings, random.SystemRandom())):
            files.append(replace(file, text=copy[0]))
            tests |= {f"{file.path}::{name}" for name in copy[1]}
    if not files:
        return None
    return Copies(plan=replace(with_files(planned, files), is_traced=False), tests=frozenset(tests))


def list_required(file: SuiteFile, text_of: Callable[[str], str | None]) -> frozenset[str]:
    """List the tests that a file must report."""
    tree = parse_quietly(file.text)
    return outline(tree, pytest_settings.read(text_of)).required if tree else frozenset()


class _PytestPlanner(JobFiles):
    def __init__(self, job: SuiteJob, imports: ImportCache) -> None:
        super().__init__(job, imports)
        self._settings = pytest_settings.read(self._text)
        has_command = bool(job.command) and not job.given and not job.only
        self._command = commands.parse(job.command) if has_command else None
        self._as_it_is = job.command if has_command and self._command is None else ()
        self._has_src = any(path.startswith("src/") for path in self._present)

    def plan(self) -> Plan:
        """Return the plan of the job's run."""
        files = tuple(self._files_as_they_are())
        support = self._support([file.path for file in files])
        plan = self._lay_out(files, support)
        built = {path: encode(text) for path, text in self._list_built() if path not in self._present}
        words = None if self._as_it_is else self._words(files)
        command = self._as_it_is
        if words is not None and self._hides_a_library():
            command, words = ("python", "-m", "pytest", *words), None
        collides = self._command is None and self._settings.shares_names
        groups = group_by_modules(plan.order, self._present) if collides else ()
        return replace(
            plan, texts={**plan.texts, **built}, command=command, words=words, groups=groups,
            is_module=self._command is None or self._command.is_module,
            has_conftest=bool(support), preloads=self._preloads(files),
        )  # fmt: skip

    def _files_as_they_are(self) -> Iterator[SuiteFile]:
        given, own = (suite_paths(tests, self._settings) for tests in (self._job.given, self._own))
        named = self._command.files(self._entries.keys() & self._present, self._settings) if self._command else ()
        left = [path for path in self._job.regression if path in self._present and path in self._entries]
        mine = [path for path in left if self._is_mine(path)]
        roles = {
            **dict.fromkeys(mine, Role.REGRESSION), **dict.fromkeys(named, Role.COMMAND),
            **dict.fromkeys(own, Role.OWN), **dict.fromkeys(given, Role.GIVEN),
        }  # fmt: skip
        order = dict.fromkeys((*given, *own, *named, *mine))
        for path in order:
            if not self._job.only or path in self._job.only:
                yield SuiteFile(role=roles[path], path=path, text=self._text(path) or "")

    def _words(self, files: Sequence[SuiteFile]) -> tuple[str, ...]:
        """Return pytest's arguments: those of the owner's command, and the files that the command does not select."""
        if self._command is None:
            settings = ["-c", self._settings.config] if self._settings.config else []
            return ("--rootdir=.", *settings, *(file.path for file in files))
        named_paths = set(self._command.files(self._entries.keys() & self._present, self._settings))
        more = [file.path for file in files if file.path not in named_paths]
        return (*self._command.words, *(more if self._command.targets else ()))

    def _hides_a_library(self) -> bool:
        """Check whether the tree contains a package that pytest itself uses.

        If it does, pytest must run in a process that has not already imported an installed copy of that package.
        """
        roots = ("", *(f"{path}/" for path in self._paths()[1:]))
        return any(provides(name, root, self._present) for name in LIBRARY_NAMES for root in roots)

    def _preloads(self, files: Sequence[SuiteFile]) -> tuple[str, ...]:
        """Return the modules to import beforehand: those of the standard library that tests import, and Hypothesis."""
        names = set[str]()
        for file in files:  # a fixture such as `mocker` imports `unittest.mock` late
            names |= {*_IMPORTED.findall(file.text), *(["unittest.mock"] if "mock" in file.text else [])}
            names |= {f"{head}.{name}" for head, rest in _PARTS.findall(file.text) for name in _WORD.findall(rest)}
        tops = {name: name.partition(".")[0] for name in names}
        standard = sys.stdlib_module_names - _NEVER_PRELOADED
        return tuple(sorted(name for name, top in tops.items() if top in standard or name == "hypothesis"))

    def _is_mine(self, path: str) -> bool:
        named = path in self._job.only and path.endswith(".py")
        return named or self._settings.is_test_file(path, self._before)

    def _support(self, suites: Collection[str]) -> list[str]:
        """Return the paths of the conftest files that apply to these test files, outermost first."""
        folders = {""} | {path[: i + 1] for path in suites for i, char in enumerate(path) if char == "/"}
        return [path for folder in sorted(folders) if (path := f"{folder}conftest.py") in self._present]

    def _configuration(self) -> tuple[str, ...]:
        return (self._settings.config,) if self._settings.config else ()

    def _list_built(self) -> Iterator[tuple[str, str]]:
        """Yield version files, path and text, for builds that generate them from git tags.

        setuptools_scm and hatch-vcs generate such files. Git ignores them, so they are missing from the tree.
        """
        if not _VERSION_FILE.search(self._before("pyproject.toml") or ""):
            return
        own, (tree, _) = package_layout.read(self._before, self._entries.keys()), place_of(self._job.base)
        version = package_layout.tag_version(tree.describe() if isinstance(tree, Tagged) else "")
        yield from ((path, package_layout.version_text(path, version)) for path in own.version_files)

    def _paths(self) -> tuple[str, ...]:
        members = package_layout.find_members(self._text, self._present)
        return tuple(dict.fromkeys((".", *(["src"] if self._has_src else []), *self._settings.paths, *members)))
