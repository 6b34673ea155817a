"""The judge's decision table, with one row for each combination of two runs, and for each finding."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from nightshift.core.tasks.verdicts import CaseResult, Control, Failure, Finding, FindingKind, Label, Result
from nightshift.verdict.judge import judge
from nightshift.verdict.run import NativeRun

A, B = "tests/test_a.py::test_one", "tests/test_b.py::test_two"
GIVEN = "tests/test_given.py::test_three"
LATE = Failure(id=A, kind="Timeout", message="the tests were cut off")


def end(exit_code: int = 0, **ends: Result) -> NativeRun:
    """Return a run with these results by test name."""
    names = {"a": A, "b": B, "given": GIVEN}
    tests = tuple(CaseResult(id=names[name], result=result) for name, result in ends.items())
    return NativeRun(tests=tests, exit_code=exit_code)


def find(kind: FindingKind, control: Control = Control.NONE, subject: str = "") -> Finding:
    return Finding(kind=kind, where=A, says=f"{kind} was seen", control=control, subject=subject)


PASSED, FAILED, SKIPPED = Result.PASSED, Result.FAILED, Result.SKIPPED
GOOD = end(a=PASSED)
RED = end(1, a=PASSED, b=FAILED)
NOTHING = NativeRun(tests=(), exit_code=5)
ENDLESS = NativeRun(tests=(), exit_code=None, stopped=LATE, is_late=True)
PLAIN, BROKEN = NativeRun(tests=None), NativeRun(tests=None, exit_code=2, command=("make", "test"))


@dataclass(frozen=True, kw_only=True)
class Row:
    """Two runs without findings, and the expected outcome: the label of a pass, or None if the change is refused."""

    native: NativeRun
    base: NativeRun | None = None
    brought: frozenset[str] = field(default_factory=frozenset)
    lacking: frozenset[str] = field(default_factory=frozenset)
    label: Label | None = None
    says: str = ""


OWN = frozenset({"tests/test_given.py"})
ROWS = {
    "it does not end, and the base ends": Row(native=ENDLESS, base=GOOD, says="cut off"),
    "it does not end, and nothing is known of the base": Row(native=ENDLESS, says="cut off"),
    "neither ends": Row(native=ENDLESS, base=ENDLESS, label=Label.DOUBTFUL, says="does not finish on this machine"),
    "it ends early with status 0": Row(
        native=NativeRun(tests=(CaseResult(id=A, result=PASSED),), missing=(B,)),
        base=GOOD,
        says="before 1 test had run",
    ),
    "a test fails that passed": Row(native=RED, base=end(a=PASSED, b=PASSED), says="1 failed of 2"),
    "a test fails that is new": Row(native=RED, base=GOOD, says="1 failed of 2"),
    "a test of the task fails that failed before": Row(
        native=end(1, given=FAILED), base=end(1, given=FAILED), brought=OWN, says="1 failed of 1"
    ),
    "a test cannot run here": Row(native=RED, base=GOOD, lacking=frozenset({B}), label=Label.TESTS_PASSED, says=B),
    "only tests fail that failed before": Row(native=RED, base=RED, label=Label.TESTS_PASSED),
    "only tests fail whose file could not be imported before": Row(
        native=RED,
        base=NativeRun(tests=(CaseResult(id="tests/test_b.py", result=Result.ERROR),), exit_code=1),
        label=Label.TESTS_PASSED,
    ),
    "no names and a bad status": Row(native=BROKEN, base=BROKEN, says="`make test` ended with exit status 2"),
    "no names and a good status": Row(native=PLAIN, label=Label.TESTS_PASSED),
    "no test ran, and some ran before": Row(native=NOTHING, base=GOOD, says="no test ran"),
    "no test ran, and the task has some": Row(native=NOTHING, brought=OWN, says="no test ran"),
    "all tests of the task are skipped": Row(native=end(given=SKIPPED), brought=OWN, says="no test ran"),
    "no test ran, and there are none": Row(native=NOTHING, label=Label.DOUBTFUL, says="nothing judges the change"),
    "all passed, and the status is bad": Row(native=end(1, a=PASSED), base=GOOD, says="exit status 1"),
    "all passed": Row(native=GOOD, label=Label.TESTS_PASSED),
}
BASE, VALUE = Control.BASE, Control.VALUE
OF_FINDINGS = {
    "gone": (find(FindingKind.GONE, BASE), None),
    "gone, and the task names it": (find(FindingKind.GONE, BASE, "test:a"), Label.TESTS_PASSED),
    "a given test did not run": (find(FindingKind.GIVEN_IDLE), Label.DOUBTFUL),
    "lost": (find(FindingKind.LOST, BASE), None),
    "no check of a new test ran": (find(FindingKind.IDLE), Label.DOUBTFUL),
    "a check of a new test never ran": (find(FindingKind.UNREACHED), Label.TESTS_PASSED),
    "not here": (find(FindingKind.NOT_HERE, BASE), Label.TESTS_PASSED),
    "an asset": (find(FindingKind.ASSET, BASE, "test:x"), Label.TESTS_PASSED),
    "a copy of a test of the base passes": (find(FindingKind.COPY, BASE), None),
    "a copy passes, and a value is wrong": (find(FindingKind.COPY, VALUE), None),
    "a copy passes": (find(FindingKind.COPY), Label.DOUBTFUL),
    "a replayed value is wrong": (find(FindingKind.VALUE, VALUE), None),
    "a replayed call fails": (find(FindingKind.VALUE), Label.DOUBTFUL),
    "an object for a plain value": (find(FindingKind.OBJECT), Label.TESTS_PASSED),
    "a held-out value is wrong": (find(FindingKind.HELD, VALUE), None),
    "an outside function is another": (find(FindingKind.SEAL, BASE), Label.DOUBTFUL),
    "the channel is forged": (find(FindingKind.FORGED), Label.DOUBTFUL),
    "own tests are green before": (find(FindingKind.GREEN_BEFORE), Label.DOUBTFUL),
    "own tests are hollow": (find(FindingKind.HOLLOW), Label.DOUBTFUL),
    "nothing was changed, and own tests are hollow": (find(FindingKind.HOLLOW, BASE), None),
    "few mutants are noticed": (find(FindingKind.MUTANTS), Label.TESTS_PASSED),
    "a removal took more": (find(FindingKind.TOOK_MORE, subject="finding:x"), Label.TESTS_PASSED),
}
"""Runs that passed with one finding, and the label; None if the finding refuses the change."""


@pytest.mark.parametrize("name", ROWS)
def test_each_row_of_the_table(name: str) -> None:
    row = ROWS[name]
    judgement = judge(row.native, row.base, (), brought=row.brought, lacking=row.lacking)
    assert judgement.passed is (row.label is not None), judgement.reason
    assert row.label in {None, judgement.label}
    assert not judgement.asks
    assert row.says in judgement.reason


@pytest.mark.parametrize("name", OF_FINDINGS)
def test_each_row_of_the_table_of_findings(name: str) -> None:
    finding, label = OF_FINDINGS[name]
    judgement = judge(GOOD, None, (finding,))
    assert judgement.passed is (label is not None), judgement.reason
    assert label in {None, judgement.label}
    assert bool(judgement.asks) is bool(finding.subject)
    assert label is not None or str(finding.kind) in judgement.reason
    assert judgement.findings == (finding,)


def test_every_finding_has_a_row() -> None:
    assert {finding.kind for finding, _ in OF_FINDINGS.values()} == set(FindingKind)


def test_a_refusal_goes_before_a_doubt() -> None:
    doubt, refusal = find(FindingKind.SEAL, Control.BASE), find(FindingKind.LOST, Control.BASE)
    judgement = judge(GOOD, GOOD, (doubt, refusal))
    assert not judgement.passed
    assert judgement.findings == (doubt, refusal)


def test_what_failed_before_is_named_for_the_owner() -> None:
    assert judge(RED, RED).notes == (f"failing before the change already: {B}",)


@pytest.mark.parametrize(("output", "end"), [("found two packages\n", ": found two packages"), ("", ""), ("a\nb", "")])
def test_a_command_with_one_line_of_output_fails_for_that_reason(output: str, end: str) -> None:
    assert replace(BROKEN, output=output).describe_exit().message == f"`make test` ended with status 2{end}"
