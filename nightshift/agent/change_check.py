"""Checks a change before its first run: nothing of the change executes until every check has examined it.

A blocking finding goes back to the model like a failed test, with the line and the reason. A finding that only the
owner can decide pauses the attempt. The owner is asked only when no finding is blocking any more, so that no question
is about code that will be rewritten. Notes are reported once and stop nothing.

The checks cost no model call, so the first phase that examines a change begins with them: REVIEW or AUDIT if one of
these is switched on, else TESTING. A change that passed is remembered by its digest and is not checked again until it
changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from nightshift.agent import kinds, syntax
from nightshift.agent.services import AgentServices
from nightshift.agent.view import View, find_misplacement, settle
from nightshift.core.events import FindingData, Kind, Level
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.change_checks import (
    LINTER_NOTE,
    Ask,
    ChangeCheckJob,
    ChangeCheckReport,
    CheckedChange,
    Declared,
    Finding,
    Severity,
)
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.task import Change, Language, digest
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict

_COMMANDS, _LINTERS = "command.", "linter."
_SHOWN = 20
_MOST_KEPT = 30
_MOST_LESSONS = 6
"""Number of an attempt's lessons at which the checks add no more. The more lessons a model sees, the less it heeds each
of them.
"""
_LEVELS = {Severity.BLOCK: Level.WARNING, Severity.ASK: Level.WARNING, Severity.NOTE: Level.INFO}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of the checks.

    If there is a `verdict`, the change goes back to the model. If there are `asks`, the attempt waits for the owner. If
    there are neither, the change may run.
    """

    state: AttemptState
    verdict: Verdict | None = None
    asks: tuple[Ask, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def shown(self) -> list[dict[str, object]]:
        """The first findings as data for the timeline."""
        return [
            {"rule": f.rule, "severity": str(f.severity), "path": f.path, "line": f.line, "message": f.message[:200]}
            for f in self.findings[:_SHOWN]
        ]

    @property
    def data(self) -> dict[str, object]:
        """The `findings` entry of a step's data; empty if there are no findings."""
        return {"findings": self.shown} if self.findings else {}

    @property
    def question(self) -> str:
        """The first question to the owner, with the number of further ones; empty if there is nothing to ask."""
        more = f" (and {len(self.asks) - 1} more)" if len(self.asks) > 1 else ""
        return f"waits for your decision: {self.asks[0].question}{more}" if self.asks else ""


async def check(context: AttemptContext, state: AttemptState, services: AgentServices) -> Checked:
    """Run every check, merge the reports and emit the new findings; a change that passed is not checked again.

    Raises what a check raises.
    """
    if state.checked and state.checked.digest == digest(state.change, state.own_tests):
        return Checked(state=state)
    bare = _remove_declared(state, services)
    reports = await _reports(context, replace(state, change=bare), services)
    findings = _worst_first(reports)
    _report(state, services, findings)
    noted = dict.fromkeys((*state.noted, *(_name(f) for f in findings if f.severity is Severity.NOTE)))
    state = replace(state, noted=tuple(noted), packages=_packages(reports), asks=(), held_in=None)
    state = replace(state, lessons=_lessons(state, reports))
    if any(finding.severity is Severity.BLOCK for finding in findings):
        return Checked(state=state, verdict=_refuse_change(state, services, findings), findings=findings)
    if asks := tuple({ask.subject: ask for report in reports for ask in report.asks}.values()):
        return Checked(state=state, asks=asks, findings=findings)
    declared = _find_declared(bare, services, reports)
    files = {path: each.after for path, each in declared.items()}
    state = state.with_declared(settle(services.tree, {**bare, **files}) if files else bare, declared)
    passed = CheckedChange(digest=digest(state.change, state.own_tests), findings=findings[:_MOST_KEPT])
    return Checked(state=replace(state, checked=passed), findings=findings)


def notes_on_linters(state: AttemptState) -> tuple[str, ...]:
    """List, as evidence on the judged change, the linters' open findings and the linters that failed."""
    findings = state.checked.findings if state.checked else ()
    return tuple(
        f"{LINTER_NOTE}{each.message}"
        for each in findings
        if each.severity is Severity.NOTE and each.rule.startswith(_LINTERS)
    )


async def asks_for(
    context: AttemptContext, state: AttemptState, services: AgentServices, packages: tuple[str, ...]
) -> tuple[Ask, ...]:
    """List what the owner must decide before a plan may use these packages. Raises what a check raises."""
    job = replace(_job(context, state, services), change={}, own={}, wanted=packages)
    reports = await asyncio.gather(*(check.examine(job) for check in services.change_checks))
    return tuple({ask.subject: ask for report in reports for ask in report.asks}.values())


async def _reports(context: AttemptContext, state: AttemptState, services: AgentServices) -> list[ChangeCheckReport]:
    job = _job(context, state, services)
    return await asyncio.gather(*(check.examine(job) for check in services.change_checks))


def _job(context: AttemptContext, state: AttemptState, services: AgentServices) -> ChangeCheckJob:
    spec = replace(context.task.spec, kind=kinds.kind_of(context.task.spec))
    if spec.language is Language.PYTHON:
        approved = context.list_approved_packages(state.project)
        spec = replace(spec, packages=tuple(dict.fromkeys((*spec.packages, *approved))))
    return ChangeCheckJob(
        spec=spec,
        tree=services.tree,
        change=state.change,
        own=state.own_tests,
        granted=context.granted,
        denied=context.denied,
        task_id=context.task.id,
        attempt=state.attempt,
        environment=state.environment,
    )


def _packages(reports: Iterable[ChangeCheckReport]) -> dict[str, str]:
    return {name: version for report in reports for name, version in report.packages.items()}


def _remove_declared(state: AttemptState, services: AgentServices) -> Change:
    """Return the change without the package declarations that the checks added to an earlier version of it.

    Packages that the change still needs are declared again later.
    """
    texts = {path: each.undo(text) for path, each in state.declared.items() if (text := state.change.get(path))}
    return settle(services.tree, {**state.change, **texts}) if texts else state.change


def _find_declared(
    change: Change, services: AgentServices, reports: Iterable[ChangeCheckReport]
) -> dict[str, Declared]:
    """Return the dependency files with the packages that the checks declare, except files that may not be written."""
    view = View(services.tree, change)
    files = {
        path: text for report in reports for path, text in report.declares.items() if not find_misplacement(path, view)
    }
    return {
        path: Declared(before=view.text(path) if path in view else None, after=text) for path, text in files.items()
    }


def _lessons(state: AttemptState, reports: Iterable[ChangeCheckReport]) -> tuple[Lesson, ...]:
    """Return the attempt's lessons, with at most one new lesson from the checks.

    The new lesson comes first, because it is about the written code. The recalled lessons are only about the task.
    """
    lesson_ids = {(lesson.source, lesson.id) for lesson in state.lessons}
    new = [lesson for report in reports for lesson in report.lessons if (lesson.source, lesson.id) not in lesson_ids]
    return (*new[:1], *state.lessons) if len(state.lessons) < _MOST_LESSONS else state.lessons


def _worst_first(reports: Iterable[ChangeCheckReport]) -> tuple[Finding, ...]:
    order, findings = list(Severity), [finding for report in reports for finding in report.findings]
    return tuple(sorted(findings, key=lambda f: (order.index(f.severity), f.path, f.line, f.rule)))


def _name(finding: Finding) -> str:
    return f"{finding.rule}:{finding.path}"


def _refuse_change(state: AttemptState, services: AgentServices, findings: tuple[Finding, ...]) -> Verdict:
    """Return a failing verdict on a change that was never run.

    If all blocking findings are in the agent's own tests, the verdict names these tests as weak.
    """
    blocked = [finding for finding in findings if finding.severity is Severity.BLOCK]
    in_code = [finding for finding in blocked if finding.path not in state.own_tests]
    view = View(services.tree, {**state.change, **state.own_tests})
    failures = tuple(_failure(finding, view) for finding in in_code or blocked)
    evidence = Evidence(
        tree=digest(state.change, state.own_tests),
        sandbox="none",
        label=Label.SELF_TESTED if state.own_tests else Label.TESTS_PASSED,
        notes=("nothing was run",),
    )
    weak = () if in_code else tuple(dict.fromkeys(finding.path for finding in blocked))
    reason = f"{failures[0].id}: {failures[0].kind}: {failures[0].message} Nothing was run."
    return Verdict(passed=False, reason=reason, evidence=evidence, failures=failures, weak=weak)


def _failure(finding: Finding, view: View) -> Failure:
    text = view.text(finding.path) if finding.line and finding.path in view else None
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    return Failure(
        id=finding.path or "the task",
        kind=finding.rule,
        message=finding.message,
        frame=where,
        excerpt=syntax.excerpt(text, finding.line) if text is not None else "",
    )


def _report(state: AttemptState, services: AgentServices, findings: Iterable[Finding]) -> None:
    """Emit an event for each finding, except for notes that were already reported in this attempt."""
    noted = set(state.noted)
    for finding in findings:
        if finding.severity is Severity.NOTE and _name(finding) in noted:
            continue
        noted.add(_name(finding))
        stopped = finding.severity is Severity.BLOCK and finding.rule.startswith(_COMMANDS)
        where = f"{finding.path}:{finding.line}" if finding.line else finding.path or "the task"
        services.events.emit(
            Kind.COMMAND_BLOCKED if stopped else Kind.GATE_FINDING,
            f"{finding.rule} ({finding.severity}) in {where}: {finding.message}"[:500],
            level=_LEVELS[finding.severity],
            **_as_data(finding),
        )


def _as_data(finding: Finding) -> FindingData:
    data = FindingData(rule=finding.rule, severity=str(finding.severity), path=finding.path, line=finding.line)
    if finding.argv:
        data["argv"] = [word[:200] for word in finding.argv[:40]]
        data["pattern"] = finding.rule.removeprefix(_COMMANDS)
    return data
