"""The static checker: reads the code that a change adds, and blocks, asks about or notes each finding.

A finding is not reported if a file that the change touches already had the same finding in a line with the same text,
because then the change did not introduce it. Files that the owner gave with the task, and the owner's tests, are not
checked.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import read_text
from nightshift.core.tasks.change_checks import Ask, AskKind, ChangeCheckJob, ChangeCheckReport, Severity
from nightshift.core.tasks.change_checks import Finding as Reported
from nightshift.core.text.masking import printable
from nightshift.verdict.checks import bandit, javascript, python, scripts
from nightshift.verdict.checks.catalogue import RULES, Finding
from nightshift.verdict.checks.hooks.commands import Command
from nightshift.verdict.checks.hooks.hooks import Blocked, CommandHooks
from nightshift.verdict.checks.policy import Policy, unknown
from nightshift.verdict.checks.python_calls import list_started

_TEST_FOLDERS = frozenset({"tests", "test", "__tests__", "testing"})
_MOST = 200
_STARTS = "python.subprocess"
_GRAVITY = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class _Seen:
    """A finding with its location.

    Attributes:
        path: the file.
        text: the text of the line. The same rule on a line with the same text counts as the same finding, even in
            another version of the file.
        finding: the finding.
        started: for a call that starts a program, the enclosing function, the called function, and the program. Empty
            for any other finding.
    """

    path: str
    text: str
    finding: Finding
    started: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return self.finding.rule, self.text

    @property
    def imported(self) -> tuple[str, ...]:
        """File, rule and module of a finding about an import; empty for any other finding."""
        is_import = self.finding.what.startswith("`import ")
        return (self.path, self.finding.rule, self.finding.what) if is_import else ()


class StaticChecker:
    """Checks any number of changes concurrently, each in a thread.

    Args:
        policy: the owner's settings.
        hooks: finds commands that must not run.
    """

    def __init__(self, policy: Policy, hooks: CommandHooks) -> None:
        self._policy, self._hooks = policy, hooks
        self._rules = (*RULES, *hooks.rules)

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        """List the additions of a change that are blocked, need the owner's approval, or are worth a note."""
        return await asyncio.to_thread(self._examine, job)

    def _examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        given = job.spec.files
        texts = {path: text for path, text in job.change.items() if text is not None and text != given.get(path)}
        seen = [sighting for path, text in (texts | dict(job.own)).items() for sighting in self._scan(path, text)]
        new = _without(seen, self._before(job)) if seen else []
        findings, asks = list(self._odd_names(job)), dict[str, Ask]()
        for sighting in new:
            severity = self._policy.severity(sighting.finding, job.spec, is_test=is_test(sighting.path))
            if severity is not None:
                findings += self._report_decision(sighting, severity, job, asks)
        # The most severe first, so that a hundred trivial findings cannot displace a serious one.
        findings.sort(key=lambda finding: _GRAVITY[finding.severity])
        return ChangeCheckReport(findings=tuple(findings[:_MOST]), asks=tuple(asks.values())[:_MOST])

    def _report_decision(
        self, sighting: _Seen, severity: Severity, job: ChangeCheckJob, asks: dict[str, Ask]
    ) -> Iterator[Reported]:
        """Yield a finding with its severity, and add a question to `asks` if the owner has to decide.

        If the owner already granted the finding, nothing is yielded. If the owner denied the finding, it blocks the
        change.
        """
        message = " ".join(printable(_message(sighting.finding)).split())
        subject = f"{AskKind.FINDING}:{sighting.finding.rule}:{sighting.path}"
        if severity is Severity.ASK:
            if subject in job.granted:
                return
            if subject in job.denied:
                severity, message = Severity.BLOCK, f"The owner denied this. {message}"
            else:
                where = f"{sighting.path}:{sighting.finding.line}"
                question = f"May the change do this in {where} ({sighting.finding.rule})? {message}"
                asks.setdefault(subject, Ask(kind=AskKind.FINDING, subject=subject, question=question))
        yield Reported(
            rule=sighting.finding.rule,
            severity=severity,
            path=sighting.path,
            line=sighting.finding.line,
            message=message,
            argv=sighting.finding.argv,
        )

    def _odd_names(self, job: ChangeCheckJob) -> Iterator[Reported]:
        """Report misspelt rules in the task's `allow`.

        A misspelt rule allows nothing, and the owner should learn this at once.
        """
        for name in job.spec.allow:
            if fault := unknown(name, self._rules):
                yield Reported(rule="checker.allow", severity=Severity.NOTE, path="", line=0, message=f"allow: {fault}")

    # --- methods that scan files for findings

    def _scan(self, path: str, text: str) -> list[_Seen]:
        lines = text.splitlines()
        findings, starting = self._read(path, text), dict[int, tuple[str, ...]]()
        if any(finding.rule == _STARTS for finding in findings):
            starting = list_started(text)
        return [
            _Seen(
                path,
                lines[finding.line - 1].strip() if 0 < finding.line <= len(lines) else "",
                finding,
                starting.get(finding.line, ()) if finding.rule == _STARTS else (),
            )
            for finding in findings
        ]

    def _read(self, path: str, text: str) -> list[Finding]:
        kind, tested = scripts.interpreter(path, text), is_test(path)
        if kind == "python":
            own = python.scan(text, self._commands, is_test=tested)
            return own + ([] if tested else self._second(text, own))
        if kind == "javascript":
            return javascript.scan(path, text, self._commands, is_test=tested)
        return [
            _command(blocked, start + _line_of(blocked.argv, shell) - 1)
            for start, shell in scripts.shells(path, text)
            for blocked in self._hooks.in_text(shell)
        ]

    def _second(self, text: str, own: Sequence[Finding]) -> list[Finding]:
        """List Bandit's findings on lines without findings of our own rules."""
        taken = {finding.line for finding in own}
        return [finding for finding in bandit.scan(text) if finding.line not in taken]

    def _commands(self, commands: Sequence[Command]) -> Iterable[Finding]:
        return (_command(blocked, 0) for blocked in self._hooks.blocked(commands, in_code=True))

    def _before(self, job: ChangeCheckJob) -> list[_Seen]:
        """List the findings that the touched files had before the change."""
        entries = job.tree.entries()
        sightings = list[_Seen]()
        for path in job.change:
            text = job.spec.files.get(path)
            if text is None and path in entries:
                text = read_text(job.tree, path)
            sightings += self._scan(path, text or "")
        return sightings


def is_test(path: str) -> bool:
    """Check whether a file is test code: a test, or a file in a folder of tests."""
    return is_test_path(path) or bool(_TEST_FOLDERS.intersection(path.split("/")[:-1]))


def _without(seen: Iterable[_Seen], before: Sequence[_Seen]) -> list[_Seen]:
    """Return the findings that the change adds.

    A finding is new if the same rule matches lines with the same text more often than before the change. There are two
    exceptions. A file may repeat the import of a module that it already imported. A call that started a program may
    start the same program in the same function with other arguments, because forbidden commands are checked separately.
    """
    left, new = Counter[tuple[str, ...]](sighting.key for sighting in before), list[_Seen]()
    imported = {sighting.imported for sighting in before}
    for sighting in seen:
        if left[sighting.key] > 0:
            left[sighting.key] -= 1
        elif not sighting.imported or sighting.imported not in imported:
            new.append(sighting)
    starting = Counter[tuple[str, ...]](
        (sighting.path, *sighting.started) for sighting in before if sighting.started and _take_one(left, sighting.key)
    )
    return [
        sighting
        for sighting in new
        if not (sighting.started and _take_one(starting, (sighting.path, *sighting.started)))
    ]


def _take_one(left: Counter[tuple[str, ...]], key: tuple[str, ...]) -> bool:
    """Decrement the counter of a key; return false if the counter was not positive before."""
    left[key] -= 1
    return left[key] >= 0


def _command(blocked: Blocked, line: int) -> Finding:
    return Finding(blocked.rule, line, "", blocked.why, blocked.argv)


def _message(finding: Finding) -> str:
    rule = RULES.get(finding.rule)
    if rule is None:
        return f"{finding.what}: {finding.why}" if finding.what else finding.why
    return f"{finding.what} {rule.why}; {rule.instead}."


def _line_of(argv: Sequence[str], text: str) -> int:
    """Return the number of the line that contains the most arguments of a command; of several such lines, the first."""
    lines = text.split("\n")
    scores = [sum(word in line for word in argv) for line in lines]
    return scores.index(max(scores)) + 1
