"""Decides whether a change passed and which label it gets.

The decision is a pure function of two runs and the findings. The run with the change decides whether it passes.
Findings set the label. A finding can also refuse the change, but only if its control did not show the same observation;
the control is the base, or a value compared outside of the sandbox. The first rule that applies decides, but all
findings are reported.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, replace

from nightshift.core.tasks.verdicts import Control, Finding, FindingKind, Label
from nightshift.core.text.faults import name_first
from nightshift.verdict.run import NativeRun, file_of

_REFUSES = {
    FindingKind.GONE: {Control.BASE},
    FindingKind.LOST: {Control.BASE},
    FindingKind.COPY: {Control.BASE, Control.VALUE},
    FindingKind.VALUE: {Control.VALUE},
    FindingKind.HELD: {Control.VALUE},
    FindingKind.HOLLOW: {Control.BASE},
}
"""Kinds of findings that refuse a change, each with the controls that are sufficient for a refusal."""
_ASKS = frozenset({FindingKind.ASSET, FindingKind.TOOK_MORE, FindingKind.GONE})
"""Kinds of findings that become questions to the owner if the finding has a subject."""
DOUBTS = frozenset({
    FindingKind.GIVEN_IDLE, FindingKind.IDLE, FindingKind.COPY, FindingKind.SEAL, FindingKind.FORGED,
    FindingKind.GREEN_BEFORE, FindingKind.HOLLOW, FindingKind.VALUE,
})  # fmt: skip
"""Kinds of findings that make a passing change doubtful, unless they refuse the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The decision on a change.

    Attributes:
        passed: true if the change passed.
        label: the label of the change.
        reason: one line that explains the decision.
        findings: all findings.
        asks: the findings that become questions to the owner.
        notes: lines for the evidence.
    """

    passed: bool
    label: Label
    reason: str
    findings: tuple[Finding, ...] = ()
    asks: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def judge(
    native: NativeRun,
    base: NativeRun | None,
    findings: Sequence[Finding] = (),
    *,
    brought: Collection[str] = (),
    lacking: Set[str] = frozenset(),
    best: Label = Label.TESTS_PASSED,
) -> Judgement:
    """Decide on a change.

    Args:
        native: the run with the change.
        base: the run without the change; None if there is no such run.
        findings: the observations of the other checks.
        brought: test files of the task and of the agent, and ids of single tests, whose failures the base does not
            excuse.
        lacking: ids of given tests that failed because this machine lacks something.
        best: the label of a change that nothing speaks against.
    """
    decided = _decide(native, base, brought, lacking, best)
    all_findings = tuple(findings)
    if not decided.passed:
        return replace(decided, findings=all_findings)
    if refusing := next(filter(_refuses, all_findings), None):
        return replace(decided, passed=False, reason=refusing.says, findings=all_findings)
    asks = tuple(finding for finding in all_findings if finding.subject and finding.kind in _ASKS)
    doubts = [finding for finding in all_findings if finding.kind in DOUBTS]
    notes = (*decided.notes, *(finding.says for finding in all_findings if finding not in asks))
    if doubts:
        return replace(
            decided, label=Label.DOUBTFUL, reason=doubts[0].says, findings=all_findings, asks=asks, notes=notes
        )  # fmt: skip
    return replace(decided, findings=all_findings, asks=asks, notes=notes)


def _refuses(finding: Finding) -> bool:
    return not finding.subject and finding.control in _REFUSES.get(finding.kind, ())


def _decide(
    native: NativeRun, base: NativeRun | None, brought: Collection[str], lacking: Set[str], best: Label
) -> Judgement:
    """Decide from the results of the runs with and without the change, ignoring the findings."""
    refused = Judgement(passed=False, label=best, reason="")
    passed = Judgement(passed=True, label=best, reason=_praise(native))
    doubtful = replace(passed, label=Label.DOUBTFUL)
    if native.stopped:
        if native.is_late and base and base.stopped and base.is_late:
            return replace(doubtful, reason="your suite does not finish on this machine, with or without the change")
        return replace(refused, reason=native.stopped.message)
    excused = list_excused(native, base, brought, lacking)
    charged = [case.id for case in native.tests or () if case.id in native.failed - excused]
    if charged:
        return replace(refused, reason=_count(native, charged))
    if native.tests is None:
        if native.exit_code:
            return replace(refused, reason=f"`{' '.join(native.command)}` ended with {exit_words(native.exit_code)}")
        return passed
    if reason := _find_fault(native, expected=bool(brought or (base and base.passed))):
        return replace(refused, reason=reason)
    if not native.tests:
        return replace(doubtful, reason="no test ran, so nothing judges the change")
    left_out = {
        "failing before the change already": native.failed - lacking,
        "given, but this machine cannot run it": native.failed & lacking,
    }
    notes = tuple(f"{why}: {name_first(sorted(tests))}" for why, tests in left_out.items() if tests)
    return replace(passed, reason="; ".join((passed.reason, *notes)), notes=notes)


def _find_fault(native: NativeRun, *, expected: bool) -> str:
    """Return why a run does not pass although no failure counts against the change; empty if the run passes.

    Args:
        native: a run that ended normally and names its tests.
        expected: true if at least one test must pass.
    """
    words = exit_words(native.exit_code or 0)
    if native.missing:
        more = f"{len(native.missing)} test{'s' if len(native.missing) > 1 else ''}"
        return f"the run ended with {words} before {more} had run"
    if not native.passed and (expected or native.failed):
        return "no test ran" if not native.failed else "no test passed"
    if native.passed and native.exit_code and not native.failed:
        return f"the tests passed, but the run ended with {words}"
    return ""


def list_excused(
    native: NativeRun, base: NativeRun | None, brought: Collection[str], lacking: Set[str]
) -> frozenset[str]:
    """List the failed tests that cannot run here, or that failed without the change too and are not in `brought`."""
    theirs = {test for test in native.failed if test in brought or file_of(test) in brought}
    before = {test for test in native.failed - theirs if base is not None and base.has_failed(test)}
    return frozenset(before | (native.failed & lacking))


def _count(native: NativeRun, charged: Sequence[str]) -> str:
    tests = native.tests or ()
    first = native.failures[0] if native.failures else None
    if first and all(file_of(test) == first.id for test in charged):
        return f"{first.id}: {first.kind}: {first.message}".partition("\n")[0]
    return f"{len(charged)} failed of {len(tests)} tests"


def _praise(native: NativeRun) -> str:
    count = len(native.passed)
    return f"{count} test{'s' if count > 1 else ''} passed" if count else "the command ended with exit status 0"


def exit_words(code: int) -> str:
    """Describe an exit status in words. A negative number stands for the signal that ended the process."""
    return f"signal {-code}" if code < 0 else f"exit status {code}"
