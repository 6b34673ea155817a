"""Plans the run of one job, as far as the plan is the same for all languages.

The common part consists of the visible files, their origin and their names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from nightshift.core.code.dependencies import ImportCache, closure
from nightshift.core.code.paths import is_named, is_test_path
from nightshift.core.tasks.task import Files
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.core.text.encoding import encode
from nightshift.verdict.findings.assets import find_denied, subject_of
from nightshift.verdict.languages import test_config
from nightshift.verdict.languages.plan import Plan, Role, SuiteFile
from nightshift.verdict.run import text_before

COPIED_FILES = 10
"""A test command gets must-fail copies only if it runs at most this many files."""


def folder_of(path: str) -> str:
    """Return the folder of a file, with a trailing slash; empty for the root."""
    return path[: path.rfind("/") + 1]


class JobFiles:
    """The files of one job: the part of the base that the run sees, and the files that replace or extend it.

    Args:
        job: the job.
        imports: caches the imports of files.
    """

    def __init__(self, job: SuiteJob, imports: ImportCache) -> None:
        self._job, self._imports = job, imports
        self._entries = job.base.entries()
        present = self._entries.keys() | job.start.keys()
        self._sifted = test_config.sift(
            job.change, base=self._before, given=job.given, present=present, allows=self._may_steer
        )
        refused = find_denied(self._sifted.staged, job.denied)
        if refused:
            remaining = {path: text for path, text in self._sifted.staged.items() if path not in refused}
            self._sifted = test_config.Sifted(staged=remaining, dropped={**self._sifted.dropped, **refused})
        own = {
            p: t
            for p, t in job.own.items()
            if p not in job.given and not test_config.configures_tests(p, t, self._before)
        }
        own_dropped = {p: "steers how tests are run" for p in job.own if p not in own and p not in job.given}
        self._dropped = {**self._sifted.dropped, **own_dropped}
        self._own = own
        self._tests: Files = {**own, **job.given}
        away = {path: None for path in job.gone if path in self._entries and is_test_path(path)}
        self._over = {**job.start, **self._sifted.staged, **away, **self._tests}
        gone = {path for path, text in self._over.items() if text is None}
        self._present = (self._entries.keys() | self._over.keys()) - gone

    def _may_steer(self, path: str, text: str | None) -> bool:
        """Check whether the task names a file with settings of the runner, or the owner granted its new text."""
        return is_named(path, self._job.asked or "") or subject_of(path, text) in self._job.granted

    def _support(self, _suites: Collection[str]) -> list[str]:
        """Return the files that the runner reads in addition to the given test files."""
        return []

    def _configuration(self) -> tuple[str, ...]:
        """Return the paths of the runner's configuration files."""
        return ()

    def _closure(self, files: tuple[SuiteFile, ...], support: Collection[str]) -> frozenset[str] | None:
        if self._job.whole_tree or self._job.command:
            return None
        tests = {file.path: file.text for file in files} | dict(self._tests) | dict(self._job.held.probe)
        reached = closure(self._job.base, {**self._job.start, **self._sifted.staged}, tests, self._imports)
        if not reached.complete:
            return None
        of_runner = {*support, *self._configuration()}
        return frozenset(path for path in reached.paths | of_runner if path in self._entries)

    def _lay_out(self, files: tuple[SuiteFile, ...], support: Collection[str]) -> Plan:
        """Return a plan that runs these files, with no command, arguments or launch yet."""
        seen = self._closure(files, support)
        gone = {path for path, text in self._over.items() if text is None}
        return Plan(
            files=files,
            texts={path: encode(text) for path, text in self._over.items() if text is not None},
            removed=tuple(sorted(p for p in gone if p in self._entries and (seen is None or p in seen))),
            closure=seen,
            dropped=self._dropped,
            paths=self._paths(),
        )

    def _paths(self) -> tuple[str, ...]:
        """Return the folders of the tree from which modules are imported."""
        return ()

    def _before(self, path: str) -> str | None:
        """Return a file's text without the change."""
        return text_before(self._job, path)

    def _text(self, path: str) -> str | None:
        return self._over[path] if path in self._over else self._before(path)


class Planner(JobFiles, ABC):
    """Plans the run of one job. A subclass for each language defines the abstract methods."""

    def plan(self) -> Plan:
        """Return the plan of the job's run."""
        named = self._of_command()
        files = tuple(self._files(named))
        plan = self._lay_out(files, self._support([file.path for file in files]))
        return replace(plan, command=() if named is not None or self._tests else self._job.command)

    @abstractmethod
    def _prepare(self, role: Role, tests: Files) -> Iterator[SuiteFile]:
        """Yield the test files among `tests`, with must-fail copies."""

    @abstractmethod
    def _is_mine(self, path: str) -> bool:
        """Check whether a file is a test file of this language."""

    @abstractmethod
    def _of_command(self) -> list[SuiteFile] | None:
        """Return the test files that the job's command runs; None if the command must run unchanged."""

    def _files(self, named: Sequence[SuiteFile] | None) -> Iterator[SuiteFile]:
        # Existing tests get no must-fail copies, because their weaknesses are not the fault of this change.
        given = list(self._prepare(Role.GIVEN, self._job.given))
        changed = [path for path in self._own if path in self._entries]
        new = {path: text for path, text in self._own.items() if path not in self._entries}
        own = [*self._prepare(Role.OWN, new), *(self._as_is(Role.OWN, path) for path in changed)]
        named = list(named or ())
        taken = {file.path for file in (*given, *own, *named)}
        left = [p for p in self._job.regression if p not in taken and p in self._present and p in self._entries]
        files = [*given, *own, *named, *(self._as_is(Role.REGRESSION, path) for path in left if self._is_mine(path))]
        files = [file for file in files if not self._job.only or file.path in self._job.only]
        yield from files

    def _command_files(self, paths: Sequence[str], *, copied: bool) -> list[SuiteFile]:
        if copied and len(paths) <= COPIED_FILES:
            tests = {path: self._text(path) or "" for path in paths}
            return list(self._prepare(Role.COMMAND, tests))
        return [self._as_is(Role.COMMAND, path) for path in paths]

    def _as_is(self, role: Role, path: str) -> SuiteFile:
        text = self._text(path) or ""
        return SuiteFile(role=role, path=path, text=text)
