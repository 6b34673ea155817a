"""Findings from must-fail copies: a copy gives a finding only if it passes."""

from __future__ import annotations

from nightshift.core.tasks.verdicts import CaseResult, Control, Result
from nightshift.verdict.findings import copies
from nightshift.verdict.languages.plan import Role
from nightshift.verdict.run import NativeRun

A, B = "tests/test_a.py::test_one", "tests/test_b.py::test_two"


def run(**ends: Result) -> NativeRun:
    names = {"a": A, "b": B, "a1": f"{A}[1]", "a2": f"{A}[2]"}
    return NativeRun(tests=tuple(CaseResult(id=names[name], result=result) for name, result in ends.items()))


def passing(copied: NativeRun, native: NativeRun) -> list[str]:
    return copies.find_passing(copied, native, {A, B})


def test_a_copy_that_passes_is_found() -> None:
    assert passing(run(a=Result.PASSED, b=Result.FAILED), run(a=Result.PASSED, b=Result.PASSED)) == [A]


def test_one_that_fails_otherwise_or_does_not_run_says_nothing() -> None:
    assert passing(run(a=Result.ERROR), run(a=Result.PASSED, b=Result.PASSED)) == []


def test_of_several_cases_all_have_to_pass() -> None:
    native = run(a1=Result.PASSED, a2=Result.PASSED)
    assert passing(run(a1=Result.PASSED, a2=Result.FAILED), native) == []
    assert passing(run(a1=Result.PASSED, a2=Result.PASSED), native) == [A]


def test_of_a_test_that_the_base_failed_it_refuses() -> None:
    roles = {"tests/test_a.py": Role.REGRESSION, "tests/test_b.py": Role.GIVEN}
    controls = {finding.where: finding.control for finding in copies.find_copies([A, B], roles, {A})}
    assert controls == {A: Control.BASE, B: Control.NONE}
