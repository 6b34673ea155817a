"""Plans a run of pytest, and has what else the verdict asks of Python."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.tree import Tagged
from nightshift.core.tasks.projects import place_of
from nightshift.core.tasks.task import Files
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.languages.plan import Plan, Role, SplitPlan, SuiteFile
from nightshift.verdict.languages.planning import Planner
from nightshift.verdict.languages.python import commands, own_packages, package_layout, pytest_settings, split, suite
from nightshift.verdict.languages.python.assertions import checks_something
from nightshift.verdict.languages.python.faults import mutated

__all__ = ["checks_something", "make", "mutated"]
_MARKS, _UNKNOWN = ("no_cover", "xdist_group", "flaky", "limit_memory"), "pytest.PytestUnknownMarkWarning"
"""Marks of plugins that serve no verdict and are not loaded: warnings that are errors would end a suite with them."""

_VERSION_FILE = re.compile(r"\b(?:version[-_]file|write_to)\b")
_IGNORES = re.compile(r"\bcollect_ignore(?:_glob)?\b|\bpytest_ignore_collect\b")


def make(job: SuiteJob, imports: ImportCache, _runtime: Runtime) -> Plan:
    """Plan the run of a job's tests on its changed tree."""
    return _PytestPlanner(job, imports).plan()


class _PytestPlanner(Planner):
    def __init__(self, job: SuiteJob, imports: ImportCache) -> None:
        super().__init__(job, imports)
        self._settings = pytest_settings.read(self._text)
        self._command = commands.parse(job.command) if not job.given else None
        tests = "\n".join(self._tests.values())
        self._has_src = any(path.startswith("src/") for path in self._present)
        self._leaving_out = () if self._settings.leaves_out(tests) else self._settings.leaving_out

    def _prepared(self, role: Role, tests: Files, beside: Files) -> Iterator[SuiteFile]:
        around = suite.Surroundings(
            settings=self._settings,
            texts="\n".join(beside.values()),
            paths=self._entries.keys() | self._over.keys(),
        )
        return suite.prepare(role, tests, around)

    def _split(self, files: tuple[SuiteFile, ...], support: Collection[str]) -> SplitPlan | None:
        config = self._settings.config
        return split.plan(files, split.Surroundings(
            tests=self._tests, present=self._present, roots=("", *(f"{path}/" for path in self._paths()[1:])),
            settings=self._settings, settings_text=(self._text(config) or "") if config else "",
            conftests={path: self._text(path) or "" for path in support},
        ))  # fmt: skip

    def _canary(self, folder: str) -> tuple[str, str, frozenset[str]]:
        return suite.canary(folder, self._settings)

    def _is_mine(self, path: str) -> bool:
        named = path in self._job.only
        return path.endswith(".py") and (named or bool(self._settings.collected([path], ["."])))

    def _of_command(self) -> list[SuiteFile] | None:
        if self._command is None:
            return None
        paths = self._command.files(self._entries.keys() & self._present, self._settings)
        # Under another name a conftest would not know a file that it ignores.
        ignores = any(_IGNORES.search(self._text(path) or "") for path in self._support(paths))
        copied = self._command.takes_all and not self._leaving_out and not ignores
        return self._command_files(paths, copied=copied)

    def _support(self, suites: Collection[str]) -> list[str]:
        """The conftests in force, those further up first."""
        folders = {""} | {path[: i + 1] for path in suites for i, char in enumerate(path) if char == "/"}
        return [path for folder in sorted(folders) if (path := f"{folder}conftest.py") in self._present]

    def _configuration(self) -> tuple[str, ...]:
        return (self._settings.config,) if self._settings.config else ()

    def _options(self, support: Collection[str]) -> tuple[str, ...]:
        settings = self._settings
        # Of two modules named conftest, the one further down is found only if its folder comes first.
        mode = "prepend" if len(support) > 1 and settings.import_mode == "append" else settings.import_mode
        words = ["-c", settings.config or "/dev/null", f"--import-mode={mode}"]
        words += ["--continue-on-collection-errors"]
        words += [
            word
            for name in ("addopts", "norecursedirs", "pythonpath", "required_plugins")
            for word in ("-o", f"{name}=")
        ]
        words += [word for plugin in settings.plugins for word in ("-p", plugin)]
        words += [word for mark in _MARKS for word in ("-W", f"ignore:Unknown pytest.mark.{mark}:{_UNKNOWN}")]
        words += [] if support else ["--noconftest"]
        return (*words, *self._leaving_out, *(self._command.selecting if self._command else ()))

    def _built(self) -> Iterator[tuple[str, str]]:
        """The file with the version, which setuptools_scm and hatch-vcs take from git's tags and git ignores."""
        if not _VERSION_FILE.search(self._before("pyproject.toml") or ""):
            return
        own, (whole, _) = package_layout.read(self._before, self._entries.keys()), place_of(self._job.base)
        version = package_layout.tag_version(whole.described() if isinstance(whole, Tagged) else "")
        yield from ((path, package_layout.version_text(path, version)) for path in own.version_files)

    def _own_packages(self, present: Collection[str]) -> Mapping[str, str]:
        return own_packages.found_in(present, self._before, pytest_settings.read(self._before).paths)

    def _not_judged(self) -> str:
        return own_packages.why_not_judged(self._packages)

    def _paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((".", *(["src"] if self._has_src else []), *self._settings.paths)))
