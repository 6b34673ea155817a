"""Holds the must-fail copies to their promise: each failed, in the test itself, by a genuine AssertionError."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.answer import CaseReport
from sandbox.shaping import Names
from sandbox.twins import Role, SuiteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How the copies ended.

    `passed` are the tests whose copy passed or did not run, `weak` the self-written among them, both as their owner
    knows them. `unclear` are the ids of copies that failed in another way, as they are in the run.
    """

    genuine: int
    passed: tuple[str, ...]
    weak: tuple[str, ...]
    unclear: tuple[str, ...]

    def reason(self, names: Names, *, cleared: bool) -> str:
        """Why the run cannot be believed; empty when every copy failed as it must."""
        if self.weak:
            return f"{self.weak[0]} proves nothing: it goes on passing when what it expects is changed"
        if self.passed:
            return f"the must-fail copy of {self.passed[0]} did not fail: the result cannot be believed"
        if self.unclear and not cleared:
            return f"the must-fail copy of {names.id(self.unclear[0])} did not fail by an assertion"
        return ""


def check(files: Iterable[SuiteFile], tests: Iterable[CaseReport], names: Names) -> Copies:
    """Look at the copies of all files."""
    reports: defaultdict[str, list[CaseReport]] = defaultdict(list)
    for test in tests:
        reports[test.id.partition("[")[0]].append(test)
    genuine, passed, weak, unclear = 0, list[str](), list[str](), list[str]()
    for file in files:
        for name in sorted(_expected(file, reports)):
            cases = reports.get(f"{file.twin}::{name}", [])
            own_name = names.id(f"{file.twin}::{name}")
            if cases and all(_is_genuine(case) for case in cases):
                genuine += len(cases)
            elif cases and all(_failed(case) for case in cases):
                unclear.append(f"{file.twin}::{name}")
            elif file.role is Role.OWN and name in file.names:
                weak.append(own_name)
            else:
                passed.append(own_name)
    return Copies(genuine=genuine, passed=tuple(passed), weak=tuple(weak), unclear=tuple(unclear))


def cleared(unclear: Iterable[str], tests: Iterable[CaseReport]) -> bool:
    """Tell whether each of the unclear copies fails by an assertion in a run of their own."""
    seen = [(test.id.partition("[")[0], _is_genuine(test)) for test in tests]
    return all(any(name == one for name, _ in seen) for one in unclear) and all(
        genuine for name, genuine in seen if name in set(unclear)
    )


def _expected(file: SuiteFile, reports: defaultdict[str, list[CaseReport]]) -> set[str]:
    """The tests of the copy whose originals ran; all of a canary's."""
    return {name for name in file.twin_names if name not in file.names or f"{file.staged}::{name}" in reports}


def _is_genuine(case: CaseReport) -> bool:
    return any(r.when == "call" and r.outcome == "failed" and r.genuine and not r.xfail for r in case.reports)


def _failed(case: CaseReport) -> bool:
    return any(report.when == "call" and report.outcome == "failed" for report in case.reports)
