"""Checks a change with the linters and type checkers of its repository; only findings that the change causes count.

The linters run in the sandbox, because their plugins and settings are code of the repository. They run on the changed
tree and, if they find something, also on the tree before the change. They use the settings of the base, so that a
change cannot alter the rules that it is judged by.

New findings become notes in the commit, because correct work that breaks a lint rule is still correct. A finding goes
back to the author instead if it is in a line that the change wrote and if its rule is required. All rules are required
if the repository or the task has `lint: required`; a single rule is required if the owner's `checker_rules` name it. In
tests, only rules that `checker_rules` name are required. A linter that does not start, or whose output cannot be read,
becomes a note and stops nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import TypeVar

from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.line_changes import list_written_lines
from nightshift.core.code.repository_commands import Found, FoundLinter, Linter
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Ended, RunLimits
from nightshift.core.ports import Shell
from nightshift.core.shell import ShellJob, ShellResult
from nightshift.core.tasks.change_checks import ChangeCheckJob, ChangeCheckReport, Finding, Severity
from nightshift.core.tasks.task import Change, Files, Lint
from nightshift.core.text.masking import printable
from nightshift.verdict.checks.catalogue import Finding as Catalogued
from nightshift.verdict.checks.checker import is_test
from nightshift.verdict.checks.hooks.hooks import covers
from nightshift.verdict.checks.linters.tools import (
    CONFIGURES,
    FORMATTER,
    FORMATTER_PATH,
    NOT_THERE,
    TOOLS,
    Issue,
    Tool,
    configures,
    mypy_targets,
)
from nightshift.verdict.checks.policy import Policy
from nightshift.verdict.languages.repository_commands.find import find

MOST = 10
"""Maximum number of findings that go back to the author at once. Fixing the first often fixes others."""
MOST_FILES = 200
REMEMBERED = 256
LOOK_AGAIN = timedelta(minutes=5)
_MESSAGE = 300
_NOTE = "linter"
K = TypeVar("K")
V = TypeVar("V")

Fetch = Callable[[str], Awaitable[Mapping[str, str]]]
"""Downloads the wheels of a requirement, and returns the version of each wheel by name. Raises SandboxError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """The result of a linter on a tree.

    Attributes:
        issues: the linter's findings.
        fault: the reason why there is no usable result; empty if there is one. With a fault, `issues` is empty.
    """

    issues: tuple[Issue, ...] = ()
    fault: str = ""


@dataclass(frozen=True, kw_only=True)  # No slots: cached properties need `__dict__`.
class _Work:
    """The input of the linters. Files that configure a linter are left out of `before`, `change` and `tests`.

    Attributes:
        job: the change to check.
        commands: the linters and commands that the base declares.
        before: the files that the owner gave with the task. Together with the base, they are the tree before the
            change.
        change: the files that the change wrote or removed.
        tests: the tests that the change wrote.
    """

    job: ChangeCheckJob
    commands: Found
    before: Files
    change: Change
    tests: Files

    @cached_property
    def texts(self) -> Files:
        """The files that the change wrote."""
        return {path: text for path, text in {**self.change, **self.tests}.items() if text is not None}

    @cached_property
    def lines(self) -> Mapping[str, Collection[int]]:
        """The lines that the change wrote in each file, counted from 1."""
        return {path: list_written_lines(self.was(path) or "", text) for path, text in self.texts.items()}

    def was(self, path: str) -> str | None:
        """Return a file's text before the change."""
        return self.before[path] if path in self.before else text_of(self.job.tree, path)


class LinterCheck:
    """Runs the linters of repositories on changes; checks any number of changes concurrently.

    Args:
        shell: runs the linters in the sandbox.
        policy: the owner's rules; rules of linters have names like `ruff.E501`.
        limits: the default limits of each run.
        fetch: downloads a missing linter as wheels; with None, missing linters do not run.
        clock: decides when a failed download is retried.
    """

    def __init__(
        self, shell: Shell, policy: Policy, *, limits: RunLimits, fetch: Fetch | None, clock: Clock = utc_now
    ) -> None:
        self._shell, self._policy, self._limits, self._fetch, self._clock = shell, policy, limits, fetch, clock
        self._bases = OrderedDict[tuple[str, ...], _Looked]()
        self._commands = OrderedDict[str, Found]()
        self._there = OrderedDict[tuple[str, str], bool]()
        self._away = dict[str, tuple[float, str]]()

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        """List the findings of the repository's linters that the change causes."""
        if job.wanted or not (job.change or job.own):
            return ChangeCheckReport()
        work = await asyncio.to_thread(self._work, job)
        wanted = [each for each in work.commands.linters if not covers(job.spec.allow, each.linter)]
        reports = await asyncio.gather(*(self._examine_work(work, each) for each in wanted))
        blocked = [each for report in reports for each in report if each.severity is Severity.BLOCK]
        noted = [each for report in reports for each in report if each.severity is not Severity.BLOCK]
        if len(blocked) > MOST:
            more = f"{blocked[MOST - 1].message} (and {len(blocked) - MOST} more findings of linters)"
            blocked = [*blocked[: MOST - 1], replace(blocked[MOST - 1], message=more)]
        return ChangeCheckReport(findings=(*blocked, *noted[:MOST]))

    def _work(self, job: ChangeCheckJob) -> _Work:
        given = job.spec.files
        change = {path: text for path, text in job.change.items() if not configures(path) and text != given.get(path)}
        return _Work(
            job=job,
            commands=self._find_linters(job.tree),
            before={path: text for path, text in given.items() if not configures(path)},
            change=change,
            tests={path: text for path, text in job.own.items() if not configures(path)},
        )

    def _find_linters(self, tree: Tree) -> Found:
        if tree.commit not in self._commands:
            _remember(self._commands, tree.commit, find(tree))
        return self._commands[tree.commit]

    async def _examine_work(self, work: _Work, declared_linter: FoundLinter) -> list[Finding]:
        """List the new findings of one linter, or a note with the reason if there is no usable result."""
        tool, name = TOOLS[declared_linter.linter], declared_linter.linter.value
        files = sorted(path for path in work.texts if path.endswith(tool.endings))[:MOST_FILES]
        if not files:
            return []
        try:
            packages = await self._packages(work, tool, declared_linter)
            tool, files = await asyncio.to_thread(_aim_tool, tool, declared_linter.linter, work, files)
            over = {**work.before, **work.change}
            looked = await self._look(work, tool, files, over, work.tests, packages)
            if looked.issues:
                before = await self._look_before(work, tool, files, packages, name)
                looked = before if before.fault else _Looked(issues=_without(looked.issues, before.issues, work))
        except SandboxError as error:
            looked = _Looked(fault=str(error))
        if looked.fault:
            return [_note_finding(name, f"{name} ({declared_linter.location}) gave no usable result: {looked.fault}")]
        return self._report_issues(work, name, looked.issues)

    async def _packages(self, work: _Work, tool: Tool, declared_linter: FoundLinter) -> Mapping[str, str]:
        """Return the wheels of a linter, name to version.

        Return an empty mapping if the repository's environment already contains the linter, or if missing linters are
        not downloaded.

        Raises:
            SandboxError: the download failed, now or a short time ago.
        """
        if self._fetch is None or not tool.wheel or await self._is_there(work, tool):
            return {}
        wanted = f"{tool.wheel}=={declared_linter.version}" if declared_linter.version else tool.wheel
        now = self._clock().timestamp()
        until, why = self._away.get(wanted, (0.0, ""))
        if until > now:
            raise SandboxError(why)
        try:
            return await self._fetch(wanted)
        except SandboxError as error:
            self._away[wanted] = now + LOOK_AGAIN.total_seconds(), str(error)
            raise

    async def _is_there(self, work: _Work, tool: Tool) -> bool:
        """Check whether the repository's environment contains a linter; false if the repository has no environment."""
        key = work.job.environment, tool.wheel
        if key[0] and key not in self._there:
            probe = ShellJob(command=f"python -c 'import {tool.wheel}'", base=work.job.tree, environment=key[0])
            _remember(self._there, key, (await self._shell.execute(probe)).exit_code == 0)
        return self._there.get(key, False)

    async def _look_before(
        self, work: _Work, tool: Tool, files: Sequence[str], packages: Mapping[str, str], name: str
    ) -> _Looked:
        """Run a linter on the tree before the change.

        The result is cached. The cache key consists of the tree, the owner's files on top of it, the environment, the
        linter's wheels, and the command with its files.
        """
        old_files = [path for path in files if work.was(path) is not None]
        if not (old_files or tool.is_tree_wide):
            return _Looked()
        command = tool.command(old_files)
        given = sorted(f"{path}\0{text}" for path, text in work.before.items())
        key = (
            work.job.tree.commit,
            work.job.environment,
            name,
            command,
            *sorted(f"{p}=={v}" for p, v in packages.items()),
            *given,
        )
        if key not in self._bases:
            looked = await self._look(work, tool, old_files, work.before, {}, packages)
            if looked.fault:
                return looked
            _remember(self._bases, key, looked)
        return self._bases[key]

    async def _look(
        self,
        work: _Work,
        tool: Tool,
        files: Sequence[str],
        change: Change,
        tests: Files,
        packages: Mapping[str, str],
    ) -> _Looked:
        beside = {FORMATTER_PATH: FORMATTER} if tool is TOOLS[Linter.ESLINT] else {}
        result = await self._shell.execute(
            ShellJob(
                command=tool.command(files),
                base=work.job.tree,
                change={**change, **beside},
                tests=tests,
                packages=packages,
                environment=work.job.environment,
                limits=self._limits,
            )
        )
        return _read(tool, result)

    def _report_issues(self, work: _Work, name: str, issues: Iterable[Issue]) -> list[Finding]:
        """Return required issues as blocking findings, and all other issues as notes.

        The other issues give at most three notes: one for lines that the change wrote, one for tests of the change, and
        one for lines that the change did not write.
        """
        findings, noted, elsewhere, in_tests = list[Finding](), list[Issue](), list[Issue](), list[Issue]()
        required = work.job.spec.lint is Lint.REQUIRED
        for issue in issues:
            rule = f"{name}.{issue.code}" if issue.code else name
            if covers(work.job.spec.allow, rule):
                continue
            if issue.line not in work.lines.get(issue.path, ()):
                elsewhere.append(issue)
                continue
            severity, is_named = self._severity(work, rule, issue), self._policy.names(rule)
            if severity is None:
                continue
            if is_test(issue.path) and not is_named:
                in_tests.append(issue)
            elif severity is Severity.NOTE or not (required or is_named):
                noted.append(issue)
            else:
                message = " ".join(printable(issue.message).split())[:_MESSAGE]
                findings.append(
                    Finding(rule=rule, severity=Severity.BLOCK, path=issue.path, line=issue.line, message=message)
                )
        places = (
            (noted, "in lines of the change"), (in_tests, "in the tests of the change"),
            (elsewhere, "in lines that the change did not write"),
        )  # fmt: skip
        for some, where in places:
            if some:
                first = some[0]
                text = f"{name} reports {len(some)} finding{'s' * (len(some) != 1)} {where}, the first in"
                findings.append(_note_finding(name, f"{text} {first.path}:{first.line}: {first.code} {first.message}"))
        return findings

    def _severity(self, work: _Work, rule: str, issue: Issue) -> Severity | None:
        named = Catalogued(rule, issue.line, "")
        return self._policy.severity(named, work.job.spec, is_test=is_test(issue.path))


def _remember(cache: OrderedDict[K, V], key: K, value: V) -> None:
    cache[key] = value
    while len(cache) > REMEMBERED:
        cache.popitem(last=False)


def _aim_tool(tool: Tool, linter: Linter, work: _Work, files: list[str]) -> tuple[Tool, list[str]]:
    """Return a linter and the files that it checks.

    If the repository configures targets for mypy, mypy checks these targets instead of the files. The targets then
    become part of the command of the returned linter.
    """
    if linter is not Linter.MYPY:
        return tool, files
    declared_linter = work.commands.linter(linter)
    config = (
        text_of(work.job.tree, declared_linter.path) if declared_linter and declared_linter.path in CONFIGURES else ""
    )
    targets = mypy_targets(work.commands, config or "")
    return (
        (tool, files) if targets is None else (replace(tool, words=(*tool.words, *targets), is_tree_wide=True), files)
    )


def _read(tool: Tool, result: ShellResult) -> _Looked:
    if result.ended is not Ended.EXITED:
        return _Looked(fault=f"its run ended with {result.ended.value}")
    if result.exit_code == NOT_THERE:
        return _Looked(fault="the linter is not in the environment of the sandbox")
    issues = [issue for issue in tool.issues(result.output) if issue.path.endswith(tool.endings)]
    if result.exit_code not in tool.fine or (result.exit_code and not issues):
        output = " ".join(printable(result.output).split())[:_MESSAGE]
        return _Looked(fault=f"it ended with exit code {result.exit_code}: {output}")
    blind = any(issue.code in tool.about_imports for issue in issues)
    ignored = tool.about_imports | (tool.doubtful if blind else frozenset())
    return _Looked(issues=tuple(issue for issue in issues if issue.code not in ignored))


def _without(after: Sequence[Issue], before: Sequence[Issue], work: _Work) -> tuple[Issue, ...]:
    """Return the new issues: those that occur more often after the change than before.

    If a file has several equal issues, those in lines that the change wrote are the first to count as new.
    """
    left = Counter(map(_key, before))
    new = list[Issue]()
    for issue in sorted(after, key=lambda issue: issue.line in work.lines.get(issue.path, ())):
        if left[_key(issue)] > 0:
            left[_key(issue)] -= 1
        else:
            new.append(issue)
    return tuple(sorted(new, key=lambda issue: (issue.path, issue.line, issue.code)))


def _key(issue: Issue) -> tuple[str, str, str]:
    """Return a key that still identifies an issue after its line has moved; numbers in the message are ignored."""
    return issue.path, issue.code, re.sub(r"\d+", "#", issue.message)


def _note_finding(name: str, message: str) -> Finding:
    return Finding(rule=f"{_NOTE}.{name}", severity=Severity.NOTE, path="", line=0, message=message[:_MESSAGE])
