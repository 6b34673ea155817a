"""The judge's decision table, with one row for each combination of two runs and their findings."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from nightshift.core.tasks.findings import Control, Finding, FindingKind
from nightshift.core.tasks.verdicts import CaseResult, Failure, Label, Result
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
    """Two runs with findings, and the expected outcome: the label of a pass, or None if the change is refused."""

    native: NativeRun
    base: NativeRun | None = None
    findings: tuple[Finding, ...] = ()
    brought: frozenset[str] = field(default_factory=frozenset)
    label: Label | None = None
    asks: bool = False
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
    "gone": Row(native=GOOD, findings=(find(FindingKind.GONE, Control.BASE),), says="gone"),
    "gone, and the task names it": Row(
        native=GOOD, findings=(find(FindingKind.GONE, Control.BASE, "test:a"),), label=Label.TESTS_PASSED, asks=True
    ),
    "a given test did not run": Row(native=GOOD, findings=(find(FindingKind.GIVEN_IDLE),), label=Label.DOUBTFUL),
    "lost": Row(native=GOOD, findings=(find(FindingKind.LOST, Control.BASE),), says="lost"),
    "no check of a new test ran": Row(native=GOOD, findings=(find(FindingKind.IDLE),), label=Label.DOUBTFUL),
    "a check of a new test never ran": Row(
        native=GOOD, findings=(find(FindingKind.UNREACHED),), label=Label.TESTS_PASSED
    ),
    "not here": Row(native=GOOD, findings=(find(FindingKind.NOT_HERE, Control.BASE),), label=Label.TESTS_PASSED),
    "an asset": Row(
        native=GOOD, findings=(find(FindingKind.ASSET, Control.BASE, "test:x"),), label=Label.TESTS_PASSED, asks=True
    ),
    "a copy of a test of the base passes": Row(
        native=GOOD, findings=(find(FindingKind.COPY, Control.BASE),), says="copy"
    ),
    "a copy passes, and a value is wrong": Row(
        native=GOOD, findings=(find(FindingKind.COPY, Control.VALUE),), says="copy"
    ),
    "a copy passes": Row(native=GOOD, findings=(find(FindingKind.COPY),), label=Label.DOUBTFUL),
    "a replayed value is wrong": Row(native=GOOD, findings=(find(FindingKind.VALUE, Control.VALUE),), says="value"),
    "a replayed call fails": Row(native=GOOD, findings=(find(FindingKind.VALUE),), label=Label.DOUBTFUL),
    "an object for a plain value": Row(native=GOOD, findings=(find(FindingKind.OBJECT),), label=Label.TESTS_PASSED),
    "a held-out value is wrong": Row(native=GOOD, findings=(find(FindingKind.HELD, Control.VALUE),), says="held"),
    "an outside function is another": Row(
        native=GOOD, findings=(find(FindingKind.SEAL, Control.BASE),), label=Label.DOUBTFUL
    ),
    "the channel is forged": Row(native=GOOD, findings=(find(FindingKind.FORGED),), label=Label.DOUBTFUL),
    "own tests are green before": Row(native=GOOD, findings=(find(FindingKind.GREEN_BEFORE),), label=Label.DOUBTFUL),
    "own tests are hollow": Row(native=GOOD, findings=(find(FindingKind.HOLLOW),), label=Label.DOUBTFUL),
    "nothing was changed, and own tests are hollow": Row(
        native=GOOD, findings=(find(FindingKind.HOLLOW, Control.BASE),), label=None
    ),
    "few mutants are noticed": Row(native=GOOD, findings=(find(FindingKind.MUTANTS),), label=Label.TESTS_PASSED),
    "a removal took more": Row(
        native=GOOD, findings=(find(FindingKind.TOOK_MORE, subject="finding:x"),), label=Label.TESTS_PASSED, asks=True
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_row_of_the_table(name: str) -> None:
    row = ROWS[name]
    judgement = judge(row.native, row.base, row.findings, brought=row.brought)
    assert judgement.passed is (row.label is not None), judgement.reason
    assert row.label in {None, judgement.label}
    assert bool(judgement.asks) is row.asks
    assert row.says in judgement.reason
    assert judgement.findings == row.findings


def test_every_finding_has_a_row() -> None:
    assert {finding.kind for row in ROWS.values() for finding in row.findings} == set(FindingKind)


def test_a_refusal_goes_before_a_doubt() -> None:
    doubt, refusal = find(FindingKind.SEAL, Control.BASE), find(FindingKind.LOST, Control.BASE)
    judgement = judge(GOOD, GOOD, (doubt, refusal))
    assert not judgement.passed
    assert judgement.findings == (doubt, refusal)


def test_what_failed_before_is_named_for_the_owner() -> None:
    assert judge(RED, RED).notes == (f"failing before the change already: {B}",)
